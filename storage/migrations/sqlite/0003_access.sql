-- Who may do what in an app beside its owner: members, grant links, previews, service credentials.
-- Written by the app's group only. Pairs with migrations/postgres/0003_access.sql.

-- Who was removed stays here, so that removing them again is the same as removing them once.
create table members (
    app_id blob not null,
    human blob not null references humans (id),
    custom_role text,
    created_at integer not null,
    removed_at integer,
    primary key (app_id, human)
) strict, without rowid;
create index members_order on members (app_id, created_at, human) where removed_at is null;
create index members_human on members (human, created_at) where removed_at is null;

create table grants (
    id blob primary key not null,
    app_id blob not null,
    hash blob not null unique,
    role text not null,
    max_uses integer,
    uses integer not null,
    expires_at integer,
    created_by blob not null, -- principal: 1 byte of kind, 16 of id
    created_at integer not null,
    revoked_at integer
) strict;
create index grants_app on grants (app_id, created_at, id);

create table previews (
    id blob primary key not null,
    app_id blob not null,
    hash blob not null unique,
    expires_at integer not null,
    created_by blob not null,
    created_at integer not null,
    revoked_at integer
) strict;
create index previews_app on previews (app_id, expires_at);

create table credentials (
    id blob primary key not null,
    app_id blob not null,
    name text,
    prefix text not null,
    rights text not null, -- JSON
    status integer not null, -- 0 active, 1 paused, 2 revoked
    created_by blob not null,
    created_at integer not null,
    updated_at integer not null
) strict;
create index credentials_app on credentials (app_id, created_at, id);

-- The token in force, and those that a rotation lets work a while longer.
create table credential_tokens (
    hash blob primary key not null,
    app_id blob not null,
    credential blob not null references credentials (id),
    prefix text not null,
    created_at integer not null,
    expires_at integer
) strict;
create index credential_tokens_credential on credential_tokens (credential);
create index credential_tokens_app on credential_tokens (app_id);

-- Humans that were invited by an address which nobody has proven yet. Whoever proves it is them.
create table placeholders (
    email text primary key not null,
    human blob not null unique references humans (id),
    created_at integer not null
) strict;

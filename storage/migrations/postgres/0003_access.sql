-- Who may do what in an app beside its owner: members, grant links, previews, service credentials.
-- Written by the app's group only. Pairs with migrations/sqlite/0003_access.sql.

-- Who was removed stays here, so that removing them again is the same as removing them once.
create table members (
    app_id bytea not null,
    human bytea not null references humans (id),
    custom_role text,
    created_at bigint not null,
    removed_at bigint,
    primary key (app_id, human)
);
create index members_order on members (app_id, created_at, human) where removed_at is null;
create index members_human on members (human, created_at) where removed_at is null;

create table grants (
    id bytea primary key not null,
    app_id bytea not null,
    hash bytea not null unique,
    role text not null,
    max_uses bigint,
    uses bigint not null,
    expires_at bigint,
    created_by bytea not null, -- principal: 1 byte of kind, 16 of id
    created_at bigint not null,
    revoked_at bigint
);
create index grants_app on grants (app_id, created_at, id);

create table previews (
    id bytea primary key not null,
    app_id bytea not null,
    hash bytea not null unique,
    expires_at bigint not null,
    created_by bytea not null,
    created_at bigint not null,
    revoked_at bigint
);
create index previews_app on previews (app_id, expires_at);

create table credentials (
    id bytea primary key not null,
    app_id bytea not null,
    name text,
    prefix text not null,
    rights text not null, -- JSON
    status bigint not null, -- 0 active, 1 paused, 2 revoked
    created_by bytea not null,
    created_at bigint not null,
    updated_at bigint not null
);
create index credentials_app on credentials (app_id, created_at, id);

-- The token in force, and those that a rotation lets work a while longer.
create table credential_tokens (
    hash bytea primary key not null,
    app_id bytea not null,
    credential bytea not null references credentials (id),
    prefix text not null,
    created_at bigint not null,
    expires_at bigint
);
create index credential_tokens_credential on credential_tokens (credential);
create index credential_tokens_app on credential_tokens (app_id);

-- Humans that were invited by an address which nobody has proven yet. Whoever proves it is them.
create table placeholders (
    email text primary key not null,
    human bytea not null unique references humans (id),
    created_at bigint not null
);

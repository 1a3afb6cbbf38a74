-- The directory: accounts, credentials, apps and their versions. Times are microseconds since
-- 1970, ids 16 bytes, hashes SHA-256. Pairs with migrations/postgres/0001_directory.sql.

pragma application_id = 1383034731; -- "Rook"

create table meta (
    key text primary key not null,
    value text not null
) strict, without rowid;

create table counters (
    name text primary key not null,
    value integer not null
) strict, without rowid;

create table humans (
    id blob primary key not null,
    email text,
    email_verified_at integer,
    name text,
    marketing_consent integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    closed_at integer
) strict;
-- Only a verified address identifies an account.
create unique index humans_email on humans (email)
    where email_verified_at is not null and closed_at is null;

create table agents (
    id blob primary key not null,
    owner blob references humans (id),
    name text not null,
    created_at integer not null,
    claimed_at integer
) strict;
create index agents_owner on agents (owner, created_at);

create table agent_keys (
    id blob primary key not null,
    agent blob not null references agents (id),
    hash blob not null unique,
    prefix text not null,
    state integer not null, -- 0 active, 1 paused, 2 revoked
    created_at integer not null,
    last_used_at integer
) strict;
create index agent_keys_agent on agent_keys (agent, created_at);

create table claims (
    hash blob primary key not null,
    human blob not null references humans (id),
    created_at integer not null,
    expires_at integer not null,
    redeemed_by blob
) strict;
create index claims_expires on claims (expires_at);

create table devices (
    id blob primary key not null,
    device_hash blob not null unique,
    user_hash blob not null unique,
    name text not null,
    state integer not null, -- 0 pending, 1 approved, 2 denied, 3 redeemed
    human blob references humans (id),
    interval_s integer not null,
    polled_at integer,
    created_at integer not null,
    expires_at integer not null
) strict;
create index devices_expires on devices (expires_at);

create table links (
    hash blob primary key not null,
    email text not null,
    redirect_to text,
    created_at integer not null,
    expires_at integer not null
) strict;
create index links_expires on links (expires_at);

create table sessions (
    id blob primary key not null,
    hash blob not null unique,
    human blob not null references humans (id),
    created_at integer not null,
    seen_at integer not null,
    expires_at integer not null
) strict;
create index sessions_human on sessions (human);
create index sessions_expires on sessions (expires_at);

create table session_grants (
    hash blob primary key not null,
    app_id blob not null,
    human blob not null references humans (id),
    created_at integer not null,
    expires_at integer not null
) strict;
create index session_grants_expires on session_grants (expires_at);

create table participants (
    id blob primary key not null,
    hash blob not null unique,
    app_id blob not null,
    kind integer not null, -- 0 anonymous, 1 human, 2 grant, 3 preview, 4 share
    human blob references humans (id),
    via blob,
    created_at integer not null,
    expires_at integer not null
) strict;
create index participants_app on participants (app_id);
create index participants_human on participants (human) where human is not null;
create index participants_expires on participants (expires_at);

create table apps (
    id blob primary key not null,
    owner blob not null references humans (id),
    created_by blob,
    slug text not null unique,
    status integer not null, -- 0 live, 1 deleted, 2 closed, 3 purging
    visibility integer not null, -- 0 private, 1 link, 2 public
    timezone text not null,
    version integer not null,
    share_hash blob,
    share_sealed text,
    migration_until integer,
    unrestricted integer not null,
    retention text not null,
    history blob not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    purge_at integer
) strict;
create index apps_owner on apps (owner, created_at, id);
create index apps_purge on apps (purge_at) where purge_at is not null;

create table versions (
    app_id blob not null,
    number integer not null,
    html text not null,
    manifest text not null,
    created_by blob not null, -- principal: 1 byte of kind, 16 of id
    created_at integer not null,
    primary key (app_id, number)
) strict;

create table assets (
    app_id blob not null,
    version integer not null,
    path text not null,
    content_type text not null,
    sha256 blob not null,
    size integer not null,
    primary key (app_id, version, path)
) strict, without rowid;
create index assets_sha256 on assets (sha256);

-- Content of assets, stored once. Whoever refers to a blob sets `seen_at`: the collector takes
-- only what has been unreferenced for a while, so it never races a deploy.
create table blobs (
    sha256 blob primary key not null,
    bytes blob not null,
    seen_at integer not null
) strict;
create index blobs_seen on blobs (seen_at);

-- First answers of creations on routes of no app, replayed for 24 hours. The created app, when it
-- is one, is named so that its purge finds them.
create table idempotency_global (
    scope blob primary key not null,
    body_hash blob not null,
    status integer not null,
    location text,
    body text not null,
    app_id blob,
    created_at integer not null
) strict;
create index idempotency_global_created on idempotency_global (created_at);
create index idempotency_global_app on idempotency_global (app_id) where app_id is not null;

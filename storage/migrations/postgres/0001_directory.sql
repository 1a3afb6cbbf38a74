-- The directory: accounts, credentials, apps and their versions. Times are microseconds since
-- 1970, ids 16 bytes, hashes SHA-256. Pairs with migrations/sqlite/0001_directory.sql.

create table meta (
    key text primary key not null,
    value text not null
);

create table counters (
    name text primary key not null,
    value bigint not null
);

create table humans (
    id bytea primary key not null,
    email text,
    email_verified_at bigint,
    name text,
    marketing_consent bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null,
    closed_at bigint
);
-- Only a verified address identifies an account.
create unique index humans_email on humans (email)
    where email_verified_at is not null and closed_at is null;

create table agents (
    id bytea primary key not null,
    owner bytea references humans (id),
    name text not null,
    created_at bigint not null,
    claimed_at bigint
);
create index agents_owner on agents (owner, created_at);

create table agent_keys (
    id bytea primary key not null,
    agent bytea not null references agents (id),
    hash bytea not null unique,
    prefix text not null,
    state bigint not null, -- 0 active, 1 paused, 2 revoked
    created_at bigint not null,
    last_used_at bigint
);
create index agent_keys_agent on agent_keys (agent, created_at);

create table claims (
    hash bytea primary key not null,
    human bytea not null references humans (id),
    created_at bigint not null,
    expires_at bigint not null,
    redeemed_by bytea
);
create index claims_expires on claims (expires_at);

create table devices (
    id bytea primary key not null,
    device_hash bytea not null unique,
    user_hash bytea not null unique,
    name text not null,
    state bigint not null, -- 0 pending, 1 approved, 2 denied, 3 redeemed
    human bytea references humans (id),
    interval_s bigint not null,
    polled_at bigint,
    created_at bigint not null,
    expires_at bigint not null
);
create index devices_expires on devices (expires_at);

create table links (
    hash bytea primary key not null,
    email text not null,
    redirect_to text,
    created_at bigint not null,
    expires_at bigint not null
);
create index links_expires on links (expires_at);

create table sessions (
    id bytea primary key not null,
    hash bytea not null unique,
    human bytea not null references humans (id),
    created_at bigint not null,
    seen_at bigint not null,
    expires_at bigint not null
);
create index sessions_human on sessions (human);
create index sessions_expires on sessions (expires_at);

create table session_grants (
    hash bytea primary key not null,
    app_id bytea not null,
    human bytea not null references humans (id),
    created_at bigint not null,
    expires_at bigint not null
);
create index session_grants_expires on session_grants (expires_at);

create table participants (
    id bytea primary key not null,
    hash bytea not null unique,
    app_id bytea not null,
    kind bigint not null, -- 0 anonymous, 1 human, 2 grant, 3 preview, 4 share
    human bytea references humans (id),
    via bytea,
    created_at bigint not null,
    expires_at bigint not null
);
create index participants_app on participants (app_id);
create index participants_human on participants (human) where human is not null;
create index participants_expires on participants (expires_at);

create table apps (
    id bytea primary key not null,
    owner bytea not null references humans (id),
    created_by bytea,
    slug text not null unique,
    status bigint not null, -- 0 live, 1 deleted, 2 closed, 3 purging
    visibility bigint not null, -- 0 private, 1 link, 2 public
    timezone text not null,
    version bigint not null,
    share_hash bytea,
    share_sealed text,
    migration_until bigint,
    unrestricted bigint not null,
    retention text not null,
    history bytea not null,
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    purge_at bigint
);
create index apps_owner on apps (owner, created_at, id);
create index apps_purge on apps (purge_at) where purge_at is not null;

create table versions (
    app_id bytea not null,
    number bigint not null,
    html text not null,
    manifest text not null,
    created_by bytea not null, -- principal: 1 byte of kind, 16 of id
    created_at bigint not null,
    primary key (app_id, number)
);

create table assets (
    app_id bytea not null,
    version bigint not null,
    path text not null,
    content_type text not null,
    sha256 bytea not null,
    size bigint not null,
    primary key (app_id, version, path)
);
create index assets_sha256 on assets (sha256);

-- Content of assets, stored once. Whoever refers to a blob sets `seen_at`: the collector takes
-- only what has been unreferenced for a while, so it never races a deploy.
create table blobs (
    sha256 bytea primary key not null,
    bytes bytea not null,
    seen_at bigint not null
);
create index blobs_seen on blobs (seen_at);

-- First answers of creations on routes of no app, replayed for 24 hours. The created app, when it
-- is one, is named so that its purge finds them.
create table idempotency_global (
    scope bytea primary key not null,
    body_hash bytea not null,
    status bigint not null,
    location text,
    body text not null,
    app_id bytea,
    created_at bigint not null
);
create index idempotency_global_created on idempotency_global (created_at);
create index idempotency_global_app on idempotency_global (app_id) where app_id is not null;

-- What the writer keeps for each app: its head (the commit fence), rows, feed, write budgets,
-- spent challenge answers and the answers that idempotency keys replay.
--
-- Times are microseconds since 1970, ids 16 bytes, principals 17 bytes: the number of the kind,
-- then the id. Heads and rows leave room in their pages, so that an update that changes no indexed
-- column stays in its page (HOT).

create table app_head (
    app_id    bytea   not null primary key,
    epoch     bigint  not null,
    last_seq  bigint  not null,
    -- Events up to this number may be gone.
    floor_seq bigint  not null default 0,
    live      bigint  not null default 0,
    trashed   bigint  not null default 0,
    detached  bigint  not null default 0,
    bytes     bigint  not null default 0
) with (fillfactor = 50);

create table rows (
    app_id     bytea   not null,
    -- "C": keys compare by their bytes, as they do in SQLite.
    collection text    collate "C" not null,
    key        text    collate "C" not null,
    version    bigint  not null,
    -- Null once purged.
    data       text,
    creator    bytea   not null,
    editor     bytea   not null,
    created_at bigint  not null,
    updated_at bigint  not null,
    -- 0 live, 1 in the trash, 2 purged, 3 detached.
    state      bigint  not null,
    state_at   bigint
) with (fillfactor = 85);
create unique index rows_address on rows (app_id, collection, key);
-- Partial, so that writing a live row never touches them.
create index rows_trash on rows (app_id, collection, state_at, key) where state = 1;
create index rows_trash_age on rows (state_at) where state = 1;
create index rows_purged on rows (app_id, state_at) where state = 2;

create table events (
    app_id          bytea   not null,
    seq             bigint  not null,
    kind            text    not null,
    at              bigint  not null,
    done_by         bytea   not null,
    collection      text,
    key             text,
    version         bigint,
    creator         bytea,
    editor          bytea,
    previous_editor bytea,
    row_created_at  bigint,
    row_updated_at  bigint,
    -- The row's data after the event, or the payload of a custom event. Null where there is none,
    -- and once it was scrubbed.
    data            text,
    silent          bigint  not null
);
create unique index events_seq on events (app_id, seq);

create table budgets (
    app_id     bytea   not null,
    collection text    not null,
    network    bigint  not null,
    day        bigint  not null,
    count      bigint  not null
);
create unique index budgets_counter on budgets (app_id, collection, network);
create index budgets_day on budgets (day);

create table spent_challenges (
    app_id     bytea   not null,
    id         bytea   not null,
    expires_at bigint  not null
);
create unique index spent_challenges_id on spent_challenges (app_id, id);
create index spent_challenges_expiry on spent_challenges (expires_at);

create table idempotency (
    scope      bytea   not null primary key,
    body_hash  bytea   not null,
    status     bigint  not null,
    location   text,
    body       text    not null,
    created_at bigint  not null,
    app_id     bytea   not null,
    collection text,
    row_key    text
);
create index idempotency_age on idempotency (created_at);
create index idempotency_app on idempotency (app_id, collection);

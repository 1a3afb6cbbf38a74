-- What the writer keeps for each app: its head (the commit fence), rows, feed, write budgets,
-- spent challenge answers and the answers that idempotency keys replay.
--
-- Times are microseconds since 1970, ids 16 bytes, principals 17 bytes: the number of the kind,
-- then the id. All are rowid tables with an index: measured a third faster than WITHOUT ROWID,
-- because the cost of a commit follows the pages it dirties.

create table app_head (
    app_id    blob    not null primary key,
    epoch     integer not null,
    last_seq  integer not null,
    -- Events up to this number may be gone.
    floor_seq integer not null default 0,
    live      integer not null default 0,
    trashed   integer not null default 0,
    detached  integer not null default 0,
    bytes     integer not null default 0
) strict;

create table rows (
    app_id     blob    not null,
    collection text    not null,
    key        text    not null,
    version    integer not null,
    -- Null once purged.
    data       text,
    creator    blob    not null,
    editor     blob    not null,
    created_at integer not null,
    updated_at integer not null,
    -- 0 live, 1 in the trash, 2 purged, 3 detached.
    state      integer not null,
    state_at   integer
) strict;
create unique index rows_address on rows (app_id, collection, key);
-- Partial, so that writing a live row never touches them.
create index rows_trash on rows (app_id, collection, state_at, key) where state = 1;
create index rows_trash_age on rows (state_at) where state = 1;
create index rows_purged on rows (app_id, state_at) where state = 2;

create table events (
    app_id          blob    not null,
    seq             integer not null,
    kind            text    not null,
    at              integer not null,
    done_by         blob    not null,
    collection      text,
    key             text,
    version         integer,
    creator         blob,
    editor          blob,
    previous_editor blob,
    row_created_at  integer,
    row_updated_at  integer,
    -- The row's data after the event, or the payload of a custom event. Null where there is none,
    -- and once it was scrubbed.
    data            text,
    silent          integer not null
) strict;
create unique index events_seq on events (app_id, seq);

create table budgets (
    app_id     blob    not null,
    collection text    not null,
    network    integer not null,
    day        integer not null,
    count      integer not null
) strict;
create unique index budgets_counter on budgets (app_id, collection, network);
create index budgets_day on budgets (day);

create table spent_challenges (
    app_id     blob    not null,
    id         blob    not null,
    expires_at integer not null
) strict;
create unique index spent_challenges_id on spent_challenges (app_id, id);
create index spent_challenges_expiry on spent_challenges (expires_at);

create table idempotency (
    scope      blob    not null primary key,
    body_hash  blob    not null,
    status     integer not null,
    location   text,
    body       text    not null,
    created_at integer not null,
    app_id     blob    not null,
    collection text,
    row_key    text
) strict;
create index idempotency_age on idempotency (created_at);
create index idempotency_app on idempotency (app_id, collection);

//! The one statement of a PostgreSQL batch: every table's values as parallel arrays, and the
//! fence in front of them.
//!
//! One statement is one transaction that can never be left open. What belongs to a group that
//! the fence refuses joins to nothing. Two writes of one row in one statement would fail; a
//! group holds each row once, and a batch each app once.

/// Answers the positions of the groups that passed the fence. Each array is numbered by `n`, a
/// group's position.
pub(super) const COMMIT: &str = "
with head as (
    update app_head as h
    set epoch = $1, last_seq = g.seq, live = g.live, trashed = g.trashed,
        detached = g.detached, bytes = g.bytes, trashed_bytes = g.trashed_bytes,
        history_bytes = h.history_bytes + g.history_bytes, collections = g.collections
    from unnest($2::int4[], $3::bytea[], $4::int8[], $5::int8[], $6::int8[], $7::int8[],
                $8::int8[], $9::int8[], $10::int8[], $11::int8[], $12::text[])
         as g(n, app_id, prev_seq, seq, live, trashed, detached, bytes, trashed_bytes,
              history_bytes, collections)
    where h.app_id = g.app_id and h.epoch <= $1 and h.last_seq = g.prev_seq
    returning g.n, g.app_id
), written_rows as (
    insert into rows (app_id, collection, key, version, data, creator, editor, created_at,
                      updated_at, state, state_at)
    select head.app_id, r.collection, r.key, r.version, r.data, r.creator, r.editor,
           r.created_at, r.updated_at, r.state, r.state_at
    from unnest($13::int4[], $14::text[], $15::text[], $16::int8[], $17::text[], $18::bytea[],
                $19::bytea[], $20::int8[], $21::int8[], $22::int8[], $23::int8[])
         as r(n, collection, key, version, data, creator, editor, created_at, updated_at, state,
              state_at)
    join head on head.n = r.n
    on conflict (app_id, collection, key) do update
    set version = excluded.version, data = excluded.data, creator = excluded.creator,
        editor = excluded.editor, created_at = excluded.created_at,
        updated_at = excluded.updated_at, state = excluded.state, state_at = excluded.state_at
), written_events as (
    insert into events (app_id, seq, kind, at, done_by, collection, key, version, creator, editor,
                        previous_editor, row_created_at, row_updated_at, data, silent)
    select head.app_id, e.seq, e.kind, e.at, e.done_by, e.collection, e.key, e.version, e.creator,
           e.editor, e.previous_editor, e.row_created_at, e.row_updated_at, e.data, e.silent
    from unnest($24::int4[], $25::int8[], $26::text[], $27::int8[], $28::bytea[], $29::text[],
                $30::text[], $31::int8[], $32::bytea[], $33::bytea[], $34::bytea[], $35::int8[],
                $36::int8[], $37::text[], $38::int8[])
         as e(n, seq, kind, at, done_by, collection, key, version, creator, editor,
              previous_editor, row_created_at, row_updated_at, data, silent)
    join head on head.n = e.n
), written_budgets as (
    insert into budgets (app_id, collection, network, day, count)
    select head.app_id, b.collection, b.network, b.day, b.count
    from unnest($39::int4[], $40::text[], $41::int8[], $42::int8[], $43::int8[])
         as b(n, collection, network, day, count)
    join head on head.n = b.n
    on conflict (app_id, collection, network) do update
    set day = excluded.day, count = excluded.count
), written_challenges as (
    insert into spent_challenges (app_id, id, expires_at)
    select head.app_id, c.id, c.expires_at
    from unnest($44::int4[], $45::bytea[], $46::int8[]) as c(n, id, expires_at)
    join head on head.n = c.n
    on conflict (app_id, id) do update set expires_at = excluded.expires_at
), written_responses as (
    insert into idempotency (scope, body_hash, status, location, body, created_at, app_id,
                             collection, row_key, row_keys, by_key)
    select r.scope, r.body_hash, r.status, r.location, r.body, r.created_at, head.app_id,
           r.collection, r.row_key, r.row_keys, r.by_key
    from unnest($47::int4[], $48::bytea[], $49::bytea[], $50::int8[], $51::text[], $52::text[],
                $53::int8[], $54::text[], $55::text[], $56::text[], $57::int8[])
         as r(n, scope, body_hash, status, location, body, created_at, collection, row_key,
              row_keys, by_key)
    join head on head.n = r.n
    on conflict (scope) do update
    set body_hash = excluded.body_hash, status = excluded.status, location = excluded.location,
        body = excluded.body, created_at = excluded.created_at, app_id = excluded.app_id,
        collection = excluded.collection, row_key = excluded.row_key,
        row_keys = excluded.row_keys, by_key = excluded.by_key
), lasting_visitors as (
    update participants as p
    set lasting = 1,
        expires_at = case p.kind when 0 then greatest(v.until, p.expires_at) else p.expires_at end
    from unnest($58::int4[], $59::bytea[], $60::int8[]) as v(n, id, until)
    join head on head.n = v.n
    where p.id = v.id and p.app_id = head.app_id and p.lasting = 0
)
select n from head";

/// Locks the head of a group that the fence lets through; finds no row otherwise.
pub(super) const LOCK_HEAD: &str = "select 1 from app_head \
     where app_id = $1 and epoch <= $2 and last_seq = $3 for update";

/// Empties the stored events of purged rows: one walk over the app's events for all keys.
pub(super) const SCRUB_EVENTS: &str = "update events set data = null \
     where app_id = $1 and data is not null \
     and (collection, key) in (select * from unnest($2::text[], $3::text[]))";

/// Forgets the responses that quote purged rows. One from before there was `row_keys` may quote any
/// row of its collection.
pub(super) const SCRUB_RESPONSES: &str = "delete from idempotency where app_id = $1 \
     and collection = any($2::text[]) \
     and case when row_key is not null \
     then (collection, row_key) in (select * from unnest($2::text[], $3::text[])) \
     when row_keys is not null then exists (select 1 \
     from json_array_elements_text(row_keys::json) as quoted(key) \
     where (collection, quoted.key) in (select * from unnest($2::text[], $3::text[]))) \
     else true end";

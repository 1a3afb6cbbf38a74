//! Destroying apps. First the app is marked, by a group that its actor decides and that is its
//! last; then what it left goes in chunks, so that a hundred thousand rows never hold the other
//! writers up. A crash in between leaves a marked app, which [`marked`] finds again.

use rookery_domain::{Timestamp, id::AppId};

use crate::{
    columns::{Read, record},
    db::{Db, Tx, args, oldest_first},
    error::Result,
};

/// Rows that one step deletes at most.
pub const CHUNK: u32 = 1_000;

/// Bytes of rows, events or responses that one step deletes, but for the last: what is deleted is
/// overwritten, and on SQLite every commit waits for it.
const CHUNK_BYTES: i64 = 4 << 20;

/// An app whose time in the trash is over, or that is being destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueApp {
    /// The app.
    pub app: AppId,
    /// Since when.
    pub purge_at: Timestamp,
}

record!(DueApp: app, purge_at);

/// Apps whose time in the trash is over, those for the longest time first, behind `after`, at most
/// `limit`. One that cannot be read is left out and logged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn due(
    db: &Db,
    now: Timestamp,
    after: Option<DueApp>,
    limit: u32,
) -> Result<Vec<DueApp>> {
    let (since, after) = oldest_first(after.map(|due| (due.purge_at, due.app)));
    let found = db.all(
        "select id, purge_at from apps
         where purge_at <= $1 and purge_at >= $2 and (purge_at, id) > ($2, $3)
           and status in (1, 2)
         order by purge_at, id limit $4",
        args![now, since, after, limit],
    );
    Ok(readable(found.await?))
}

/// Apps that are marked and not yet gone, in the order of [`due`], behind `after`, at most `limit`. One that
/// cannot be read is left out and logged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn marked(db: &Db, after: Option<DueApp>, limit: u32) -> Result<Vec<DueApp>> {
    let (since, after) = oldest_first(after.map(|due| (due.purge_at, due.app)));
    let found = db.all(
        // There are few. The index of all apps that are due would lead SQLite past the others.
        "select id, purge_at from apps where status = 3 and (+purge_at, id) > ($1, $2)
         order by +purge_at, id limit $3",
        args![since, after, limit],
    );
    Ok(readable(found.await?))
}

fn readable(found: Vec<Read<DueApp>>) -> Vec<DueApp> {
    let logged =
        |why: &_| tracing::error!(why, "an app that is due to be destroyed cannot be read");
    found.into_iter().filter_map(|app| app.inspect_err(logged).ok()).collect()
}

/// What may be large, each with a bound on its bytes: at most [`CHUNK`] entries and about [`CHUNK_BYTES`].
const BY_BYTES: [&str; 3] = [
    "delete from events where app_id = $1 and seq in
         (select seq from
              (select seq, bytes, sum(bytes) over (order by seq) as through from
                   (select seq, coalesce(octet_length(data), 0) as bytes from events
                    where app_id = $1 order by seq limit $2) as few) as summed
          where through - bytes < $3)",
    "delete from rows where app_id = $1 and (collection, key) in
         (select collection, key from
              (select collection, key, bytes,
                      sum(bytes) over (order by collection, key) as through from
                   (select collection, key, coalesce(octet_length(data), 0) as bytes from rows
                    where app_id = $1 order by collection, key limit $2) as few) as summed
          where through - bytes < $3)",
    "delete from idempotency where scope in
         (select scope from
              (select scope, bytes, sum(bytes) over (order by scope) as through from
                   (select scope, octet_length(body) as bytes from idempotency
                    where app_id = $1 limit $2) as few) as summed
          where through - bytes < $3)",
];

/// A version with its page and manifest, which may be large: one at a time.
const ONE_VERSION: &str = "delete from versions where app_id = $1 and number in
     (select number from versions where app_id = $1 order by number limit 1)";

/// What is small: at most [`CHUNK`] entries of each.
const BY_COUNT: [&str; 21] = [
    "delete from budgets where app_id = $1 and (collection, network) in
         (select collection, network from budgets where app_id = $1 limit $2)",
    "delete from spent_challenges where app_id = $1 and id in
         (select id from spent_challenges where app_id = $1 limit $2)",
    "delete from idempotency_global where scope in
         (select scope from idempotency_global where app_id = $1 limit $2)",
    "delete from participants where id in
         (select id from participants where app_id = $1 limit $2)",
    "delete from session_grants where hash in
         (select hash from session_grants where app_id = $1 limit $2)",
    "delete from app_hours where app_id = $1 and hour in
         (select hour from app_hours where app_id = $1 limit $2)",
    "delete from app_days where app_id = $1 and day in
         (select day from app_days where app_id = $1 limit $2)",
    "delete from app_sources where app_id = $1 and (day, kind, name) in
         (select day, kind, name from app_sources where app_id = $1 limit $2)",
    "delete from visitor_sketches where app_id = $1 and (kind, period) in
         (select kind, period from visitor_sketches where app_id = $1 limit $2)",
    "delete from favorites where app_id = $1 and human in
         (select human from favorites where app_id = $1 limit $2)",
    "delete from views where app_id = $1 and human in
         (select human from views where app_id = $1 limit $2)",
    "delete from transfers where id in
         (select id from transfers where app_id = $1 limit $2)",
    "insert into edge_leftovers (edge_id)
         select edge_id from domains where app_id = $1 and edge_id is not null limit $2
         on conflict (edge_id) do nothing",
    "delete from domain_names where domain_id in
         (select id from domains where app_id = $1 limit $2)",
    "delete from domains where id in
         (select id from domains where app_id = $1 limit $2)",
    "delete from members where app_id = $1 and human in
         (select human from members where app_id = $1 limit $2)",
    "delete from grants where id in
         (select id from grants where app_id = $1 limit $2)",
    "delete from previews where id in
         (select id from previews where app_id = $1 limit $2)",
    "delete from credential_tokens where hash in
         (select hash from credential_tokens where app_id = $1 limit $2)",
    "delete from credentials where id in
         (select id from credentials where app_id = $1 limit $2)",
    "delete from assets where app_id = $1 and (version, path) in
         (select version, path from assets where app_id = $1 limit $2)",
];

/// What goes last, together: the record, whose slug its last owner keeps.
const RECORD: [&str; 3] = [
    "insert into former_slugs (slug, owner)
         select slug, owner from apps where id = $1 and status = 3
         on conflict (slug) do update set owner = excluded.owner",
    "delete from app_head where app_id = $1",
    "delete from apps where id = $1 and status = 3",
];

/// Deletes one chunk of what a marked app left; `true` while there is more, `false` once its
/// record is gone. Its slug is its last owner's from then on. An app that is not marked is not touched.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn step(db: &Db, id: AppId) -> Result<bool> {
    if !db.exists("select 1 from apps where id = $1 and status = 3", args![id]).await? {
        return Ok(false);
    }
    for sql in BY_BYTES {
        if db.execute(sql, args![id, CHUNK, CHUNK_BYTES]).await? > 0 {
            return Ok(true);
        }
    }
    if db.execute(ONE_VERSION, args![id]).await? > 0 {
        return Ok(true);
    }
    for sql in BY_COUNT {
        if db.execute(sql, args![id, CHUNK]).await? == u64::from(CHUNK) {
            return Ok(true);
        }
    }
    db.transaction(id, |tx, id| Box::pin(forget_record(tx, *id))).await?;
    Ok(false)
}

async fn forget_record(tx: &mut Tx, id: AppId) -> Result<()> {
    for sql in RECORD {
        tx.execute(sql, args![id]).await?;
    }
    Ok(())
}

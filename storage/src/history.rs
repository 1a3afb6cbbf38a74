//! What an app keeps beside its rows, by bytes: the events of its feed, and the responses that
//! idempotency keys replay. `app_head.history_bytes` grows with each commit and is never less than
//! what is there; it is counted anew before anything is deleted because of it. By number and by age
//! the [`feed`](crate::feed) is pruned, which takes events by their bytes as well, and responses
//! where [expiry](crate::expiry) is.

use rookery_domain::{Timestamp, id::AppId};

use crate::{
    columns::record,
    commit::ENTRY_BYTES,
    db::{Db, Tx, args},
    error::Result,
    feed::PRUNE_CHUNK,
};

/// Bytes that an app keeps beside its rows, each entry with what it costs beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// Of events.
    pub events: u64,
    /// Of responses.
    pub responses: u64,
}

/// What an app keeps, where its head says that this is more than `bytes` and a count confirms it.
/// Counting holds nobody up; what the head had too much is taken off.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn more_than(db: &Db, app: AppId, bytes: u64) -> Result<Option<History>> {
    // One statement, so that all of it is from one moment.
    let found: Option<(i64, i64, i64)> = db
        .optional(
            "select h.history_bytes,
                    (select cast(coalesce(sum($2 + coalesce(octet_length(e.data), 0)), 0) as bigint)
                     from events e where e.app_id = $1),
                    (select cast(coalesce(sum($2 + octet_length(i.body)), 0) as bigint)
                     from idempotency i where i.app_id = $1)
             from app_head h where h.app_id = $1 and h.history_bytes > $3",
            args![app, ENTRY_BYTES as u64, bytes],
        )
        .await?;
    let Some((told, events, responses)) = found else { return Ok(None) };
    let too_much = told - events - responses;
    if too_much > 0 {
        // What was added meanwhile stays.
        db.execute(
            "update app_head set history_bytes = history_bytes - $2
             where app_id = $1 and history_bytes >= $2",
            args![app, too_much],
        )
        .await?;
    }
    let unsigned = |bytes: i64| bytes.max(0).cast_unsigned();
    let found = History { events: unsigned(events), responses: unsigned(responses) };
    Ok(Some(found).filter(|found| found.events + found.responses > bytes))
}

/// Up to where an app's responses go: those of visitors first, each kind from the oldest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponsesCut {
    /// Whether all of visitors go, and of those of agents and service credentials the oldest.
    pub by_key: bool,
    /// When the last one was given that goes.
    pub through: Timestamp,
}

record!(ResponsesCut: by_key, through);

/// Which responses must go for so many `bytes`. It holds nobody up.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn oldest_responses(db: &Db, app: AppId, bytes: u64) -> Result<Option<ResponsesCut>> {
    db.optional(
        "select by_key, created_at from (
             select by_key, created_at,
                    sum($2 + octet_length(body)) over (order by by_key, created_at, scope) as through
             from idempotency where app_id = $1) as summed
         where through >= $3 order by through limit 1",
        args![app, ENTRY_BYTES as u64, bytes],
    )
    .await
}

/// Deletes responses as far as `cut` goes, at most [`PRUNE_CHUNK`]; whether there may be more.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget_responses(db: &Db, app: AppId, cut: ResponsesCut) -> Result<bool> {
    db.transaction((app, cut), |tx, (app, cut)| Box::pin(forget_in(tx, *app, *cut))).await
}

async fn forget_in(tx: &mut Tx, app: AppId, cut: ResponsesCut) -> Result<bool> {
    // The head first, in the writer's order, so that nobody waits for another in a ring.
    tx.execute("update app_head set floor_seq = floor_seq where app_id = $1", args![app]).await?;
    let gone: Vec<i64> = tx
        .column(
            "delete from idempotency where scope in (
                 select scope from idempotency where app_id = $1
                    and (by_key < $3 or by_key = $3 and created_at <= $4) limit $5)
             returning cast($2 + octet_length(body) as bigint)",
            args![app, ENTRY_BYTES as u64, cut.by_key, cut.through, PRUNE_CHUNK],
        )
        .await?;
    subtract(tx, app, gone.iter().sum()).await?;
    Ok(gone.len() >= PRUNE_CHUNK as usize)
}

/// The oldest events that must go for so many `bytes`, as the number of the last of them, where a
/// `limit` of events is enough for that.
pub(crate) async fn oldest_events(
    tx: &mut Tx,
    app: AppId,
    bytes: i64,
    limit: u32,
) -> Result<Option<i64>> {
    tx.value(
        "select seq from (
             select seq, sum(bytes) over (order by seq) as through
             from (select seq, $2 + coalesce(octet_length(data), 0) as bytes
                   from events where app_id = $1 order by seq limit $4) as oldest) as summed
         where through >= $3 order by seq limit 1",
        args![app, ENTRY_BYTES as u64, bytes, limit],
    )
    .await
}

/// Bytes of the events up to a number.
pub(crate) async fn bytes_through(tx: &mut Tx, app: AppId, seq: i64) -> Result<i64> {
    let (bytes,): (i64,) = tx
        .one(
            "select cast(coalesce(sum($3 + coalesce(octet_length(data), 0)), 0) as bigint)
             from events where app_id = $1 and seq <= $2",
            args![app, seq, ENTRY_BYTES as u64],
        )
        .await?;
    Ok(bytes)
}

/// Notes that so many bytes went. What an entry was emptied of meanwhile is still counted.
pub(crate) async fn subtract(tx: &mut Tx, app: AppId, bytes: i64) -> Result<()> {
    tx.execute(
        "update app_head set history_bytes =
             case when history_bytes > $2 then history_bytes - $2 else 0 end
         where app_id = $1",
        args![app, bytes],
    )
    .await?;
    Ok(())
}

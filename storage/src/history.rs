//! What an app keeps beside its rows, by bytes: the events of its feed, and the answers that
//! idempotency keys replay. `app_head.history_bytes` grows with each commit and is never less than
//! what is there; here it is counted anew, and what is too much is found. By number and by age the
//! [`feed`](crate::feed) is pruned, and answers by age where [expiry](crate::expiry) is.

use rookery_domain::id::AppId;

use crate::{
    commit::ENTRY_BYTES,
    db::{Tx, args},
    error::Result,
};

/// Answers may have one part in so many of the bytes.
const ANSWERS_PART: u64 = 4;
/// Answers that one transaction deletes at most.
const ANSWERS_CHUNK: u32 = 500;

/// Deletes the oldest answers beyond their part of `bytes`, and finds the event up to which events
/// are beyond the rest; 0 for none. Whether there are more answers to delete comes with it.
pub(crate) async fn trim(tx: &mut Tx, app: AppId, bytes: u64) -> Result<(i64, bool)> {
    let most = bytes / ANSWERS_PART;
    let deleted = tx
        .execute(
            "delete from idempotency where scope in (
                 select scope from (
                     select scope, created_at,
                            sum($2 + octet_length(body)) over (order by created_at desc, scope) as kept
                     from idempotency where app_id = $1) as newest
                 where kept > $3 order by created_at limit $4)",
            args![app, ENTRY_BYTES as u64, most, ANSWERS_CHUNK],
        )
        .await?;
    // What is still to be deleted leaves the events alone: they have their part.
    let left = bytes - answer_bytes(tx, app).await?.min(most);
    let (through,): (Option<i64>,) = tx
        .one(
            "select max(seq) from (
                 select seq, sum($2 + coalesce(octet_length(data), 0)) over (order by seq desc) as kept
                 from events where app_id = $1) as newest
             where kept > $3",
            args![app, ENTRY_BYTES as u64, left],
        )
        .await?;
    Ok((through.unwrap_or(0), deleted == u64::from(ANSWERS_CHUNK)))
}

/// Writes down what is there.
pub(crate) async fn count_anew(tx: &mut Tx, app: AppId) -> Result<()> {
    let answers = answer_bytes(tx, app).await?;
    tx.execute(
        "update app_head set history_bytes = $3 + (
             select coalesce(sum($2 + coalesce(octet_length(data), 0)), 0)
             from events where app_id = $1)
         where app_id = $1",
        args![app, ENTRY_BYTES as u64, answers],
    )
    .await?;
    Ok(())
}

async fn answer_bytes(tx: &mut Tx, app: AppId) -> Result<u64> {
    let (bytes,): (i64,) = tx
        .one(
            "select cast(coalesce(sum($2 + octet_length(body)), 0) as bigint)
             from idempotency where app_id = $1",
            args![app, ENTRY_BYTES as u64],
        )
        .await?;
    Ok(bytes.max(0).cast_unsigned())
}

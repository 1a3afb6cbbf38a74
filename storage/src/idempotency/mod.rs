//! Responses kept for their idempotency keys.
//!
//! Those of an app's routes are written with the group they answer, by the writer; a purge removes
//! those that quote the purged row. Here they are found and forgotten; what is renewed meanwhile
//! stays, as [`crate::expiry`] has it. Those of no app are in [`global`].

pub mod global;
mod keep;

use std::ops::RangeInclusive;

use rookery_domain::{
    Timestamp,
    idempotency::{FirstResponse, KEPT_FOR_S, StoredResponse},
};

pub use keep::KeepResponse;

use crate::{
    columns::{FromColumns, Read, ReadColumns},
    db::{Db, args},
    error::Result,
};

/// Most records that one call of [`forget_expired`] deletes.
pub const FORGET_CHUNK: u32 = 500;

/// The columns of a [`FirstResponse`].
macro_rules! response_columns {
    () => {
        "body_hash, status, location, body"
    };
}
use response_columns;

impl FromColumns for FirstResponse {
    const WHAT: &'static str = "FirstResponse";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        Ok(Self {
            body_hash: columns.get(0)?,
            response: StoredResponse {
                status: columns.get(1)?,
                location: columns.get(2)?,
                body: columns.get(3)?,
            },
        })
    }
}

/// The first response for this scope (SHA-256 of principal, route, app and key), unless it is older than
/// 24 hours.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn find(db: &Db, scope: [u8; 32], now: Timestamp) -> Result<Option<FirstResponse>> {
    db.optional(
        concat!(
            "select ",
            response_columns!(),
            " from idempotency where scope = $1 and created_at > $2"
        ),
        args![scope, now.plus_seconds(-KEPT_FOR_S)],
    )
    .await
}

/// Deletes responses older than 24 hours, at most [`FORGET_CHUNK`]; how many. Fewer than the chunk
/// means that none is left.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget_expired(db: &Db, now: Timestamp) -> Result<u64> {
    db.execute(
        "delete from idempotency where created_at <= $1 and scope in
         (select scope from idempotency where created_at <= $1 order by created_at limit $2)",
        args![now.plus_seconds(-KEPT_FOR_S), FORGET_CHUNK],
    )
    .await
}

/// Deletes challenge answers that would be refused by their age anyway, and write-budget counters
/// of other days than `days` (days since 1970), at most [`FORGET_CHUNK`] of each; how many in all.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget_spent(db: &Db, now: Timestamp, days: RangeInclusive<i32>) -> Result<u64> {
    db.transaction((now, days), |tx, (now, days)| {
        Box::pin(async move {
            let challenges = tx
                .execute(
                    "delete from spent_challenges where expires_at <= $1 and (app_id, id) in
                     (select app_id, id from spent_challenges where expires_at <= $1
                     order by expires_at limit $2)",
                    args![*now, FORGET_CHUNK],
                )
                .await?;
            let mut budgets = 0;
            for (sql, day) in [
                (
                    "delete from budgets where day < $1 and (app_id, collection, network) in
                     (select app_id, collection, network from budgets where day < $1
                     order by day limit $2)",
                    days.start(),
                ),
                (
                    "delete from budgets where day > $1 and (app_id, collection, network) in
                     (select app_id, collection, network from budgets where day > $1
                     order by day desc limit $2)",
                    days.end(),
                ),
            ] {
                budgets += tx.execute(sql, args![i64::from(*day), FORGET_CHUNK]).await?;
            }
            Ok(challenges + budgets)
        })
    })
    .await
}

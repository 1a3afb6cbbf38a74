//! Responses kept for their idempotency keys.
//!
//! Those of an app's routes are written with the group they answer, by the writer; a purge removes
//! those that quote the purged row. Here they are found and forgotten; what is renewed meanwhile
//! stays, as [`crate::expiry`] has it. Those of no app are in [`global`].

pub mod global;
mod keep;

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

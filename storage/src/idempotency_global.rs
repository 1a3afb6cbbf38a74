//! First answers of creations that belong to no app, replayed for the same idempotency key. Those
//! of row routes commit with their group instead.

use rookery_domain::{Timestamp, id::AppId};

use crate::{
    db::{Db, Tx, args},
    decode,
    error::Result,
};

/// A stored first answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// SHA-256 of the body of the request that was answered.
    pub body_hash: [u8; 32],
    /// The answer's status.
    pub status: u16,
    /// The answer's `Location`, where it had one.
    pub location: Option<String>,
    /// The answer's body, without secrets.
    pub body: String,
    /// When it was made.
    pub created_at: Timestamp,
}

type Columns = (Vec<u8>, i64, Option<String>, String, i64);

impl StoredAnswer {
    fn decode((body_hash, status, location, body, created): Columns) -> Result<Self> {
        Ok(Self {
            body_hash: decode::fixed("idempotency_global.body_hash", &body_hash)?,
            status: decode::number("idempotency_global.status", status)?,
            location,
            body,
            created_at: Timestamp(created),
        })
    }
}

/// The answer stored under `scope` (SHA-256 of principal, route and key) since `not_before`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn get(db: &Db, scope: [u8; 32], not_before: Timestamp) -> Result<Option<StoredAnswer>> {
    db.optional(
        "select body_hash, status, location, body, created_at
         from idempotency_global where scope = $1 and created_at >= $2",
        args![scope, not_before],
    )
    .await?
    .map(StoredAnswer::decode)
    .transpose()
}

/// A first answer to be stored.
#[derive(Debug, Clone)]
pub struct NewAnswer {
    /// SHA-256 of principal, route and key.
    pub scope: [u8; 32],
    /// The answer.
    pub answer: StoredAnswer,
    /// An answer older than this is forgotten and replaced.
    pub not_before: Timestamp,
}

/// Stores a first answer unless one is there; that one, when there is.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn put(db: &Db, answer: NewAnswer) -> Result<Option<StoredAnswer>> {
    db.transaction(answer, |tx, answer| Box::pin(put_in(tx, answer, None))).await
}

/// The same inside the transaction that makes `app`, whose purge will forget the answer.
pub(crate) async fn put_in(
    tx: &mut Tx,
    new: &NewAnswer,
    app: Option<AppId>,
) -> Result<Option<StoredAnswer>> {
    let answer = &new.answer;
    let written = tx
        .execute(
            "insert into idempotency_global
                 (scope, body_hash, status, location, body, app_id, created_at)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (scope) do update
             set body_hash = excluded.body_hash, status = excluded.status,
                 location = excluded.location, body = excluded.body,
                 app_id = excluded.app_id, created_at = excluded.created_at
             where idempotency_global.created_at < $8",
            args![
                new.scope,
                answer.body_hash,
                i64::from(answer.status),
                answer.location.as_deref(),
                &answer.body,
                app,
                answer.created_at,
                new.not_before,
            ],
        )
        .await?;
    if written == 1 {
        return Ok(None);
    }
    tx.optional(
        "select body_hash, status, location, body, created_at
         from idempotency_global where scope = $1",
        args![new.scope],
    )
    .await?
    .map(StoredAnswer::decode)
    .transpose()
}

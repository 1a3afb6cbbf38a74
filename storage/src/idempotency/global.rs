//! First responses of creations that belong to no app. Those of an app's routes commit with their
//! group instead.

use rookery_domain::{
    Timestamp,
    id::AppId,
    idempotency::{FirstResponse, IdempotentRequest, KEPT_FOR_S, StoredResponse},
};

use super::response_columns;
use crate::{
    db::{Db, Tx, args},
    error::Result,
};

/// The first response under `scope`, unless it is older than 24 hours.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn find(db: &Db, scope: [u8; 32], now: Timestamp) -> Result<Option<FirstResponse>> {
    db.optional(
        concat!(
            "select ",
            response_columns!(),
            " from idempotency_global where scope = $1 and created_at > $2"
        ),
        args![scope, now.plus_seconds(-KEPT_FOR_S)],
    )
    .await
}

/// A first response to be stored.
#[derive(Debug, Clone)]
pub struct NewResponse {
    /// The request that it answers.
    pub request: IdempotentRequest,
    /// The response to it.
    pub response: StoredResponse,
    /// When. One that is 24 hours older is replaced.
    pub now: Timestamp,
}

/// Stores a first response in the transaction that makes what it tells of, unless one is there: that
/// one, when there is. The purge of `app` will forget it.
pub(crate) async fn put_in(
    tx: &mut Tx,
    NewResponse { request, response, now }: &NewResponse,
    app: Option<AppId>,
) -> Result<Option<FirstResponse>> {
    let written = tx
        .execute(
            "insert into idempotency_global
                 (scope, body_hash, status, location, body, app_id, created_at)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (scope) do update
             set body_hash = excluded.body_hash, status = excluded.status,
                 location = excluded.location, body = excluded.body,
                 app_id = excluded.app_id, created_at = excluded.created_at
             where idempotency_global.created_at <= $8",
            args![
                request.scope,
                request.body_hash,
                u32::from(response.status),
                response.location.as_deref(),
                &response.body,
                app,
                *now,
                now.plus_seconds(-KEPT_FOR_S),
            ],
        )
        .await?;
    if written == 1 {
        return Ok(None);
    }
    tx.optional(
        concat!("select ", response_columns!(), " from idempotency_global where scope = $1"),
        args![request.scope],
    )
    .await
}

//! `POST /v1/apps/:id/collections/:name/:key/restore`: brings a row back from the trash.

use axum::response::Response;
use rookery_domain::ErrorCode;

use super::{
    answer, app_request::AppRequest, callers::Callers, parameters::RowPath, schema::RowRecord,
};
use crate::{error::ApiResult, http::body::Nothing};

/// What the restore itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::PayloadTooLarge,
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::Forbidden,
    ErrorCode::RowNotFound,
    ErrorCode::RowSchemaViolation,
    ErrorCode::UniqueConflict,
    ErrorCode::AppQuotaExceeded,
    ErrorCode::AccountQuotaExceeded,
];

/// Restores a row
///
/// A live row is answered as it is; a purged one is `row_not_found`. The row counts again: the app
/// must have room for it. Only for the owner.
#[utoipa::path(
    post,
    path = "/v1/apps/{id}/collections/{name}/{key}/restore",
    tag = "Rows",
    request_body = Option<Nothing>,
    responses((status = 200, description = "The row with its new version.", body = RowRecord))
)]
pub(crate) async fn restore_row<C: Callers>(
    caller: C::WriterBeyondAllowlist,
    row: RowPath,
    _: Nothing,
) -> ApiResult<Response> {
    let AppRequest { app, caller, .. } = caller.into();
    let reply = app.restore_row(&caller, &row.collection, &row.key).await?;
    Ok(answer::row(&reply))
}

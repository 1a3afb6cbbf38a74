//! `PATCH /v1/apps/:id/collections/:name/:key`: changes a row's content.

use axum::response::Response;
use rookery_actors::app::message::{Op, Reply, RowEdit};
use rookery_domain::ErrorCode;

use super::{
    answer,
    app_request::AppRequest,
    bodies::UpdateBody,
    callers::Callers,
    parameters::{RowPath, SeenVersion},
    schema::RowRecord,
};
use crate::{error::ApiResult, http::body::ExactJson};

/// What the update itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::PayloadTooLarge,
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::RowNotFound,
    ErrorCode::CollectionWriteForbidden,
    ErrorCode::AuthorNotAllowed,
    ErrorCode::AppendOnly,
    ErrorCode::Conflict,
    ErrorCode::RelationSetForbidden,
    ErrorCode::RowSchemaViolation,
    ErrorCode::CollectionWriteBudgetExceeded,
    ErrorCode::UniqueConflict,
    ErrorCode::AppQuotaExceeded,
];

/// Updates a row
///
/// `data` is merged into the content (RFC 7396), or replaces it. With `if_match` or `If-Match` a
/// row that has moved on is `conflict`, with the row as it is in `details.current`.
#[utoipa::path(
    patch,
    path = "/v1/apps/{id}/collections/{name}/{key}",
    tag = "Rows",
    params(SeenVersion),
    request_body = UpdateBody,
    responses((status = 200, description = "The row after the update.", body = RowRecord))
)]
pub(crate) async fn update_row<C: Callers>(
    caller: C::Writer,
    row: RowPath,
    seen: SeenVersion,
    body: ExactJson<UpdateBody>,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let ExactJson { value, bytes } = body;
    let edit = RowEdit {
        replace: value.replace,
        if_match: seen.with_body(value.if_match)?,
        data: value.into_data(),
    };
    let op = Op::Update { collection: row.collection.into(), key: row.key.into(), edit };
    match request.app.apply_with(request.caller, op, None, bytes.len()).await? {
        Reply::Row(reply) => Ok(answer::row(&reply)),
        other => Err(other.unexpected().into()),
    }
}

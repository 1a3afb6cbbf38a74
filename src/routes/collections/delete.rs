//! `DELETE /v1/apps/:id/collections/:name/:key`: moves a row to the trash.

use axum::response::Response;
use rookery_actors::app::message::{Op, Reply, RowTarget};
use rookery_domain::ErrorCode;

use super::{
    answer,
    app_request::AppRequest,
    bodies::DeleteBody,
    callers::Callers,
    parameters::{RowPath, SeenVersion},
    schema::RowRecord,
};
use crate::{error::ApiResult, http::body::OptionalJson};

/// What the delete itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::PayloadTooLarge,
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::RowNotFound,
    ErrorCode::CollectionDeleteForbidden,
    ErrorCode::AuthorNotAllowed,
    ErrorCode::AppendOnly,
    ErrorCode::Conflict,
];

/// Deletes a row
///
/// It stays in the trash for 30 days by default, where the owner can restore it until another row is
/// created at its key, and counts towards no limit there. Of more than the trash has room for (as many
/// bytes and rows as the app, ten thousand rows at least) the oldest go earlier. Deleting it again is
/// `row_not_found`.
#[utoipa::path(
    delete,
    path = "/v1/apps/{id}/collections/{name}/{key}",
    tag = "Rows",
    params(SeenVersion),
    request_body = Option<DeleteBody>,
    responses((status = 200, description = "The row with its new version.", body = RowRecord))
)]
pub(crate) async fn delete_row<C: Callers>(
    caller: C::Writer,
    row: RowPath,
    seen: SeenVersion,
    OptionalJson(body): OptionalJson<DeleteBody>,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let if_match = seen.with_body(body.if_match)?;
    let op = Op::Delete {
        collection: row.collection.into(),
        target: RowTarget { key: row.key.into(), if_match },
    };
    match request.app.apply(request.caller, op).await? {
        Reply::Row(reply) => Ok(answer::row(&reply)),
        other => Err(other.unexpected().into()),
    }
}

//! `DELETE /v1/apps/:id/collections/:name/batch`: moves many rows to the trash.

use axum::{extract::State, response::Response};
use rookery_actors::app::message::{Op, Reply};
use rookery_domain::ErrorCode;

use super::{
    answer, app_request::AppRequest, bodies::BatchDeleteBody, callers::Callers,
    parameters::CollectionPath, schema::BatchRecord,
};
use crate::{error::ApiResult, http::body::ExactJson, state::AppState};

/// What the batch itself may answer: with `atomic`, whatever its entries may.
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

/// Deletes many rows
///
/// At most 500 by default. Each entry is decided as the single call would and has a result at its index;
/// with `atomic` the first refusal is the answer and nothing is deleted.
#[utoipa::path(
    delete,
    path = "/v1/apps/{id}/collections/{name}/batch",
    tag = "Rows",
    request_body = BatchDeleteBody,
    responses((status = 200, description = "A result for each entry.", body = BatchRecord))
)]
pub(crate) async fn delete_batch<C: Callers>(
    caller: C::Writer,
    CollectionPath(collection): CollectionPath,
    State(state): State<AppState>,
    body: ExactJson<BatchDeleteBody>,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let ExactJson { value, bytes } = body;
    let op = Op::BatchDelete {
        collection: collection.into(),
        items: value.keys.into_iter().map(|target| target.0).collect(),
        atomic: value.atomic,
    };
    match request.app.apply_with(request.caller, op, None, bytes.len()).await? {
        Reply::Batch(results) => Ok(answer::batch(state, results)),
        other => Err(other.unexpected().into()),
    }
}

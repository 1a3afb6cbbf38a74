//! `GET /v1/apps/:id/collections/:name/count`: how many live rows there are.

use axum::response::Response;
use http::StatusCode;
use rookery_domain::ErrorCode;

use super::{
    answer, app_request::AppRequest, callers::Callers, parameters::CollectionPath,
    schema::CountRecord,
};
use crate::error::ApiResult;

/// What the count itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::CollectionCountForbidden,
];

/// Counts rows
///
/// All live rows, whether or not the caller may read them: `countRead` alone governs it. A credential of
/// scope `own` counts those that it created. There is no filter: it would tell what rows hold to those
/// who may only count them.
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/collections/{name}/count",
    tag = "Rows",
    responses((status = 200, description = "The number.", body = CountRecord))
)]
pub(crate) async fn count_rows<C: Callers>(
    caller: C::Reader,
    CollectionPath(collection): CollectionPath,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let count = request.app.count(&request.caller, &collection).await?;
    Ok(answer::json(StatusCode::OK, format!("{{\"count\":{count}}}")))
}

//! `GET /v1/apps/:id/collections/:name/:key`: one row.

use axum::response::Response;
use http::StatusCode;
use rookery_domain::{ErrorCode, if_match::etag};

use super::{
    answer,
    app_request::AppRequest,
    callers::Callers,
    parameters::{GetParams, RowPath},
    schema::RowRecord,
};
use crate::{
    error::ApiResult,
    http::{conditional::IfNoneMatch, params::StrictQuery},
};

/// What the read itself may answer.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::CollectionNotFound, ErrorCode::CredentialScopeForbidden, ErrorCode::RowNotFound];

/// Reads a row
///
/// Its `ETag` is its version and when it was written. An absent row, one in the trash and one you
/// may not see answer alike. `include_deleted` is the owner's (`forbidden`).
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/collections/{name}/{key}",
    tag = "Rows",
    params(
        GetParams,
    ),
    responses((status = 200, description = "The row.", body = RowRecord),
        (status = 304, description = "The row has not changed."))
)]
pub(crate) async fn get_row<C: Callers>(
    caller: C::Reader,
    row: RowPath,
    StrictQuery(params): StrictQuery<GetParams>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    let AppRequest { app, caller, .. } = caller.into();
    let include_deleted = params.include_deleted.unwrap_or_default();
    let seen = app.row(&caller, &row.collection, &row.key, include_deleted).await?;
    Ok(cached.answer(&etag(seen.row.version, seen.row.updated_at), || {
        let mut body = String::new();
        seen.row.write_json(seen.deleted_at, &mut body);
        answer::json(StatusCode::OK, body)
    }))
}

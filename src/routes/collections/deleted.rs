//! `GET /v1/apps/:id/collections/:name/deleted`: the rows that can be restored.

use axum::response::Response;
use rookery_domain::{ErrorCode, query::PageLimit};

use super::{
    app_request::AppRequest,
    callers::Callers,
    parameters::{CollectionPath, PageParams},
    schema::TrashPageRecord,
};
use crate::{
    error::ApiResult,
    http::{conditional::tagged, params::StrictQuery},
};

/// What the list itself may answer.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::CollectionNotFound, ErrorCode::CredentialScopeForbidden, ErrorCode::Forbidden];

/// Lists deleted rows
///
/// The last deleted first. Only for the owner. A page ends with the row that makes its data 1 MiB,
/// whatever `limit` says.
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/collections/{name}/deleted",
    tag = "Rows",
    params(
        PageParams,
    ),
    responses(
        (status = 200, description = "A page of the trash.", body = TrashPageRecord),
        (status = 304, description = "The page has not changed."),
    )
)]
pub(crate) async fn list_deleted_rows<C: Callers>(
    caller: C::ReaderBeyondAllowlist,
    CollectionPath(collection): CollectionPath,
    StrictQuery(params): StrictQuery<PageParams>,
) -> ApiResult<Response> {
    let AppRequest { app, caller, .. } = caller.into();
    let limit = PageLimit::parse(params.limit.as_deref())?;
    let page = app.deleted_rows(&caller, &collection, limit, params.cursor.as_deref()).await?;
    Ok(tagged(page))
}

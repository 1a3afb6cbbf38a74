//! `GET /v1/apps/:id/collections/:name`: a page of rows.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use rookery_actors::app::read::ListQuery;
use rookery_domain::{
    ErrorCode, Result,
    query::{PageLimit, RowQuery},
};

use super::{
    answer,
    app_request::AppRequest,
    callers::Callers,
    parameters::{CollectionPath, ListParams},
    schema::RowPageRecord,
};
use crate::{
    error::ApiResult,
    http::{conditional::IfNoneMatch, params::StrictQuery},
};

/// What the list itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::CollectionReadForbidden,
];

/// Lists rows
///
/// The oldest first unless `sort` says otherwise. The answer carries an `ETag`; with
/// `If-None-Match` an unchanged page is 304. `include_deleted` is the owner's (`forbidden`). A page ends
/// with the row that makes its data 1 MiB, whatever `limit` says: `next_cursor` tells whether there are more.
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/collections/{name}",
    tag = "Rows",
    params(
        ListParams,
    ),
    responses((status = 200, description = "A page of rows.", body = RowPageRecord),
        (status = 304, description = "The page has not changed."))
)]
pub(crate) async fn list_rows<C: Callers>(
    caller: C::Reader,
    CollectionPath(collection): CollectionPath,
    StrictQuery(params): StrictQuery<ListParams>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    let AppRequest { app, caller, .. } = caller.into();
    let query = query(params)?;
    if cached.names_tags() {
        // Whoever has the page already costs no look at a row.
        let etag = app.rows_etag(&caller, &collection, &query).await?;
        if cached.holds(&etag) {
            return Ok(cached.answer(&etag, || StatusCode::NOT_MODIFIED.into_response()));
        }
    }
    let page = app.rows(&caller, &collection, query).await?;
    Ok(cached.answer(&page.etag, || answer::page(page.body)))
}

fn query(params: ListParams) -> Result<ListQuery> {
    Ok(ListQuery {
        rows: RowQuery::parse(params.filter.as_deref(), params.sort.as_deref())?,
        limit: PageLimit::parse(params.limit.as_deref())?,
        cursor: params.cursor,
        include_deleted: params.include_deleted.unwrap_or_default(),
    })
}

//! `GET /v1/apps/:id/document`: the HTML as it was authored.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header};
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        conditional::IfNoneMatch,
    },
    pages::assets::strong_etag,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// On the site's origin an app's document is a text to be read, and must not become a page of
/// the site: nothing in it runs or loads.
const READ_ONLY: &str = "default-src 'none'; sandbox";

/// Shows the authored HTML of the current version, without what serving it adds.
#[utoipa::path(
    get, path = "/v1/apps/{id}/document", tag = "Apps",
    responses(
        (status = 200, description = "The document", body = String, content_type = "text/html"),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn document(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    let html = state.pages.authored(state.rooms.control(), &owner.app).await?;
    let etag = strong_etag(&html);
    Ok(cached.answer(&etag, || {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(READ_ONLY)),
        ];
        (headers, html.clone()).into_response()
    }))
}

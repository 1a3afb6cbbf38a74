//! `GET /v1/apps/:id/screenshot`: a picture of an app.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, HeaderValue, header};
use rookery_domain::ErrorCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppMember, Readable},
        conditional::IfNoneMatch,
        params::StrictQuery,
    },
    openapi::shapes::FileBytes,
    pages::assets::strong_etag,
    screenshot::Size,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Says where the picture comes from: `browser` or `drawn`.
const SOURCE: HeaderName = HeaderName::from_static("x-service-screenshot-source");

/// Which picture.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ScreenshotParams {
    /// `card` (640 by 400, the default) or `og` (1,200 by 630).
    #[serde(default)]
    #[param(inline)]
    size: Size,
}

/// A picture of the app's current version
///
/// Taken by a headless browser where the operator has set one up, and kept for the version, an hour at
/// most: the page as somebody who is not signed in would see it, without anything from other hosts.
/// Where there is none, or it fails, a picture with the app's slug is drawn instead;
/// `x-service-screenshot-source` says which it is (`browser`, `drawn`).
#[utoipa::path(
    get, path = "/v1/apps/{id}/screenshot", tag = "Apps", operation_id = "app_screenshot",
    params(ScreenshotParams),
    responses(
        (status = 200, description = "The picture", body = inline(FileBytes), content_type = "image/png",
            headers(("X-Service-Screenshot-Source" = String,
                description = "Where the picture comes from: `browser` or `drawn`."))),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn screenshot(
    member: AppMember<Readable>,
    State(state): State<AppState>,
    StrictQuery(params): StrictQuery<ScreenshotParams>,
    cached: IfNoneMatch,
) -> ApiResult<Response> {
    let picture = state.screenshots.of(&state, &member.app.record(), params.size).await?;
    let source = if picture.is_taken { "browser" } else { "drawn" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/png")),
        (SOURCE, HeaderValue::from_static(source)),
    ];
    let etag = strong_etag(&picture.png);
    Ok(cached.answer(&etag, || (headers, picture.png).into_response()))
}

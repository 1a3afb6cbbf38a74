//! `POST /v1/auth/logout`: ends the session and takes the cookie back.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{auth::permission::SigningOut, body::Nothing, cookie::session},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Signs out, of the site and of the apps that were entered through it.
///
/// Without a session, or with one that has ended, there is nothing to do and that is no error.
#[utoipa::path(
    post, path = "/v1/auth/logout", tag = "Sign-in",
    responses((status = 204, description = "Signed out",
        headers(("Set-Cookie" = String, description = "Clears the session")))),
)]
pub async fn logout(
    _: SigningOut,
    State(state): State<AppState>,
    headers: HeaderMap,
    _: Nothing,
) -> ApiResult<Response> {
    if let Some(secret) = session::read(&headers, &state) {
        state.rooms.directory.sign_out(secret).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    session::clear(response.headers_mut(), &state);
    Ok(response)
}

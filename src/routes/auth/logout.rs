//! `POST /v1/auth/logout`: ends the session and takes the cookie back.

use axum::{
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header};
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{
        auth::{permission::Public, refuse_bearer, session_cookie as cookie},
        body::Nothing,
        cookie, csrf,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::Unauthorized,
    ErrorCode::Forbidden,
    ErrorCode::CsrfOriginMismatch,
    ErrorCode::PayloadTooLarge,
];

/// Signs out, of the site and of the apps that were entered through it.
///
/// Without a session, or with one that has ended, there is nothing to do and that is no error.
#[utoipa::path(
    post, path = "/v1/auth/logout", tag = "Sign-in",
    responses((status = 204, description = "Signed out",
        headers(("Set-Cookie" = String, description = "Clears the session")))),
)]
pub async fn logout(
    _: Public,
    State(state): State<AppState>,
    request: Request,
) -> ApiResult<Response> {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    refuse_bearer(&headers, "signed-in humans", &state).await?;
    let https = state.is_https();
    let secret = cookie(&headers, https);
    // Browsers leave the cookie out of what another site posts, and would take it back all the
    // same.
    if secret.is_some() || headers.contains_key(header::ORIGIN) {
        csrf::check(&method, &headers, &state.public_url)?;
    }
    // Who asks comes before what it says.
    Nothing::from_request(request, &state).await?;
    if let Some(secret) = secret {
        state.rooms.directory.sign_out(secret).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    cookie::session::clear(response.headers_mut(), https);
    Ok(response)
}

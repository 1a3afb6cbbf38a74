//! `GET /v1/auth/status`: which ways of signing in there are.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{error::ApiResult, http::auth::permission::Public, state::AppState};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// The ways of signing in.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignInStatus {
    /// Whether a mailed link can arrive: a mail server is set, or the development mailbox is there.
    magic_link: bool,
    /// Whether an identity provider is set.
    idp: bool,
}

/// Tells which ways of signing in are available.
#[utoipa::path(
    get, path = "/v1/auth/status", tag = "Sign-in",
    responses((status = 200, description = "The ways of signing in", body = SignInStatus)),
)]
pub async fn status(_: Public, State(state): State<AppState>) -> ApiResult<Json<SignInStatus>> {
    Ok(Json(SignInStatus { magic_link: state.mailer.reaches_anybody(), idp: state.idp.is_some() }))
}

//! `/sign-out`: ends the session; `/signed-out` says that it has, and `/account-deleted` that the
//! account has ended too.

use askama::Template;
use axum::{
    extract::{FromRequestParts as _, Request, State},
    response::Response,
};
use http::{Method, StatusCode};
use serde::Deserialize;

use super::{api::Api, frame, see_other, show};
use crate::{
    error::ApiResult,
    http::{cookie, csrf, params::PageQuery},
    pages::shell::Shell,
    state::AppState,
};

#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage {
    shell: Shell,
    /// Whether every session of the account has ended.
    everywhere: bool,
}

/// What the page says has ended.
#[derive(Deserialize)]
pub struct What {
    #[serde(default)]
    everywhere: bool,
}

#[derive(Template)]
#[template(path = "account_deleted.html")]
struct AccountDeletedPage {
    shell: Shell,
}

/// Ends the session of this browser. Without one there is nothing to end.
///
/// # Errors
/// `csrf_origin_mismatch`, `unavailable`, `internal`.
pub async fn submit(State(state): State<AppState>, request: Request) -> ApiResult<Response> {
    let (mut parts, _) = request.into_parts();
    csrf::check(&parts.method, &parts.headers, &state.public_url)?;
    let api = Api::from_request_parts(&mut parts, &state).await?;
    api.act(Method::POST, "/v1/auth/logout").await?;
    let mut response = see_other("/signed-out")?;
    cookie::session::clear(response.headers_mut(), &state);
    Ok(response)
}

/// The page.
///
/// # Errors
/// `internal`.
pub async fn page(
    State(state): State<AppState>,
    PageQuery(What { everywhere }): PageQuery<What>,
) -> ApiResult<Response> {
    let page = SignedOutPage { shell: frame(&state, None)?, everywhere };
    Ok(show(&state, StatusCode::OK, &page)?)
}

/// The page after an account was deleted. It tells nobody whose, so whoever opens it may see it.
///
/// # Errors
/// `internal`.
pub async fn account_deleted(State(state): State<AppState>) -> ApiResult<Response> {
    Ok(show(&state, StatusCode::OK, &AccountDeletedPage { shell: frame(&state, None)? })?)
}

//! `GET /v1/auth/idp`: sends the browser to the identity provider.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use rookery_domain::{Error, ErrorCode, redirect::ReturnPath};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    error::ApiResult,
    http::{
        accept::{HTML, prefers},
        auth::permission::PublicLink,
        cookie,
        params::PageQuery,
        prefetch::{Speculative, untouched},
        reply::see_other,
    },
    idp::IdentityProvider,
    routes::site,
    state::{AppState, State as Shared},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotImplemented];

/// Where the sign-in leads.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Begin {
    /// The page of this site that the sign-in leads to, as a path; `/` when absent or empty.
    redirect_to: Option<String>,
}

/// The identity provider of the settings.
pub(super) fn provider(state: &Shared) -> rookery_domain::Result<&IdentityProvider> {
    let none = || Error::new(ErrorCode::NotImplemented, "no identity provider is configured");
    state.idp.as_ref().ok_or_else(none)
}

/// What somebody gets who could not be signed in: a browser the page, with the other way in; the next try
/// leads to `path`.
pub(super) fn failed(
    state: &Shared,
    headers: &HeaderMap,
    error: Error,
    path: &ReturnPath,
) -> ApiResult<Response> {
    match error.code {
        ErrorCode::Unauthorized | ErrorCode::Unavailable if prefers(headers, HTML) => {
            Ok(site::sign_in::refused(state, headers, error, path)?)
        }
        _ => Err(error.into()),
    }
}

/// Begins to sign in at the identity provider (OpenID Connect, with PKCE, state and nonce).
///
/// The sign-in must come back to the same browser within ten minutes. A browser may have five begun at
/// a time, one per tab; a sixth ends the oldest.
#[utoipa::path(
    get, path = "/v1/auth/idp", tag = "Sign-in", params(Begin),
    responses(
        (status = 204, description = "A prefetch: nothing was begun"),
        (status = 303, description = "To the provider; `Set-Cookie` ties the sign-in to this browser"),
    ),
)]
pub async fn begin_idp(
    _: PublicLink,
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    request: HeaderMap,
    PageQuery(query): PageQuery<Begin>,
) -> ApiResult<Response> {
    let provider = provider(&state)?;
    let path = ReturnPath::named(query.redirect_to.as_deref(), |path| {
        ReturnPath::of_site("redirect_to", path)
    })?;
    let path = path.unwrap_or_default();
    if looking {
        return Ok(untouched());
    }
    let (secret, flow) = state.rooms.directory.begin_idp(path).await?;
    let url = match provider.authorization_url(secret.expose(), &flow).await {
        Ok(url) => url,
        Err(error) => return failed(&state, &request, error, &flow.redirect_to),
    };
    let mut response = see_other(url.as_str())?;
    cookie::idp::begin(&request, response.headers_mut(), secret.expose(), &state);
    Ok(response)
}

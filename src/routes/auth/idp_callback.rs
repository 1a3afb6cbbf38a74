//! `GET /v1/auth/idp/callback`: the browser comes back from the identity provider.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use rookery_actors::directory::{IdpFlow, SignedIn};
use rookery_domain::{Error, ErrorCode, Result, redirect::ReturnPath};
use serde::Deserialize;
use utoipa::IntoParams;

use super::idp::{failed, provider};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::PublicLink,
        cookie,
        params::StrictQuery,
        prefetch::{Speculative, untouched},
        reply::see_other,
    },
    state::{AppState, State as Shared},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotImplemented, ErrorCode::Unauthorized];

/// What the provider sends along. It may add what we do not know (RFC 6749, section 4.1.2).
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Callback {
    /// What the sign-in began with.
    state: Option<String>,
    /// To be redeemed, when the human agreed.
    code: Option<String>,
    /// Why there is no code.
    error: Option<String>,
    /// Who answers (RFC 9207).
    iss: Option<String>,
}

/// Completes a sign-in at the identity provider.
///
/// The state is spent by the first GET of the browser that began; HEAD and a prefetch spend
/// nothing. An identity is bound to its account by issuer and subject. A new one joins the account
/// of its address only when the provider has verified that address; otherwise it gets an account
/// of its own, and what needs a verified address answers `email_not_verified`.
#[utoipa::path(
    get, path = "/v1/auth/idp/callback", tag = "Sign-in", params(Callback),
    responses(
        (status = 204, description = "A prefetch: nothing was spent"),
        (status = 303, description = "Signed in",
            headers(("Set-Cookie" = String, description = "The session"))),
    ),
)]
pub async fn finish_idp(
    _: PublicLink,
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    headers: HeaderMap,
    StrictQuery(query): StrictQuery<Callback>,
) -> ApiResult<Response> {
    provider(&state)?;
    if looking {
        return Ok(untouched());
    }
    let came = query.state.clone().unwrap_or_default();
    let (mut response, signed_in) = match finish(&state, &headers, query).await {
        Ok(signed_in) => (see_other(signed_in.redirect_to.as_str())?, Some(signed_in)),
        Err(Failed { error, redirect_to }) => {
            (failed(&state, &headers, error, &redirect_to)?, None)
        }
    };
    cookie::idp::end(&headers, response.headers_mut(), &came, &state);
    if let Some(signed_in) = signed_in {
        cookie::session::begin(&headers, response.headers_mut(), &signed_in, &state).await;
    }
    Ok(response)
}

/// Why nobody was signed in, and where the sign-in was to lead, as far as that is known.
struct Failed {
    error: Error,
    redirect_to: ReturnPath,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, redirect_to: ReturnPath::default() }
    }
}

async fn finish(state: &Shared, headers: &HeaderMap, query: Callback) -> Result<SignedIn, Failed> {
    let began_here = |came: &&String| cookie::idp::began_here(headers, came, state);
    let came = query.state.as_ref().filter(began_here);
    let came = came.ok_or_else(|| refused(
        "this sign-in did not begin in this browser, or the browser keeps no cookies of this site",
    ))?;
    let flow = state.rooms.directory.spend_idp(came).await?;
    let redirect_to = flow.redirect_to.clone();
    complete(state, query, flow).await.map_err(|error| Failed { error, redirect_to })
}

fn refused(why: &str) -> Error {
    Error::new(ErrorCode::Unauthorized, why)
}

async fn complete(state: &Shared, query: Callback, flow: IdpFlow) -> Result<SignedIn> {
    let provider = provider(state)?;
    provider.check_answering(query.iss.as_deref()).await?;
    let code = query.code.filter(|_| query.error.is_none());
    let code = code.ok_or_else(|| refused("the sign-in was not completed there"))?;
    let identity = provider.identity(&code, &flow).await?;
    state.rooms.directory.sign_in_identity(identity, flow.redirect_to).await
}

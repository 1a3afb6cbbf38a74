//! `GET /v1/auth/verify`: spends a mailed link, sets the session cookie, and leads on.

use axum::{extract::State, response::Response};
use http::HeaderMap;
use rookery_domain::{Error, ErrorCode};
use serde::{Deserialize, de::IgnoredAny};
use utoipa::IntoParams;

use crate::{
    error::ApiResult,
    http::{
        accept::{HTML, prefers},
        auth::permission::PublicLink,
        cookie, csrf,
        params::PageQuery,
        prefetch::{Speculative, untouched},
        reply::see_other,
    },
    routes::site,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Unauthorized];

/// What the confirm page hands on.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Verify {
    /// The token of the mailed link.
    token: String,
    /// Where the link leads was settled when it was asked for: nobody slips another page in at its end.
    #[param(ignore)]
    redirect_to: Option<IgnoredAny>,
}

/// Signs in by a mailed link.
///
/// The link is spent by the first GET; the browser that sent it may send it again within a minute,
/// as a double click does, and gets another session in place of the first. HEAD and a browser's
/// prefetch spend nothing, nor does a browser that another origin led here (`Sec-Fetch-Site`):
/// nobody is to be signed in to an account that somebody else chose, so it is asked first. A
/// browser that keeps no cookies of the site is told so, and spends nothing either.
#[utoipa::path(
    get, path = "/v1/auth/verify", tag = "Sign-in", params(Verify),
    responses(
        (status = 204, description = "A prefetch: nothing was spent"),
        (status = 303, description = "Signed in. Led here by another origin: to `/sign-in/confirm`, \
                                      not signed in",
            headers(("Set-Cookie" = String, description = "The session, of who is signed in"))),
    ),
)]
pub async fn verify(
    _: PublicLink,
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    headers: HeaderMap,
    PageQuery(query): PageQuery<Verify>,
) -> ApiResult<Response> {
    if query.redirect_to.is_some() {
        return Err(
            Error::invalid("query parameter redirect_to: the link says where it leads").into()
        );
    }
    if looking {
        return Ok(untouched());
    }
    if csrf::is_led_from_elsewhere(&headers) {
        return Ok(site::confirm::ask(&query.token)?);
    }
    let directory = &state.rooms.directory;
    if prefers(&headers, HTML) && cookie::session::is_not_kept(&headers) {
        let link = directory.mailed_link(&query.token).await?;
        return Ok(site::sign_in::cookies_refused(&state, &headers, link)?);
    }
    let signed_in =
        match directory.verify_link(&query.token, cookie::session::probed(&headers)).await {
            Ok(signed_in) => signed_in,
            Err(error) if error.code == ErrorCode::Unauthorized && prefers(&headers, HTML) => {
                let link = directory.mailed_link(&query.token).await?;
                return Ok(site::sign_in::link_refused(&state, &headers, link)?);
            }
            Err(error) => return Err(error.into()),
        };
    let mut response = see_other(signed_in.redirect_to.as_str())?;
    cookie::session::begin(&headers, response.headers_mut(), &signed_in, &state).await;
    Ok(response)
}

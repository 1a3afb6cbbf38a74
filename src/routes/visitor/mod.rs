//! How visitors come into an app, and out: the site's `/authorize`, and on the app's own origin
//! `/s/callback`, `/s/share/{token}`, `/s/grant/{token}`, `/s/preview/{token}` and `/s/session`.
//!
//! Then what it asks there and nobody asks at `/v1`: what it may do ([`access`]), and a challenge of
//! its own ([`challenge`]). Rows, feed and events it asks for by the handlers of `/v1`, in
//! [`collections`](super::collections) and [`feed`](super::feed). What is not here: what a visitor may do
//! inside, which the app decides.

pub mod access;
pub mod authorize;
pub mod callback;
pub mod challenge;
pub mod grant;
pub mod preview;
pub mod session;
pub mod share;
pub mod sign_in;

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use rookery_actors::directory::{Arrival, Visit};
use rookery_domain::{ErrorCode, Result, access::Tier};

use crate::{
    error::{ApiError, ApiResult},
    http::{accept, auth::visitor::Arriving, cookie, csrf, reply},
    pages::status::Insider,
    routes::page::PageRequest,
    state::AppState,
};

/// Sends the browser on, and keeps the answer and the address it came by to itself: both may hold
/// a secret.
fn see_other(location: &str) -> Result<Response> {
    let mut response = reply::see_other(location)?;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, reply::NO_STORE);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// Who the visitor of a browser is in the app by more than its visibility gives. It is asked before a
/// link makes a guest of it: the browser has one cookie, so all its tabs would be that guest. A
/// program that follows a link means it.
async fn insider(arriving: &Arriving, headers: &HeaderMap) -> Result<Option<Insider>> {
    let Some(visitor) = arriving.participant() else { return Ok(None) };
    if !arriving.by_cookie || !accept::is_browser(headers) {
        return Ok(None);
    }
    match arriving.app.standing(&arriving.caller_of(visitor)).await {
        Ok(standing) => Ok(match (standing.tier, standing.role) {
            (Tier::Owner, _) => Some(Insider::Owner),
            (Tier::Member, _) => Some(Insider::Member),
            (Tier::Visitor, role) => role.map(|_| Insider::Holder),
        }),
        Err(error) if error.code.status() == 401 => Ok(None),
        Err(error) => Err(error),
    }
}

/// What a form that uses a link asks: that the app's state lets visitors in, and that a page of this very
/// origin sent it. Without a cookie too: another site must not choose who its visitor is here.
fn asked_here(arriving: &Arriving, state: &AppState, headers: &HeaderMap) -> Result<()> {
    csrf::require_from(headers, &arriving.origin(state))?;
    arriving.check_live()
}

/// What a link that does not let in is answered.
fn refused(request: &PageRequest, state: &AppState, error: ApiError) -> ApiResult<Response> {
    match error.error.code {
        ErrorCode::GrantInvalid => Ok(request.refuse(state, error.error.into())),
        _ => Err(error),
    }
}

/// Lets a visitor in and sends it on, with the cookie of its token.
async fn come_in(
    arriving: &Arriving,
    state: &AppState,
    arrival: Arrival,
    location: &str,
) -> ApiResult<Response> {
    let directory = &state.rooms.directory;
    let visit = directory.create_participant(arriving.app.id(), arrival).await?;
    came_in(arriving, state, &visit, location).await
}

/// Sends a visitor on that was let in, with the cookie of its token.
async fn came_in(
    arriving: &Arriving,
    state: &AppState,
    visit: &Visit,
    location: &str,
) -> ApiResult<Response> {
    if arriving.by_cookie {
        replaced(arriving, state).await;
    }
    Ok(welcome(arriving, state, visit, location)?)
}

/// Ends the visit that a human had here before: its token is overwritten in the only place that had
/// it. Whoever has come in is in, also where this fails.
async fn replaced(arriving: &Arriving, state: &AppState) {
    let before = arriving.participant().filter(|one| one.came_by.human().is_some());
    if let Some(before) = before
        && let Err(error) = state.rooms.directory.revoke_participant(before).await
    {
        tracing::warn!(%error, "the visit that another one replaces was not ended");
    }
}

/// Sends a visitor on, with the cookie of its token.
fn welcome(
    arriving: &Arriving,
    state: &AppState,
    visit: &Visit,
    location: &str,
) -> Result<Response> {
    let mut response = see_other(location)?;
    let slug = &arriving.app.record().slug;
    cookie::participant::set(response.headers_mut(), visit, slug, state);
    Ok(response)
}

//! The participant cookie as it is read, set and cleared: bound to the app's origin, in path mode
//! to its path.

use http::HeaderMap;
use rookery_actors::directory::{Participant, Visit, may_last_until};

use crate::{
    http::cookie::{self, Cookie},
    state::AppState,
};

/// The cookie of a participant token over https: bound to the host by its prefix, so that one app
/// cannot plant it on another's origin.
pub const PARTICIPANT_COOKIE: &str = "__Host-service_participant";
/// The cookie of a participant token in path mode over https. It is bound to the app's path, which
/// the other prefix does not allow.
const PARTICIPANT_COOKIE_OF_PATH: &str = "__Secure-service_participant";
/// The cookie of a participant token over plain http on localhost, where no prefix is allowed.
pub const PARTICIPANT_COOKIE_PLAIN: &str = "service_participant";

/// The token that a request brings in it.
#[must_use]
pub fn read<'a>(headers: &'a HeaderMap, state: &AppState) -> Option<&'a str> {
    cookie::read(headers, name(state))
}

/// Gives the browser the token of a visit to the app `slug` for as long as it may be good.
pub fn set(headers: &mut HeaderMap, visit: &Visit, slug: &str, state: &AppState) {
    put(headers, visit.token.expose(), &visit.participant, slug, state);
}

/// Gives the browser of a signed-in visitor the token that it came with again, so that it keeps it as long
/// as it is good.
pub fn renew(
    headers: &mut HeaderMap,
    token: &str,
    visitor: &Participant,
    slug: &str,
    state: &AppState,
) {
    if visitor.came_by.human().is_some() {
        put(headers, token, visitor, slug, state);
    }
}

fn put(headers: &mut HeaderMap, token: &str, visitor: &Participant, slug: &str, state: &AppState) {
    let max_age_s = may_last_until(visitor).seconds_since(state.clock.now());
    let path = state.origins.app_base_path(slug);
    cookie(state, &path).set(headers, token, max_age_s);
}

/// Takes it back.
pub fn clear(headers: &mut HeaderMap, slug: &str, state: &AppState) {
    cookie(state, &state.origins.app_base_path(slug)).clear(headers);
}

fn name(state: &AppState) -> &'static str {
    of_app(state, [PARTICIPANT_COOKIE, PARTICIPANT_COOKIE_OF_PATH, PARTICIPANT_COOKIE_PLAIN])
}

/// Which of an app's cookies is the one in use: over https, over https at a path, over plain http.
pub(super) fn of_app(state: &AppState, [host, path, plain]: [&'static str; 3]) -> &'static str {
    match (state.is_https(), state.origins.is_path_mode()) {
        (true, false) => host,
        (true, true) => path,
        (false, _) => plain,
    }
}

fn cookie<'a>(state: &AppState, path: &'a str) -> Cookie<'a> {
    Cookie { name: name(state), path, https: state.is_https() }
}

//! The participant cookie as it is read, set and cleared: bound to the app's origin, in path mode
//! to its path; out of reach of scripts, sent along from other sites only when somebody follows a
//! link here.

use http::{HeaderMap, HeaderValue, header};
use rookery_actors::directory::Visit;

use super::auth::{
    cookie,
    visitor::{PARTICIPANT_COOKIE, PARTICIPANT_COOKIE_OF_PATH, PARTICIPANT_COOKIE_PLAIN},
};
use crate::state::AppState;

/// The token that a request brings in it.
#[must_use]
pub fn read<'a>(headers: &'a HeaderMap, state: &AppState) -> Option<&'a str> {
    cookie(headers, name(state))
}

/// Gives the browser the token of a visit to the app `slug` for as long as it is good.
pub fn set(headers: &mut HeaderMap, visit: &Visit, slug: &str, state: &AppState) {
    let max_age_s = visit.participant.expires_at.seconds_since(state.clock.now());
    write(headers, visit.token.expose(), max_age_s, slug, state);
}

/// Takes it back.
pub fn clear(headers: &mut HeaderMap, slug: &str, state: &AppState) {
    write(headers, "", 0, slug, state);
}

fn name(state: &AppState) -> &'static str {
    match (state.is_https(), state.origins.is_path_mode()) {
        (true, false) => PARTICIPANT_COOKIE,
        (true, true) => PARTICIPANT_COOKIE_OF_PATH,
        (false, _) => PARTICIPANT_COOKIE_PLAIN,
    }
}

fn write(headers: &mut HeaderMap, value: &str, max_age_s: i64, slug: &str, state: &AppState) {
    let secure = if state.is_https() { "; Secure" } else { "" };
    let cookie = format!(
        "{name}={value}; Path={path}; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}",
        name = name(state),
        path = state.origins.app_base_path(slug),
    );
    // The name, a slug and a token's alphabet are ASCII.
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        headers.append(header::SET_COOKIE, cookie);
    }
}

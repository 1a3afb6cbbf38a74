//! The cookies that tie sign-ins at an identity provider to the browser that began them: without
//! them anybody could have somebody else's browser finish a sign-in of his own. Each sign-in has a
//! cookie of its own, so that one tab does not take another's; a browser holds a few at a time.

use http::HeaderMap;
use rookery_actors::Directory;
use subtle::ConstantTimeEq as _;

use crate::{
    http::cookie::{self, Cookie},
    state::State,
};

/// Sign-ins that one browser may have begun at a time; beyond that the oldest is forgotten.
const BEGUN_MAX: usize = 5;
/// Seconds that a browser keeps the cookie of a sign-in longer than that is good: whoever comes back too
/// late is told so, and led on.
const KEPT_AFTER_S: i64 = 3_600;
/// Characters of a state that tell its cookie from those of others.
const MARK_CHARS: usize = 8;

fn prefix(state: &State) -> &'static str {
    if state.is_https() { "__Host-service_idp_" } else { "service_idp_" }
}

fn cookie<'a>(name: &'a str, state: &State) -> Cookie<'a> {
    Cookie { name, path: "/", https: state.is_https() }
}

/// The sign-ins that the browser has begun: name and state of each cookie, the oldest first, which is
/// the order in which browsers send them (RFC 6265, section 5.4).
fn held<'a>(headers: &'a HeaderMap, state: &State) -> impl Iterator<Item = (&'a str, &'a str)> {
    let prefix = prefix(state);
    cookie::all(headers).filter(move |(name, _)| name.starts_with(prefix))
}

/// The name of the cookie that holds `begun`, the state of a sign-in, where the browser has it.
fn holding<'a>(headers: &'a HeaderMap, begun: &str, state: &State) -> Option<&'a str> {
    let is_it = |held: &str| bool::from(held.as_bytes().ct_eq(begun.as_bytes()));
    held(headers, state).find(|(_, held)| is_it(held)).map(|(name, _)| name)
}

/// Whether the browser has begun the sign-in of which `begun` is the state.
#[must_use]
pub fn began_here(request: &HeaderMap, begun: &str, state: &State) -> bool {
    holding(request, begun, state).is_some()
}

/// Gives the browser `begun`, the state of a sign-in that it begins.
pub fn begin(request: &HeaderMap, response: &mut HeaderMap, begun: &str, state: &State) {
    let beyond = (held(request, state).count() + 1).saturating_sub(BEGUN_MAX);
    for (name, _) in held(request, state).take(beyond) {
        cookie(name, state).clear(response);
    }
    let mark: String = begun.chars().rev().take(MARK_CHARS).collect();
    let name = format!("{}{mark}", prefix(state));
    cookie(&name, state).set(response, begun, Directory::IDP_FLOW_TTL_S + KEPT_AFTER_S);
}

/// Takes `begun`, the state of a sign-in, back.
pub fn end(request: &HeaderMap, response: &mut HeaderMap, begun: &str, state: &State) {
    if let Some(name) = holding(request, begun, state) {
        cookie(name, state).clear(response);
    }
}

//! The cookies that tie sign-ins at an identity provider to the browser that began them: without
//! them anybody could have somebody else's browser finish a sign-in of his own. Each sign-in has a
//! cookie of its own, so that one tab does not take another's; a browser holds a few at a time.

use http::HeaderMap;
use rookery_actors::Directory;
use subtle::ConstantTimeEq as _;

use crate::http::cookie::{self, Cookie};

/// Sign-ins that one browser may have begun at a time; beyond that the oldest is forgotten.
const BEGUN_MAX: usize = 5;
/// Characters of a state that tell its cookie from those of others.
const MARK_CHARS: usize = 8;

fn prefix(https: bool) -> &'static str {
    if https { "__Host-service_idp_" } else { "service_idp_" }
}

fn cookie(name: &str, https: bool) -> Cookie<'_> {
    Cookie { name, path: "/", https }
}

/// The sign-ins that the browser has begun: name and state of each cookie, the oldest first, which is
/// the order in which browsers send them (RFC 6265, section 5.4).
fn held(headers: &HeaderMap, https: bool) -> impl Iterator<Item = (&str, &str)> {
    cookie::all(headers).filter(move |(name, _)| name.starts_with(prefix(https)))
}

/// The cookie of this state, where the browser holds it.
fn of_state<'a>(headers: &'a HeaderMap, state: &str, https: bool) -> Option<&'a str> {
    let is_it = |held: &str| bool::from(held.as_bytes().ct_eq(state.as_bytes()));
    held(headers, https).find(|(_, held)| is_it(held)).map(|(name, _)| name)
}

/// Whether the browser has begun the sign-in of this state.
#[must_use]
pub fn began_here(request: &HeaderMap, state: &str, https: bool) -> bool {
    of_state(request, state, https).is_some()
}

/// Gives the browser the state of a sign-in that it begins.
pub fn begin(request: &HeaderMap, response: &mut HeaderMap, state: &str, https: bool) {
    let begun = held(request, https).count();
    let beyond = (begun + 1).saturating_sub(BEGUN_MAX);
    for (name, _) in held(request, https).take(beyond) {
        cookie(name, https).clear(response);
    }
    let mark: String = state.chars().rev().take(MARK_CHARS).collect();
    let name = format!("{}{mark}", prefix(https));
    cookie(&name, https).set(response, state, Directory::IDP_FLOW_TTL_S);
}

/// Takes the state of a sign-in back.
pub fn end(request: &HeaderMap, response: &mut HeaderMap, state: &str, https: bool) {
    if let Some(name) = of_state(request, state, https) {
        cookie(name, https).clear(response);
    }
}

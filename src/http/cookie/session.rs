//! The session cookie as it is read, set and cleared: bound to the site's origin.

use http::{HeaderMap, header};
use rookery_actors::{Directory, directory::SignedIn};
use rookery_domain::secret::{Secret, SecretKind};

use crate::{
    http::{
        cookie::{self, Cookie},
        csrf,
        reply::NO_STORE,
    },
    state::State,
};

/// The session cookie over https: bound to the host by its prefix.
pub const SESSION_COOKIE: &str = "__Host-service_session";
/// The session cookie over plain http on localhost, where the prefix is not allowed.
pub const SESSION_COOKIE_PLAIN: &str = "service_session";

/// The session that a request brings in it, valid or not.
#[must_use]
pub fn read<'a>(headers: &'a HeaderMap, state: &State) -> Option<&'a str> {
    cookie::read(headers, name(state))
}

/// Gives the browser the cookie of who has just signed in; the session of the cookie that this overwrites
/// ends.
pub async fn begin(
    request: &HeaderMap,
    response: &mut HeaderMap,
    signed_in: &SignedIn,
    state: &State,
) {
    if let Some(before) = read(request, state) {
        state.rooms.directory.replace_session(before, signed_in.human.id).await;
    }
    set(response, signed_in.secret.expose(), state);
}

/// Gives the browser the cookie for as long as an unused session lasts.
fn set(headers: &mut HeaderMap, secret: &str, state: &State) {
    cookie(state).set(headers, secret, Directory::SESSION_TTL_S);
}

/// Takes it back.
pub fn clear(headers: &mut HeaderMap, state: &State) {
    cookie(state).clear(headers);
}

/// Gives the cookie of a request again where it is time to: sessions slide, so cookies must too.
/// Not with an answer that a shared cache may keep, the cookie included.
pub fn renew(request: &HeaderMap, response: &mut HeaderMap, state: &State) {
    if let Some(secret) = read(request, state)
        && !response.contains_key(header::SET_COOKIE)
        && !is_shared(response)
        && state.rooms.directory.renews_cookie(secret)
    {
        set(response, secret, state);
        response.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    }
}

/// Whether a cache that serves many may keep the answer (RFC 9111, section 5.2.2.9).
fn is_shared(response: &HeaderMap) -> bool {
    let told = response.get_all(header::CACHE_CONTROL).iter();
    told.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|directive| directive.trim().eq_ignore_ascii_case("public"))
}

/// The name of the cookie that the page before a sign-in by a mailed link gives: it shows that a browser
/// keeps any, and tells that browser again.
const PROBE: &str = "service_probe";
/// Seconds that a browser holds it; it is given anew with each page.
const PROBE_TTL_S: i64 = 86_400;

/// Gives the browser a cookie that it is to bring along when it signs in.
pub fn probe(headers: &mut HeaderMap, https: bool) {
    let secret = Secret::generate(SecretKind::SignIn, &mut rand::rng());
    let cookie = Cookie { name: PROBE, path: "/v1/auth/verify", https };
    cookie.set(headers, secret.expose(), PROBE_TTL_S);
}

/// The cookie as the browser brings it along.
#[must_use]
pub fn probed(request: &HeaderMap) -> Option<&str> {
    cookie::read(request, PROBE)
}

/// Whether the browser brings no cookie at all, though it comes from a page that gave it one.
#[must_use]
pub fn is_not_kept(request: &HeaderMap) -> bool {
    csrf::is_led_from_here(request) && !request.contains_key(header::COOKIE)
}

fn name(state: &State) -> &'static str {
    if state.is_https() { SESSION_COOKIE } else { SESSION_COOKIE_PLAIN }
}

fn cookie(state: &State) -> Cookie<'static> {
    Cookie { name: name(state), path: "/", https: state.is_https() }
}

//! The cookie that ties a sign-in to an app to the browser that began it there: without it anybody could
//! lead a browser to the end of a sign-in of his own. It holds a state that goes to the site and back in
//! the address; at its end both must be the same. Sign-ins that run beside each other share it.

use http::HeaderMap;
use rookery_domain::secret::{Secret, SecretKind};

use crate::{
    http::cookie::{self, Cookie, participant::of_app},
    state::AppState,
};

/// The cookie over https, over https at a path, and over plain http: as those of a participant.
const NAMES: [&str; 3] = ["__Host-service_sign_in", "__Secure-service_sign_in", "service_sign_in"];
/// Seconds from the start of a sign-in that the browser holds its state.
const STATE_TTL_S: i64 = 600;

/// Gives the browser that sends `request` a state for a sign-in to the app `slug`, in the headers of
/// `answer`.
pub fn begin(request: &HeaderMap, answer: &mut HeaderMap, slug: &str, state: &AppState) -> Secret {
    let path = state.origins.app_base_path(slug);
    let cookie = Cookie { name: of_app(state, NAMES), path: &path, https: state.is_https() };
    let held = cookie::read(request, cookie.name).and_then(parse);
    let nonce = held.unwrap_or_else(|| Secret::generate(SecretKind::SignIn, &mut rand::rng()));
    cookie.set(answer, nonce.expose(), STATE_TTL_S);
    nonce
}

/// Whether the browser that sends `request` began the sign-in that comes back with `given`.
#[must_use]
pub fn began_here(request: &HeaderMap, given: Option<&str>, state: &AppState) -> bool {
    let held = cookie::read(request, of_app(state, NAMES)).and_then(parse);
    // Hashes are compared, in constant time.
    held.zip(given.and_then(parse)).is_some_and(|(held, given)| held.hash() == given.hash())
}

/// A state, if it is one.
#[must_use]
pub fn parse(text: &str) -> Option<Secret> {
    Secret::parse(SecretKind::SignIn, text)
}

//! The participant cookie as it is set and cleared: bound to the app's origin, out of reach of
//! scripts, sent along from other sites only when somebody follows a link here.

use http::{HeaderMap, HeaderValue, header};
use rookery_actors::directory::Participant;
use rookery_domain::{Timestamp, secret::Secret};

use super::auth::visitor::{PARTICIPANT_COOKIE, PARTICIPANT_COOKIE_PLAIN};

/// What it is called.
#[must_use]
pub const fn name(https: bool) -> &'static str {
    if https { PARTICIPANT_COOKIE } else { PARTICIPANT_COOKIE_PLAIN }
}

/// Gives the browser the token for as long as it is good.
pub fn set(
    headers: &mut HeaderMap,
    visitor: &Participant,
    token: &Secret,
    now: Timestamp,
    https: bool,
) {
    write(headers, token.expose(), visitor.expires_at.seconds_since(now), https);
}

/// Takes it back.
pub fn clear(headers: &mut HeaderMap, https: bool) {
    write(headers, "", 0, https);
}

fn write(headers: &mut HeaderMap, value: &str, max_age_s: i64, https: bool) {
    let secure = if https { "; Secure" } else { "" };
    let cookie = format!(
        "{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}",
        name = name(https),
    );
    // The name and a token's alphabet are ASCII.
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        headers.append(header::SET_COOKIE, cookie);
    }
}

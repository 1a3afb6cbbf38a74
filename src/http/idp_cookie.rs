//! The cookie that ties a sign-in at an identity provider to the browser that began it: without
//! it anybody could have somebody else's browser finish a sign-in of his own.

use http::{HeaderMap, HeaderValue, header};
use rookery_actors::Directory;

use super::auth::cookie;

fn name(https: bool) -> &'static str {
    if https { "__Host-service_idp" } else { "service_idp" }
}

/// The state that the browser holds.
#[must_use]
pub fn get(headers: &HeaderMap, https: bool) -> Option<&str> {
    cookie(headers, name(https))
}

/// Gives the browser the state of its flow.
pub fn set(headers: &mut HeaderMap, state: &str, https: bool) {
    write(headers, state, Directory::IDP_FLOW_TTL_S, https);
}

/// Takes it back.
pub fn clear(headers: &mut HeaderMap, https: bool) {
    write(headers, "", 0, https);
}

fn write(headers: &mut HeaderMap, value: &str, max_age_s: i64, https: bool) {
    let secure = if https { "; Secure" } else { "" };
    let name = name(https);
    let cookie =
        format!("{name}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}");
    // The name and a secret's alphabet are ASCII.
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        headers.append(header::SET_COOKIE, cookie);
    }
}

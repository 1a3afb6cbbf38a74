//! The cookie that ties a sign-in at an identity provider to the browser that began it: without
//! it anybody could have somebody else's browser finish a sign-in of his own.

use http::HeaderMap;
use rookery_actors::Directory;

use super::cookie::{self, Cookie};

fn cookie(https: bool) -> Cookie<'static> {
    Cookie { name: if https { "__Host-service_idp" } else { "service_idp" }, path: "/", https }
}

/// The state that the browser holds.
#[must_use]
pub fn get(headers: &HeaderMap, https: bool) -> Option<&str> {
    cookie::read(headers, cookie(https).name)
}

/// Gives the browser the state of its flow.
pub fn set(headers: &mut HeaderMap, state: &str, https: bool) {
    cookie(https).set(headers, state, Directory::IDP_FLOW_TTL_S);
}

/// Takes it back.
pub fn clear(headers: &mut HeaderMap, https: bool) {
    cookie(https).clear(headers);
}

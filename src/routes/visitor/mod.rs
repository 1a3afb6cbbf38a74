//! How visitors come into an app, and out: the site's `/authorize`, and on the app's own origin
//! `/s/callback`, `/s/share/{token}` and `/s/session`.
//!
//! Then what it asks there, in the words of `/v1`: rows ([`rows`]), feed, events and challenges
//! ([`live`]). What is not here: what a visitor may do inside, which the app decides.

pub mod authorize;
pub mod callback;
pub mod live;
pub mod rows;
pub mod session;
pub mod share;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use rookery_domain::{Error, Result};

/// Sends the browser on, and keeps the answer and the address it came by to itself: both may hold
/// a secret.
fn see_other(location: &str) -> Result<Response> {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let location = HeaderValue::from_str(location).map_err(|_| Error::internal(false))?;
    headers.insert(header::LOCATION, location);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// The answer to HEAD and to a browser that fetches ahead: nothing was spent or made.
fn untouched() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

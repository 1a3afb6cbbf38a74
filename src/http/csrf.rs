//! Requests that a browser sends with a session cookie must come from the site itself when they
//! change state. Apps live on sibling origins and are hostile to it, so "same site" is not enough.

use http::{HeaderMap, Method, header};
use rookery_domain::{Error, ErrorCode};
use url::{Origin, Url};

/// Refuses a state-changing request whose `Origin` (or, without one, `Referer`) is not the site.
///
/// # Errors
/// `csrf_origin_mismatch`.
pub fn check(method: &Method, headers: &HeaderMap, public_url: &str) -> Result<(), Error> {
    if method.is_safe() || from_site(headers, public_url) {
        return Ok(());
    }
    let message = format!("a request with a cookie must come from {public_url}");
    Err(Error::new(ErrorCode::CsrfOriginMismatch, message))
}

fn from_site(headers: &HeaderMap, public_url: &str) -> bool {
    let name = if headers.contains_key(header::ORIGIN) { header::ORIGIN } else { header::REFERER };
    let mut sent = headers.get_all(name).iter();
    // Of two, nobody knows which one the browser wrote.
    let (Some(sender), None) = (sent.next(), sent.next()) else { return false };
    let sender = sender.to_str().ok().and_then(tuple_origin);
    sender.is_some() && sender == tuple_origin(public_url)
}

/// Scheme, host and port; `None` for `null` and for addresses that have no such origin, so that
/// two of them never count as equal.
fn tuple_origin(text: &str) -> Option<Origin> {
    Url::parse(text).ok().map(|url| url.origin()).filter(Origin::is_tuple)
}

//! Requests that a browser sends with a session cookie must come from the site itself when they
//! change state. Apps live on sibling origins and are hostile to it, so "same site" is not enough.

use http::{HeaderMap, HeaderName, Method, header};
use rookery_domain::{Error, ErrorCode};
use url::{Origin, Url};

use crate::http::single_header::SingleHeader;

/// From where a browser was led to a request.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a state-changing request whose `Origin` (or, without one, `Referer`) is not the site.
///
/// # Errors
/// `csrf_origin_mismatch`.
pub fn check(method: &Method, headers: &HeaderMap, public_url: &str) -> Result<(), Error> {
    if method.is_safe() { Ok(()) } else { require_from(headers, public_url) }
}

/// Refuses a request, whatever its method, whose `Origin` (or, without one, `Referer`) is not this one.
///
/// # Errors
/// `csrf_origin_mismatch`.
pub fn require_from(headers: &HeaderMap, origin: &str) -> Result<(), Error> {
    if is_from(headers, origin) {
        return Ok(());
    }
    let message = format!("what a browser sends to change something must come from {origin}");
    Err(Error::new(ErrorCode::CsrfOriginMismatch, message))
}

/// Whether a browser says that no page of this very origin led it here, but an app's page, a mail or
/// another program: what was typed looks as what somebody sent. A program, and a browser that says
/// nothing, are taken for somebody who followed the site's own link.
#[must_use]
pub fn is_led_from_elsewhere(headers: &HeaderMap) -> bool {
    !headers.get_all(SEC_FETCH_SITE).iter().all(|value| value == "same-origin")
}

/// Whether a browser says that a page of this very origin led it here.
#[must_use]
pub fn is_led_from_here(headers: &HeaderMap) -> bool {
    headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "same-origin")
}

/// Whether a request says that it comes from a page, or brings what only a browser keeps.
#[must_use]
pub fn is_of_browser(headers: &HeaderMap) -> bool {
    [header::ORIGIN, header::COOKIE, SEC_FETCH_SITE].iter().any(|name| headers.contains_key(name))
}

/// Whether the `Origin` of a request (or, without one, its `Referer`) is this one.
#[must_use]
pub fn is_from(headers: &HeaderMap, expected: &str) -> bool {
    let name = if headers.contains_key(header::ORIGIN) { header::ORIGIN } else { header::REFERER };
    let Some(sender) = SingleHeader::of(headers, &name).text() else { return false };
    let origin = tuple_origin(sender);
    // A browser writes an origin bare (RFC 6454, section 6.2); only a `Referer` is a whole address.
    let is_bare =
        |origin: &Origin| name == header::REFERER || origin.ascii_serialization() == sender;
    origin.as_ref().is_some_and(is_bare) && origin == tuple_origin(expected)
}

/// Scheme, host and port; `None` for `null` and for addresses that have no such origin, so that
/// two of them never count as equal.
fn tuple_origin(text: &str) -> Option<Origin> {
    Url::parse(text).ok().map(|url| url.origin()).filter(Origin::is_tuple)
}

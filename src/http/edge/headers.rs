//! The headers that every answer gets: request id, caching, and the browser's safety rails. A
//! handler's own value stays.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::http::reply::NO_STORE;

/// Policy of the site's own pages: nothing but same-origin styles and images, no script at all.
const PAGE_CSP: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Two years, as browsers' preload lists ask.
const HSTS: &str = "max-age=63072000";

/// How somebody says who they are.
const BEARER: &str = "Bearer realm=\"rookery\"";

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");
const TIMING_ALLOW_ORIGIN: HeaderName = HeaderName::from_static("timing-allow-origin");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");

/// Headers that a sandboxed page may read of its own app's answers.
const READABLE: &str = "etag, idempotent-replayed, location, ratelimit, ratelimit-policy, \
                        retry-after, row-existed, x-request-id";

/// Marks an answer that depends on who asks: no page of another origin is to read or embed it.
#[derive(Debug, Clone, Copy)]
pub struct Withheld;

/// Lets strangers read an app's answer, as far as nothing depends on a cookie: in path mode an app's page
/// is a stranger to its own address.
pub fn open_to_strangers(response: &mut Response) {
    let is_withheld = response.extensions().get::<Withheld>().is_some();
    let headers = response.headers_mut();
    if is_withheld {
        headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN);
        headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    } else {
        let anybody = HeaderValue::from_static("*");
        headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
        let readable = HeaderValue::from_static(READABLE);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, readable);
        // By the protocol that its calls came by the SDK knows how few connections the browser has.
        headers.insert(TIMING_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
}

/// Puts `base` before the path of `Location`, which handlers give as `/s/...`: where an app lives at a path
/// of the site, what it made is below that.
pub fn lead_below(base: &str, response: &mut Response) {
    let headers = response.headers_mut();
    let made = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let made = made.and_then(|path| path.strip_prefix('/')).filter(|path| path.starts_with("s/"));
    let location = made.and_then(|path| HeaderValue::try_from(format!("{base}{path}")).ok());
    if let Some(location) = location {
        headers.insert(header::LOCATION, location);
    }
}

/// Writes what every answer has: no page of another origin embeds it, unless it says so.
pub fn write(response: &mut Response, request_id: HeaderValue) {
    let is_unauthorized = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(crate::http::edge::request_id::HEADER, request_id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Of the API's answers, too: a picture that loads or does not tells an app's page who looks at it.
    headers.entry(CROSS_ORIGIN_RESOURCE_POLICY).or_insert(SAME_ORIGIN);
    if is_unauthorized {
        // Envelope or page (RFC 9110, 15.5.2).
        headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static(BEARER));
    }
}

/// Has an answer of the API never stored, unless it says so.
pub fn keep_unstored(headers: &mut HeaderMap) {
    headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
}

/// Puts the rails of a page around an answer, where it has none of its own.
pub fn fence_page(headers: &mut HeaderMap) {
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(PAGE_CSP));
    headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
}

/// Has browsers ask over https alone from now on.
pub fn require_https(headers: &mut HeaderMap) {
    headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
}

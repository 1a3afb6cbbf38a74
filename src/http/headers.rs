//! The headers that every answer gets: request id, caching, and the browser's safety rails.
//! A handler's own value stays.

use axum::response::Response;
use http::{HeaderName, HeaderValue, header};

/// Policy of the site's own pages: nothing but same-origin styles and images, no script at all.
pub const PAGE_CSP: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Two years, as browsers' preload lists ask.
const HSTS: &str = "max-age=63072000";

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// Writes what every answer of the site has.
pub fn write(response: &mut Response, request_id: HeaderValue, api: bool, https: bool) {
    let headers = response.headers_mut();
    headers.insert(super::request_id::HEADER, request_id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if api {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    } else {
        headers
            .entry(header::CONTENT_SECURITY_POLICY)
            .or_insert(HeaderValue::from_static(PAGE_CSP));
        headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
        headers
            .entry(CROSS_ORIGIN_RESOURCE_POLICY)
            .or_insert(HeaderValue::from_static("same-origin"));
    }
    if https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
}

//! Requests that only look at an address which spends or begins something when somebody follows it:
//! HEAD, and what a browser or a mail scanner fetches ahead. They get 204 and change nothing.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

/// Headers in which browsers say that nobody has asked for what they fetch.
const PURPOSES: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

/// Whether the request only looks.
#[derive(Debug, Clone, Copy)]
pub struct Looking(pub bool);

impl<S: Sync> FromRequestParts<S> for Looking {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.method != Method::GET || is_ahead(&parts.headers)))
    }
}

fn is_ahead(headers: &HeaderMap) -> bool {
    let is_ahead = |value: &HeaderValue| {
        value.to_str().is_ok_and(|text| {
            let text = text.to_ascii_lowercase();
            text.contains("prefetch") || text.contains("prerender") || text.contains("preview")
        })
    };
    PURPOSES.iter().any(|name| headers.get(*name).is_some_and(is_ahead))
}

/// What a request that only looks is answered: nothing was spent or made.
#[must_use]
pub fn untouched() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

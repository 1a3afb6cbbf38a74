//! Requests that only look at an address which spends or begins something when somebody follows it:
//! HEAD, what a browser or a mail scanner fetches ahead, and what a page loads as a picture, a script
//! or the like. They get 204 and change nothing.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

use crate::http::reply::NO_STORE;

/// Headers in which browsers say that nobody has asked for what they fetch.
const PURPOSES: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
/// The header by which a browser says what something is loaded as (Fetch Metadata).
const DESTINATION: &str = "sec-fetch-dest";
/// What somebody may see of what a link leads to: a page, also within another, and what a program
/// takes (`empty`).
const FOLLOWED: [&str; 6] = ["document", "iframe", "frame", "embed", "object", "empty"];

/// Whether the request only looks.
#[derive(Debug, Clone, Copy)]
pub struct Speculative(pub bool);

impl<S: Sync> FromRequestParts<S> for Speculative {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let Parts { method, headers, .. } = parts;
        Ok(Self(*method != Method::GET || is_ahead(headers) || is_part_of_a_page(headers)))
    }
}

fn is_part_of_a_page(headers: &HeaderMap) -> bool {
    headers.get(DESTINATION).is_some_and(|loaded_as| !FOLLOWED.iter().any(|one| loaded_as == one))
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

/// Whether a program asks that draws a preview of a link in a chat, or indexes pages, and says so in its
/// `User-Agent`. It follows a link for nobody.
#[must_use]
pub fn is_link_preview(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).map_or(&b""[..], HeaderValue::as_bytes);
    let agent = String::from_utf8_lossy(agent).to_ascii_lowercase();
    // `Slackbot-LinkExpanding`, `TelegramBot (like TwitterBot)`, `Googlebot/2.1`; not the phone `CUBOT`.
    let words = agent.split(|c: char| !c.is_ascii_alphanumeric());
    let is_bot = words.clone().any(|word| word.ends_with("bot") && word != "cubot");
    let others =
        ["facebookexternalhit", "whatsapp", "skypeuripreview", "iframely", "crawler", "spider"];
    is_bot || words.into_iter().any(|word| others.contains(&word))
}

/// What a request that only looks is answered: nothing was spent or made.
#[must_use]
pub fn untouched() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    response
}

//! Which form of an answer a client prefers (RFC 9110, 12.5.1), and whether it loads a page.

use http::{HeaderMap, HeaderValue, header};

/// Media type of pages.
pub const HTML: &str = "text/html";
/// The header by which a browser says what it loads something for.
const FETCH_MODE: &str = "sec-fetch-mode";

/// Whether the client asks for `kind` by its name, and likes JSON, the other form, no better.
#[must_use]
pub fn prefers(headers: &HeaderMap, kind: &str) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    // The weight of `kind`; that of JSON, and how exactly it is meant there.
    let (mut asked, mut json, mut exactness) = (None, 0.0, 0);
    for (range, weight) in lines.flat_map(|line| line.split(',')).map(weighed) {
        if range.eq_ignore_ascii_case(kind) {
            asked.get_or_insert(weight);
        }
        let means_json = ["*/*", "application/*", "application/json"];
        let place = means_json.iter().position(|known| range.eq_ignore_ascii_case(known));
        let place = place.map_or(0, |place| place + 1);
        if place > exactness {
            (json, exactness) = (weight, place);
        }
    }
    asked.is_some_and(|weight| weight > 0.0 && weight >= json)
}

/// A media range of `Accept` and its weight, 1 where it names none.
fn weighed(range: &str) -> (&str, f32) {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("q").then(|| value.parse().ok())?
    });
    (kind, weight.unwrap_or(1.0))
}

/// Whether a request loads a page rather than something for a page: `Sec-Fetch-Mode: navigate`,
/// or, from a client that does not send it, an `Accept` that prefers HTML.
#[must_use]
pub fn is_navigation(headers: &HeaderMap) -> bool {
    match headers.get(FETCH_MODE) {
        Some(mode) => mode == "navigate",
        None => prefers(headers, HTML),
    }
}

/// Whether a browser asks, for a page or for something that a page shows: a program names no
/// `Sec-Fetch-Mode`, and likes JSON.
#[must_use]
pub fn is_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(FETCH_MODE) || prefers(headers, HTML)
}

/// Says that an answer was chosen by `Accept`.
pub fn vary(headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("accept"));
}

/// Says that an answer was chosen by [`is_navigation`].
pub fn vary_by_navigation(headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("accept, sec-fetch-mode"));
}

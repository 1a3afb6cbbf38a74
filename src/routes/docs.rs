//! The pages about the API itself: they were rendered at start and are only handed out here.

use axum::{body::Body, extract::State, response::Response};
use bytes::Bytes;
use http::{HeaderValue, header};

use crate::state::AppState;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = include_str!("docs.css");

/// The OpenAPI document.
pub async fn openapi(State(state): State<AppState>) -> Response {
    answer("application/json", state.reference.openapi.clone())
}

/// The page that shows it.
pub async fn api(State(state): State<AppState>) -> Response {
    answer(HTML, state.reference.docs.clone())
}

/// The error reference.
pub async fn errors(State(state): State<AppState>) -> Response {
    answer(HTML, state.reference.errors.clone())
}

/// The shortest way from nothing to a deployed app, for agents.
pub async fn llms(State(state): State<AppState>) -> Response {
    answer("text/plain; charset=utf-8", state.reference.llms.clone())
}

/// The style of these pages.
pub async fn style() -> Response {
    answer("text/css; charset=utf-8", Bytes::from_static(STYLE.as_bytes()))
}

fn answer(content_type: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

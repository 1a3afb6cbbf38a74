//! The pages about the API itself: they were rendered at start and are only handed out here.

use std::sync::LazyLock;

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, HeaderValue, header};

use crate::{http::conditional::IfNoneMatch, pages::packed::Packed, state::AppState};

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
static STYLE: LazyLock<Packed> =
    LazyLock::new(|| Packed::new(include_str!("../../templates/reference/style.css")));

/// The OpenAPI document.
pub async fn openapi(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer("application/json", &state.reference.openapi, &headers)
}

/// The page that shows it.
pub async fn api(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(HTML, &state.reference.docs, &headers)
}

/// The same in short, for language models.
pub async fn api_markdown(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(MARKDOWN, &state.reference.api_markdown, &headers)
}

/// The error reference.
pub async fn errors(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(HTML, &state.reference.errors, &headers)
}

/// The same as Markdown.
pub async fn errors_markdown(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(MARKDOWN, &state.reference.errors_markdown, &headers)
}

/// The guide to the manifest, as a page.
pub async fn manifest(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(HTML, &state.reference.manifest.page, &headers)
}

/// The same as it is written.
pub async fn manifest_markdown(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(MARKDOWN, &state.reference.manifest.markdown, &headers)
}

/// The guide to the script of apps' pages, as a page.
pub async fn sdk(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(HTML, &state.reference.sdk.page, &headers)
}

/// The same as it is written.
pub async fn sdk_markdown(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer(MARKDOWN, &state.reference.sdk.markdown, &headers)
}

/// The shortest way from nothing to a deployed app, for agents.
pub async fn llms(State(state): State<AppState>, headers: HeaderMap) -> Response {
    answer("text/plain; charset=utf-8", &state.reference.llms, &headers)
}

/// The style of these pages.
pub async fn style(headers: HeaderMap) -> Response {
    answer("text/css; charset=utf-8", &STYLE, &headers)
}

fn answer(content_type: &'static str, content: &Packed, request: &HeaderMap) -> Response {
    let chosen = content.chosen(request);
    let mut response = IfNoneMatch::of(request).answer(&chosen.etag, || {
        let mut response = Response::new(Body::from(chosen.bytes.clone()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    });
    chosen.describe(response.headers_mut());
    response
}

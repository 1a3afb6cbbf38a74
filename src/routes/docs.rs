//! The pages about the API itself. They are rendered when the first of them is asked for, and only
//! handed out here.

use std::sync::LazyLock;

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, HeaderValue, header};
use rookery_domain::Error;

use crate::{
    error::ApiResult, http::conditional::IfNoneMatch, openapi::Documents, pages::packed::Packed,
    state::AppState,
};

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
static STYLE: LazyLock<Packed> =
    LazyLock::new(|| Packed::new(include_str!("../../templates/reference/style.css")));

/// The OpenAPI document.
pub async fn openapi(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    document("application/json", &state, |documents| &documents.openapi, &headers).await
}

/// The page that shows it.
pub async fn api(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    document(HTML, &state, |documents| &documents.docs, &headers).await
}

/// The same in short, for language models.
pub async fn api_markdown(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    document(MARKDOWN, &state, |documents| &documents.api_markdown, &headers).await
}

/// The error reference.
pub async fn errors(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    document(HTML, &state, |documents| &documents.errors, &headers).await
}

/// The same as Markdown.
pub async fn errors_markdown(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    document(MARKDOWN, &state, |documents| &documents.errors_markdown, &headers).await
}

/// The guide to the manifest, as a page.
pub async fn manifest(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    document(HTML, &state, |documents| &documents.manifest.page, &headers).await
}

/// The same as it is written.
pub async fn manifest_markdown(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    document(MARKDOWN, &state, |documents| &documents.manifest.markdown, &headers).await
}

/// The guide to the script of apps' pages, as a page.
pub async fn sdk(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    document(HTML, &state, |documents| &documents.sdk.page, &headers).await
}

/// The same as it is written.
pub async fn sdk_markdown(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    document(MARKDOWN, &state, |documents| &documents.sdk.markdown, &headers).await
}

/// The shortest way from nothing to a deployed app, for agents.
pub async fn llms(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    document("text/plain; charset=utf-8", &state, |documents| &documents.llms, &headers).await
}

/// The style of these pages.
pub async fn style(headers: HeaderMap) -> Response {
    answer("text/css; charset=utf-8", &STYLE, &headers)
}

/// Answers with one of the documents.
///
/// # Errors
/// `internal` when they cannot be rendered.
async fn document(
    content_type: &'static str,
    state: &AppState,
    which: fn(&Documents) -> &Packed,
    request: &HeaderMap,
) -> ApiResult<Response> {
    if state.reference.rendered().is_none() {
        let shared = state.clone();
        let render = move || {
            shared.reference.documents();
        };
        state.reading.run(render).await.map_err(|failed| Error::internal().caused_by(failed))?;
    }
    Ok(answer(content_type, which(state.reference.documents()), request))
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

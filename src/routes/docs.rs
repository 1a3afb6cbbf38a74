//! The pages about the API itself. They are rendered when the first of them is asked for, and only
//! handed out here.

use std::sync::LazyLock;

use axum::{body::Body, extract::State, response::Response};
use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header};

use crate::{
    error::ApiResult, http::conditional::IfNoneMatch, openapi::Documents, pages::packed::Packed,
    state::AppState,
};

/// The media type of a page.
pub const HTML: &str = "text/html; charset=utf-8";
/// The media type of the OpenAPI document.
pub const JSON: &str = "application/json";
/// The media type of a text with marks.
pub const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// The media type of a plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

static STYLE: LazyLock<Packed> =
    LazyLock::new(|| Packed::new(include_str!("../../templates/reference/style.css")));

/// What hands out one of the documents: `internal` when they cannot be rendered.
pub fn document(
    content_type: &'static str,
    which: fn(&Documents) -> &Packed,
) -> impl Fn(State<AppState>, HeaderMap) -> BoxFuture<'static, ApiResult<Response>> + Clone {
    move |State(state), headers| {
        Box::pin(async move {
            if state.reference.rendered().is_none() {
                let shared = state.clone();
                let render = move || {
                    shared.reference.documents();
                };
                state.reading.run("documents", render).await?;
            }
            Ok(answer(content_type, which(state.reference.documents()), &headers))
        })
    }
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

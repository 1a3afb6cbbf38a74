//! `GET /ops/api/openapi.json`: the document of the operator's listener.

use std::sync::LazyLock;

use axum::response::IntoResponse;
use http::header;

use crate::{openapi, router};

static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi::to_json(&router::ops().1));

/// The document.
pub async fn document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

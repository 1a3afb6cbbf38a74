//! `GET /v1/apps/:id/types.d.ts`: an app's own types in TypeScript.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, header};
use rookery_domain::{ErrorCode, typescript};

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        conditional::with_etag,
    },
    pages::{
        assets::strong_etag,
        sdk::{SDK_D_TS, TYPESCRIPT},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// The app's types for TypeScript
///
/// One file of declarations: those of the SDK (`window.app`), and the types of the current
/// version's collections, events and roles, made from its schemas. With it `app.collection("...")`
/// knows its rows. What only refuses (bounds, patterns, conditions) has no type.
#[utoipa::path(
    get, path = "/v1/apps/{id}/types.d.ts", tag = "Apps", operation_id = "app_types",
    responses(
        (status = 200, description = "The declarations", body = String, content_type = "text/plain"),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn types(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
) -> ApiResult<Response> {
    let manifest = state.rooms.control().manifest(&owner.app).await?;
    let text = format!("{SDK_D_TS}\n{}", typescript::declarations(&manifest));
    let etag = strong_etag(text.as_bytes());
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(TYPESCRIPT))];
    Ok(with_etag(&etag, (content_type, text).into_response()))
}

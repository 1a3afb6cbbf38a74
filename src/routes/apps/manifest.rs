//! `GET /v1/apps/:id/manifest`: the manifest as it was sent.

use axum::{extract::State, response::Response};
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        conditional::tagged,
    },
    openapi::shapes::AnyObject,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Shows the manifest of the current version.
///
/// It is the text as it was deployed, so that a change of one line can be sent back with
/// `POST /v1/apps/{id}/versions`; `{}` where none was. What an owner set since (visibility, timezone,
/// retention) is in the app's record, not here.
#[utoipa::path(
    get, path = "/v1/apps/{id}/manifest", tag = "Apps", operation_id = "app_manifest",
    responses(
        (status = 200, description = "The manifest", body = AnyObject),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn manifest(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
) -> ApiResult<Response> {
    let manifest = state.rooms.control().manifest_text(&owner.app).await?;
    Ok(tagged(manifest.to_string()))
}

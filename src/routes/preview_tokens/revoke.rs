//! `DELETE /v1/apps/:id/preview-tokens/:tokenId`: revokes a preview token.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{ErrorCode, id::PreviewId};

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// Revokes a preview token; a second time changes nothing.
///
/// Whoever looks at the app by it is shown out at once.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/preview-tokens/{token_id}", tag = "Sharing",
    responses((status = 204, description = "Revoked")),
)]
pub async fn revoke(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(id): PathId<PreviewId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    state.rooms.control().revoke_preview(&app, caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! `DELETE /v1/apps/:id/grants/:grantId`: revokes a grant link.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{ErrorCode, id::GrantId};

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// Revokes a grant link; a second time changes nothing.
///
/// Whoever came by it is shown out at once, from what it follows too.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/grants/{grant_id}", tag = "Sharing",
    responses((status = 204, description = "Revoked")),
)]
pub async fn revoke(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(id): PathId<GrantId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    state.rooms.control().revoke_grant(&app, caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

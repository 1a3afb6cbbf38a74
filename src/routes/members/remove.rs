//! `DELETE /v1/apps/:id/members/:humanId`: removes a member.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{ErrorCode, id::HumanId};

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::Conflict];

/// Removes a member; a second time changes nothing.
///
/// Its sessions on the app's origin end with it, and so does what it follows. What it created
/// stays.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/members/{human_id}", tag = "Sharing",
    params(
        ("id" = String, Path, description = "The app's id or slug"),
        ("human_id" = String, Path, description = "The member's id"),
    ),
    responses((status = 204, description = "No member any more")),
)]
pub async fn remove(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(human): PathId<HumanId>,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    state.rooms.control().remove_member(&app, caller, human).await?;
    // After it is no member any more, so that no session made meanwhile is left.
    state.rooms.directory.end_visits(app.id(), human).await?;
    Ok(StatusCode::NO_CONTENT)
}

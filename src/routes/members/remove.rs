//! `DELETE /v1/apps/:id/members/:humanId`: removes a member.

use axum::extract::State;
use http::StatusCode;
use rookery_actors::task::to_the_end;
use rookery_domain::{ErrorCode, id::HumanId};

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Removes a member; a second time changes nothing.
///
/// Its sessions on the app's origin end with it, and so does what it follows. What it created
/// stays.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/members/{human_id}", tag = "Sharing",
    responses((status = 204, description = "No member any more")),
)]
pub async fn remove(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(human): PathId<HumanId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    to_the_end(async move {
        let (control, directory) = (state.rooms.control(), &state.rooms.directory);
        control.remove_member(directory, &app, caller, human).await
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

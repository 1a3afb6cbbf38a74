//! `DELETE /v1/orgs/:id/members/:humanId`: removes a member.

use axum::extract::State;
use http::StatusCode;
use rookery_actors::task::to_the_end;
use rookery_domain::{ErrorCode, id::HumanId};

use crate::{
    error::ApiResult,
    http::{auth::org::OrgAdmin, body::Nothing, params::PathId},
    notices,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Removes a member; a second time changes nothing.
///
/// The last admin cannot be removed: `conflict`. When the billing account is removed, the
/// longest-standing admin's account is billed from then on, and told so by mail. Apps stay where they
/// are.
#[utoipa::path(
    delete, path = "/v1/orgs/{id}/members/{human_id}", tag = "Organizations",
    responses((status = 204, description = "No member any more")),
)]
pub async fn remove(
    caller: OrgAdmin,
    State(state): State<AppState>,
    PathId(human): PathId<HumanId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    to_the_end(async move {
        let directory = &state.rooms.directory;
        let passed = directory.remove_org_member(caller.org, caller.account, human).await?;
        notices::tell_of_billing(&state, passed);
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

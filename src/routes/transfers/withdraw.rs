//! `DELETE /v1/apps/:id/transfer`: withdraws the pending offer of an app.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Withdraws the pending offer of an app; without one nothing changes.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/transfer", tag = "Transfers",
    responses((status = 204, description = "Nothing is offered any more")),
)]
pub async fn withdraw(
    owner: AppOwner,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    state.rooms.control().withdraw_offer(&owner.app, owner.caller.account()).await?;
    Ok(StatusCode::NO_CONTENT)
}

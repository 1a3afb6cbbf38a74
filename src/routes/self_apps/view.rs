//! `POST /v1/self/apps/:appId/view`: the human opened an app.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{HumanMember, Readable},
        body::Nothing,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Records that the human opened an app that it owns or joined, now.
#[utoipa::path(
    post, path = "/v1/self/apps/{appId}/view", tag = "Account", request_body = Option<Nothing>,
    responses((status = 204, description = "Recorded")),
)]
pub async fn view(
    caller: HumanMember<Readable>,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    state.rooms.directory.record_view(caller.human, caller.app.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! `POST /v1/self/agents/:id/revoke-key`: ends every key of an agent.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{ErrorCode, id::AgentId};

use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// Revokes every key of an agent, for ever. A second time changes nothing.
#[utoipa::path(
    post, path = "/v1/self/agents/{id}/revoke-key", tag = "Account", request_body = Option<Nothing>,
    responses((status = 204, description = "Every key is revoked")),
)]
pub async fn revoke_key(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<AgentId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    state.rooms.directory.revoke_agent(caller.human, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! `POST /v1/self/agents/:id/pause` and `.../resume`: stops an agent, and lets it go on.

use axum::{Json, extract::State};
use rookery_domain::{ErrorCode, id::AgentId};

use super::record::OwnAgent;
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of both routes.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Pauses an agent: every key of it is refused from the very next request on.
///
/// A second time changes nothing. An agent whose keys are all revoked is `conflict`.
#[utoipa::path(
    post, path = "/v1/self/agents/{id}/pause", tag = "Account", request_body = Option<Nothing>,
    responses((status = 200, description = "The agent", body = OwnAgent)),
)]
pub async fn pause(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<AgentId>,
    _: Nothing,
) -> ApiResult<Json<OwnAgent>> {
    let agent = state.rooms.directory.pause_agent(caller.human, id).await?;
    Ok(Json(OwnAgent::of(&agent)))
}

/// Resumes a paused agent. What is revoked stays revoked.
///
/// A second time changes nothing. An agent whose keys are all revoked is `conflict`.
#[utoipa::path(
    post, path = "/v1/self/agents/{id}/resume", tag = "Account", request_body = Option<Nothing>,
    responses((status = 200, description = "The agent", body = OwnAgent)),
)]
pub async fn resume(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<AgentId>,
    _: Nothing,
) -> ApiResult<Json<OwnAgent>> {
    let agent = state.rooms.directory.resume_agent(caller.human, id).await?;
    Ok(Json(OwnAgent::of(&agent)))
}

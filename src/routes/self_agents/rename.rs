//! `PATCH /v1/self/agents/:id`: renames an agent.

use axum::{Json, extract::State};
use rookery_domain::{ErrorCode, agent_name::AgentName, id::AgentId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::OwnAgent;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson},
        params::PathId,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// What is to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// The new name, 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    name: String,
}

impl RequestBody for Rename {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Renames one of the human's agents.
#[utoipa::path(
    patch, path = "/v1/self/agents/{id}", tag = "Account", request_body = Rename,
    responses((status = 200, description = "The agent", body = OwnAgent)),
)]
pub async fn rename(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<AgentId>,
    StrictJson(body): StrictJson<Rename>,
) -> ApiResult<Json<OwnAgent>> {
    let name = AgentName::parse(&body.name)?;
    let agent = state.rooms.directory.rename_agent(caller.human, id, name).await?;
    Ok(Json(OwnAgent::of(&agent)))
}

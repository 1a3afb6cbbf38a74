//! `GET /v1/self/agents`: the human's agents, newest first.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::AgentId};

use super::record::OwnAgent;
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, paging::Paging, params::StrictQuery, reply::Page},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists the human's agents.
#[utoipa::path(
    get, path = "/v1/self/agents", tag = "Account", params(Paging),
    responses((status = 200, description = "A page of agents", body = Page<OwnAgent>)),
)]
pub async fn list(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OwnAgent>> {
    let page = query.of("/v1/self/agents", caller.human.uuid(), &state)?;
    let after = page.after(AgentId::from_uuid);
    let agents = state.rooms.directory.agents_of(caller.human, after, page.wanted())?;
    Ok(page.show(agents, |one| (one.agent.created_at, one.agent.id.uuid()), OwnAgent::of))
}

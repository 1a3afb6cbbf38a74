//! `GET /v1/self/agents`: the human's agents, newest first.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::AgentId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::OwnAgent;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        cursor::List,
        params::StrictQuery,
        reply::{Page, page_limit},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Agents on a page, 1 to 200; 50 when absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

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
    let limit = page_limit(query.limit)?;
    let list = List { route: "/v1/self/agents", owner: caller.human.uuid(), key: &state.rooms.key };
    let after = list.position(query.cursor.as_deref())?;
    let after = after.map(|(at, id)| (at, AgentId::from_uuid(id)));
    // One more than asked for tells whether there is another page.
    let mut agents = state.rooms.directory.agents_of(caller.human, after, limit + 1)?;
    let more = agents.len() > limit;
    agents.truncate(limit);
    let last = agents.last().filter(|_| more);
    let next_cursor = last.map(|last| list.cursor(last.agent.created_at, last.agent.id.uuid()));
    Ok(Page { items: agents.iter().map(OwnAgent::of).collect(), next_cursor })
}

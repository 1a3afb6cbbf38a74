//! `POST /v1/agents/claim`: binds the calling agent to the human that minted the code.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::AgentView;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AgentKey,
        body::{BodyBound, RequestBody, StrictJson},
        client::RequestContext,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::Conflict,
    ErrorCode::AccountQuotaExceeded,
    ErrorCode::PayloadTooLarge,
];

/// The code that a human gave the agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Eight letters in two groups; case, spaces and dashes do not matter.
    #[schema(example = "WDJB-MJHT")]
    code: String,
}

impl RequestBody for Claim {
    const BOUND: BodyBound = BodyBound::Small;
}

/// The agent with its owner.
#[derive(Debug, Serialize, ToSchema)]
pub struct Claimed {
    /// The agent.
    agent: AgentView,
}

/// Redeems a claim code.
///
/// A code is good for 10 minutes and for one agent. Unknown, spent and expired codes have the same
/// answer, and five wrong ones a minute are enough.
#[utoipa::path(
    post, path = "/v1/agents/claim", tag = "Enrollment", request_body = Claim,
    responses((status = 200, description = "The agent with its owner", body = Claimed)),
)]
pub async fn claim(
    caller: AgentKey,
    State(state): State<AppState>,
    client: RequestContext,
    StrictJson(body): StrictJson<Claim>,
) -> ApiResult<Json<Claimed>> {
    let agent = state.rooms.directory.claim(caller.agent, &body.code, client.address).await?;
    Ok(Json(Claimed { agent: AgentView::of(&agent) }))
}

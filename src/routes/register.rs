//! `POST /v1/register`: makes an agent that no human has claimed yet.

use axum::extract::State;
use rookery_domain::{Error, ErrorCode, agent_name::AgentName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{agents::record::AgentView, keys::record::IssuedKey};
use crate::{
    config::RegistrationMode,
    error::ApiResult,
    http::{
        auth::permission::Public,
        body::{BodyBound, OptionalJson, RequestBody},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Forbidden, ErrorCode::PayloadTooLarge];

/// What an agent says of itself.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// Its name, 1 to 100 characters. Its human may rename it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
}

impl RequestBody for Register {
    const BOUND: BodyBound = BodyBound::Small;
}

/// A new agent with its first key.
#[derive(Debug, Serialize, ToSchema)]
pub struct Registered {
    /// The agent.
    agent: AgentView,
    /// Its key, with the secret: it is shown this once.
    key: IssuedKey,
}

/// Registers an agent.
///
/// The agent can do little before a human claims it; see `POST /v1/agents/claim`. One that nobody
/// claims is forgotten after 30 days in which none of its keys was used.
#[utoipa::path(
    post, path = "/v1/register", tag = "Enrollment", request_body = Option<Register>,
    responses((status = 201, description = "The agent and its key", body = Registered)),
)]
pub async fn register(
    _: Public,
    State(state): State<AppState>,
    OptionalJson(body): OptionalJson<Register>,
) -> ApiResult<Created<Registered>> {
    if !is_open(&state) {
        return Err(closed().into());
    }
    let (agent, key) = state.rooms.directory.register(name(body.name.as_deref())?).await?;
    Ok(Created {
        location: "/v1/keys".to_owned(),
        record: Registered { agent: AgentView::of(&agent), key: IssuedKey::of(&key) },
    })
}

/// Whether agents may register themselves.
#[must_use]
pub fn is_open(state: &AppState) -> bool {
    state.config.registration.mode == RegistrationMode::Open
}

/// The refusal where they may not.
#[must_use]
pub fn closed() -> Error {
    Error::new(ErrorCode::Forbidden, "registration is closed: start with POST /v1/device/code")
}

/// The name that a request gives, or the one of an agent that gives none.
pub(super) fn name(text: Option<&str>) -> rookery_domain::Result<AgentName> {
    text.map_or_else(|| Ok(AgentName::default()), AgentName::parse)
}

//! `POST /v1/self/agents/:id/rotate-key`: a new key in place of all others.

use axum::{extract::State, response::Response};
use rookery_domain::{ErrorCode, Principal, id::AgentId};

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::Nothing,
        idempotency::{IdempotencyKey, answer_once},
        params::PathId,
    },
    routes::keys::record::IssuedKey,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Replaces every key of an agent by a new one.
///
/// A paused agent stays paused; one whose keys are all revoked is `conflict`.
#[utoipa::path(
    post, path = "/v1/self/agents/{id}/rotate-key", tag = "Account", request_body = Option<Nothing>,
    params(IdempotencyKey),
    responses((status = 201, description = "The new key, with its secret", body = IssuedKey)),
)]
pub async fn rotate_key(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<AgentId>,
    key: IdempotencyKey,
    body: Nothing,
) -> ApiResult<Response> {
    let directory = state.rooms.directory.clone();
    let make = move |keep| async move { directory.rotate_agent(caller.human, id, keep).await };
    let principal = Principal::human(caller.human);
    let route = format!("POST /v1/self/agents/{id}/rotate-key");
    let request = key.request(principal, &[&route], &body);
    answer_once(IssuedKey::created, |kept| state.rooms.directory.idempotent(request, kept, make))
        .await
}

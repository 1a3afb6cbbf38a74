//! `POST /v1/keys`: another key for the same agent.

use axum::{extract::State, response::Response};
use rookery_domain::{ErrorCode, Principal};

use super::record::IssuedKey;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AgentKey,
        body::Nothing,
        idempotency::{IdempotencyKey, answer_once},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Mints a sibling of the presented key.
///
/// An agent has at most 100 keys that are not revoked: beyond them it is `conflict`.
#[utoipa::path(
    post, path = "/v1/keys", tag = "Enrollment", request_body = Option<Nothing>,
    params(IdempotencyKey),
    responses((status = 201, description = "The key, with its secret", body = IssuedKey)),
)]
pub async fn create(
    caller: AgentKey,
    State(state): State<AppState>,
    key: IdempotencyKey,
    body: Nothing,
) -> ApiResult<Response> {
    let directory = state.rooms.directory.clone();
    let make = move |keep| async move { directory.mint_key(caller.agent, caller.key, keep).await };
    let principal = Principal::agent(caller.agent);
    let request = key.request(principal, &["POST /v1/keys"], &body);
    answer_once(IssuedKey::created, |kept| state.rooms.directory.idempotent(request, kept, make))
        .await
}

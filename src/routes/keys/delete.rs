//! `DELETE /v1/keys/:id`: the caller gives its own key back.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{Error, ErrorCode};

use crate::{
    error::ApiResult,
    http::{auth::permission::AgentKey, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Forbidden, ErrorCode::PayloadTooLarge];

/// Revokes the presented key.
///
/// Any other id is `forbidden`, whether a key has it or not.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", tag = "Enrollment",
    responses((status = 204, description = "The key is revoked")),
)]
pub async fn delete(
    caller: AgentKey,
    State(state): State<AppState>,
    PathId(id): PathId<String>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    if id != caller.key.to_string() {
        let message = "an agent can revoke only the key that it presents";
        return Err(Error::new(ErrorCode::Forbidden, message).into());
    }
    state.rooms.directory.revoke_key(caller.agent, caller.key).await?;
    Ok(StatusCode::NO_CONTENT)
}

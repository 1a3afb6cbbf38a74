//! `DELETE /v1/apps/:id/credentials/:credentialId`: revokes a service credential.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{ErrorCode, id::CredentialId};

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// Revokes a service credential; a second time changes nothing.
///
/// For ever: its tokens are `unauthorized` on their very next request.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/credentials/{credential_id}", tag = "Sharing",
    responses((status = 204, description = "Revoked")),
)]
pub async fn revoke(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(id): PathId<CredentialId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    state.rooms.control().revoke_credential(&app, caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! `POST /v1/apps/:id/credentials/:credentialId/pause` and `.../resume`: stops a credential, and
//! lets it work again.

use axum::{Json, extract::State};
use rookery_actors::app::access_ops::AccessOp;
use rookery_domain::{ErrorCode, id::CredentialId};

use super::record::{CredentialBody, change};
use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing, params::PathId},
    state::AppState,
};

/// Errors of both routes.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Stops a credential.
///
/// Its tokens are `unauthorized` on their very next request, until it is resumed. A second time
/// changes nothing; a revoked one is `conflict`.
#[utoipa::path(
    post, path = "/v1/apps/{id}/credentials/{credential_id}/pause", tag = "Sharing",
    request_body = Option<Nothing>,
    responses((status = 200, description = "The credential after it", body = CredentialBody)),
)]
pub async fn pause(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(id): PathId<CredentialId>,
    _: Nothing,
) -> ApiResult<Json<CredentialBody>> {
    let AppOwner { app, caller, .. } = owner;
    let op = AccessOp::PauseCredential { id };
    Ok(Json(change(&state, &app, caller, id, op).await?))
}

/// Lets a paused credential work again.
///
/// A second time changes nothing; a revoked one is `conflict`, for it never works again.
#[utoipa::path(
    post, path = "/v1/apps/{id}/credentials/{credential_id}/resume", tag = "Sharing",
    request_body = Option<Nothing>,
    responses((status = 200, description = "The credential after it", body = CredentialBody)),
)]
pub async fn resume(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(id): PathId<CredentialId>,
    _: Nothing,
) -> ApiResult<Json<CredentialBody>> {
    let AppOwner { app, caller, .. } = owner;
    let op = AccessOp::ResumeCredential { id };
    Ok(Json(change(&state, &app, caller, id, op).await?))
}

//! `GET /v1/apps/:id/credentials`: the service credentials of an app.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::CredentialId};
use rookery_storage::credentials::ListedCredential;

use super::record::CredentialBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        paging::Paging,
        params::StrictQuery,
        reply::Page,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists service credentials with what they enumerate, newest first, the last hundred revoked ones
/// too; never their tokens.
#[utoipa::path(
    get, path = "/v1/apps/{id}/credentials", tag = "Sharing",
    params(Paging),
    responses((status = 200, description = "A page of credentials", body = Page<CredentialBody>)),
)]
pub async fn list(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<CredentialBody>> {
    let app = owner.app;
    let page = query.of("/v1/apps/{id}/credentials", app.id().uuid(), &state)?;
    let after = page.after(CredentialId::from_uuid);
    let found = state.rooms.control().credentials(&app, after, page.wanted()).await?;
    let now = state.clock.now();
    let place = |one: &ListedCredential| (one.credential.created_at, one.credential.id.uuid());
    Ok(page
        .show(found, place, |one| CredentialBody::of(&one.credential, one.previous_ends_at, now)))
}

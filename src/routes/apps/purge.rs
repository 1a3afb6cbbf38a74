//! `POST /v1/apps/:id/purge`: destroys a deleted app.

use axum::extract::State;
use http::StatusCode;
use rookery_actors::task::to_the_end;
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AnyState, AppOwner},
        body::Nothing,
    },
    notices::{self, Deed},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Destroys a deleted app and all its data, irreversibly.
///
/// An app that is not deleted is `conflict`, a closed one `app_closed`. Afterwards it is
/// `app_not_found`, and its slug is kept for the account: nobody else gets it. When somebody else than
/// its owner does it, the owner is told by mail.
#[utoipa::path(
    post, path = "/v1/apps/{id}/purge", tag = "Apps", request_body = Option<Nothing>,
    responses((status = 204, description = "It is destroyed")),
)]
pub async fn purge(
    owner: AppOwner<AnyState>,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    let (before, by) = (app.record(), caller.account());
    to_the_end(async move {
        state.rooms.control().purge(&app, caller).await?;
        notices::tell_owner(&state, &before, by, Deed::Purged);
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

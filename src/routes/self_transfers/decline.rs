//! `POST /v1/self/transfers/:id/decline`: turns an offered app down.

use axum::extract::State;
use http::StatusCode;
use rookery_actors::task::to_the_end;
use rookery_domain::{ErrorCode, id::TransferId};

use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, body::Nothing, params::PathId},
    notices::{self, Deed},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::EmailNotVerified, ErrorCode::PayloadTooLarge];

/// Turns down an app that is offered to the human's verified address: the offer is gone.
#[utoipa::path(
    post, path = "/v1/self/transfers/{id}/decline", tag = "Transfers", request_body = Option<Nothing>,
    responses((status = 204, description = "Declined")),
)]
pub async fn decline(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<TransferId>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let human = super::human(&state, caller.human)?;
    to_the_end(async move {
        let (offer, app) = state.rooms.control().decline_offer(&human, id).await?;
        let slug = app.record().slug.clone();
        notices::tell(&state, offer.offered_by, caller.human, &slug, Deed::Declined);
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

//! `POST /v1/self/transfers/:id/accept`: takes an offered app.

use axum::{Json, extract::State};
use rookery_actors::{control::Accepted, task::to_the_end};
use rookery_domain::{ErrorCode, id::TransferId};

use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, body::Nothing, params::PathId},
    notices::{self, Deed},
    routes::apps::record::AppRecordBody,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::EmailNotVerified,
    ErrorCode::AccountQuotaExceeded,
    ErrorCode::Conflict,
    ErrorCode::SoftDeleted,
    ErrorCode::AppClosed,
    ErrorCode::PayloadTooLarge,
];

/// Takes an app that is offered to the human's verified address.
///
/// From the answer on the human is its owner: it and its rows count for the human's account, which
/// must have room for them. Its preview links have ended, and what `comes_with` told of has not.
/// `unrestricted` is off from then on, whatever it was. Of any number of acceptances and a
/// withdrawal at once, one wins.
#[utoipa::path(
    post, path = "/v1/self/transfers/{id}/accept", tag = "Transfers", request_body = Option<Nothing>,
    responses((status = 200, description = "The app", body = AppRecordBody)),
)]
pub async fn accept(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<TransferId>,
    _: Nothing,
) -> ApiResult<Json<AppRecordBody>> {
    let human = super::human(&state, caller.human)?;
    let shared = state.clone();
    let app = to_the_end(async move {
        let accepted = shared.rooms.control().accept_offer(human, id).await?;
        let Accepted { app, former, offered_by } = accepted;
        let slug = app.record().slug.clone();
        notices::tell(&shared, former, caller.human, &slug, Deed::Accepted);
        if offered_by != former {
            notices::tell(&shared, offered_by, caller.human, &slug, Deed::Accepted);
        }
        Ok(app)
    })
    .await?;
    Ok(Json(AppRecordBody::of_changed(&state, &app).await?))
}

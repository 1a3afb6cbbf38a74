//! `POST /v1/self/transfers/:id/accept`: takes an offered app.

use axum::{Json, extract::State};
use rookery_actors::control::Accepted;
use rookery_domain::{ErrorCode, id::TransferId};

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{Nothing, OptionalJson},
        params::PathId,
    },
    routes::{
        apps::record::AppRecordBody,
        told::{self, Deed},
    },
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
/// must have room for them. Its preview links have ended, its members, grant links and service
/// credentials have not. `unrestricted` is off from then on, whatever it was. Of any number of acceptances and a withdrawal at once, one wins.
#[utoipa::path(
    post, path = "/v1/self/transfers/{id}/accept", tag = "Transfers", request_body = Option<Nothing>,
    params(("id" = String, Path, description = "The offer's id")),
    responses((status = 200, description = "The app", body = AppRecordBody)),
)]
pub async fn accept(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<TransferId>,
    OptionalJson(Nothing {}): OptionalJson<Nothing>,
) -> ApiResult<Json<AppRecordBody>> {
    let human = super::human(&state, caller.human)?;
    let Accepted { app, former, offered_by } =
        state.rooms.control().accept_offer(human, id).await?;
    let slug = app.record().slug.clone();
    told::tell(&state, former, caller.human, &slug, Deed::Accepted);
    if offered_by != former {
        told::tell(&state, offered_by, caller.human, &slug, Deed::Accepted);
    }
    Ok(Json(AppRecordBody::of(&state, &app).await?))
}

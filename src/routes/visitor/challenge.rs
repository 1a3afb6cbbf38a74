//! `/s/challenge`: what a page solves before a write. Unlike the API's it may be a provider's.

use axum::{Json, extract::State};

use crate::{
    error::ApiResult,
    http::{auth::visitor::AnyVisitor, params::StrictQuery},
    routes::feed::challenge::{ChallengeParams, VisitorChallenge, challenge},
    state::AppState,
};

/// Gives a challenge
///
/// A proof of work as `GET /v1/apps/{id}/challenge` gives it; or, where the operator has chosen a
/// provider, what its widget is shown with. The widget's token goes into
/// `x-service-challenge-token` as the answer to a proof of work does, must have been given out on
/// this app's own host, and is spent by being checked, whether or not the write then succeeds.
#[utoipa::path(get, path = "/s/challenge", tag = "Participants",
    operation_id = "participant_challenge", params(ChallengeParams),
    responses((status = 200, description = "The task.", body = VisitorChallenge)))]
pub(crate) async fn get_challenge(
    visitor: AnyVisitor,
    State(state): State<AppState>,
    StrictQuery(params): StrictQuery<ChallengeParams>,
) -> ApiResult<Json<VisitorChallenge>> {
    // Also with a provider: it knows whether there is such a collection.
    let task = challenge(&visitor.into(), &params).await?;
    Ok(Json(match state.siteverify.as_deref() {
        Some(provider) => VisitorChallenge::Widget(provider.into()),
        None => VisitorChallenge::Work(task.0),
    }))
}

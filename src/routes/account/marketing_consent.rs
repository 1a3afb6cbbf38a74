//! `PUT /v1/self/marketing-consent`: turns mail about the product on or off.

use axum::{Json, extract::State};
use rookery_domain::{Error, ErrorCode};
use serde::Deserialize;
use utoipa::ToSchema;

use super::profile::Profile;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// What the human wants.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Consent {
    /// Whether mail about the product is welcome.
    marketing_consent: bool,
}

impl RequestBody for Consent {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Records whether mail about the product is welcome. It never is before this was called.
#[utoipa::path(
    put, path = "/v1/self/marketing-consent", tag = "Account", request_body = Consent,
    responses((status = 200, description = "The profile", body = Profile)),
)]
pub async fn set_marketing_consent(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<Consent>,
) -> ApiResult<Json<Profile>> {
    let directory = &state.rooms.directory;
    let human = directory.set_marketing_consent(caller.human, body.marketing_consent).await?;
    Ok(Json(Profile::of(&state, &human).await.map_err(Error::after_change)?))
}

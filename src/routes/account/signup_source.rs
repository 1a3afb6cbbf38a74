//! `POST /v1/self/signup-source`: how the human heard of the service, asked once.

use axum::{Json, extract::State};
use http::StatusCode;
use rookery_domain::{Error, ErrorCode, human_name::HumanName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// The answer.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignupSource {
    /// One line of 1 to 100 characters.
    #[schema(example = "A friend")]
    source: String,
}

impl RequestBody for SignupSource {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Records how the human heard of the service. A second answer is `conflict`: the first stays.
#[utoipa::path(
    post, path = "/v1/self/signup-source", tag = "Account", request_body = SignupSource,
    responses((status = 201, description = "Recorded", body = SignupSource)),
)]
pub async fn record_signup_source(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<SignupSource>,
) -> ApiResult<(StatusCode, Json<SignupSource>)> {
    let source = HumanName::parse("source", &body.source)?
        .ok_or_else(|| Error::invalid("`source` must have 1 to 100 characters"))?;
    let answer = SignupSource { source: source.as_str().to_owned() };
    state.rooms.directory.record_signup_source(caller.human, source).await?;
    Ok((StatusCode::CREATED, Json(answer)))
}

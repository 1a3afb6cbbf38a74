//! `POST /v1/self/signup-source`: how the human heard of the service, asked once.

use axum::{extract::State, response::Response};
use rookery_domain::{Error, ErrorCode, Principal, human_name::HumanName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson},
        idempotency::{IdempotencyKey, ShownOnce, answer_once},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// The answer.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignupSource {
    /// One line of 1 to 100 characters.
    #[schema(example = "A friend", min_length = 1, max_length = 100)]
    source: String,
}

impl RequestBody for SignupSource {
    const BOUND: BodyBound = BodyBound::Small;
}

impl ShownOnce for SignupSource {
    fn without_secrets(self) -> Self {
        self
    }
}

/// Records how the human heard of the service. A second answer is `conflict`: the first stays.
#[utoipa::path(
    post, path = "/v1/self/signup-source", tag = "Account", request_body = SignupSource,
    params(IdempotencyKey),
    responses((status = 201, description = "Recorded", body = SignupSource)),
)]
pub async fn record_signup_source(
    caller: HumanSession,
    State(state): State<AppState>,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<SignupSource>,
) -> ApiResult<Response> {
    let source = HumanName::parse("source", &body.source)?
        .ok_or_else(|| Error::invalid("`source` must have 1 to 100 characters"))?;
    let directory = state.rooms.directory.clone();
    let record = SignupSource { source: source.as_str().to_owned() };
    // The answer has no address of its own: it belongs to the account.
    let shown =
        move |(): &()| Created { location: "/v1/self/profile".to_owned(), record: record.clone() };
    let make =
        move |keep| async move { directory.record_signup_source(caller.human, source, keep).await };
    let principal = Principal::human(caller.human);
    let request = key.request(principal, &["POST /v1/self/signup-source"], &body);
    answer_once(shown, |kept| state.rooms.directory.idempotent(request, kept, make)).await
}

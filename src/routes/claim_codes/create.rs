//! `POST /v1/self/claim-codes`: a code by which one agent can bind itself to the human.

use axum::{extract::State, response::Response};
use rookery_actors::directory::{ClaimCode, SessionHolder};
use rookery_domain::{ErrorCode, Principal, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::Nothing,
        idempotency::{IdempotencyKey, ShownOnce, answer_once},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// A claim code.
#[derive(Clone, Serialize, ToSchema)]
pub struct ClaimCodeView {
    /// What to give the agent. It is shown this once; a replay leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "WDJB-MJHT")]
    code: Option<String>,
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl ShownOnce for ClaimCodeView {
    fn without_secrets(self) -> Self {
        Self { code: None, ..self }
    }
}

/// Mints a claim code: good for one agent, for 10 minutes.
#[utoipa::path(
    post, path = "/v1/self/claim-codes", tag = "Account", request_body = Option<Nothing>,
    params(IdempotencyKey),
    responses((status = 201, description = "The code", body = ClaimCodeView)),
)]
pub async fn create(
    caller: HumanSession,
    State(state): State<AppState>,
    key: IdempotencyKey,
    body: Nothing,
) -> ApiResult<Response> {
    let directory = state.rooms.directory.clone();
    let shown = |minted: &ClaimCode| Created {
        // A code has no address of its own: it is redeemed here.
        location: "/v1/agents/claim".to_owned(),
        record: ClaimCodeView { code: Some(minted.code.expose()), expires_at: minted.expires_at },
    };
    let HumanSession { human, session } = caller;
    let by = SessionHolder { session, human };
    let make = move |keep| async move { directory.mint_claim_code(by, keep).await };
    let principal = Principal::human(human);
    let request = key.request(principal, &["POST /v1/self/claim-codes"], &body);
    answer_once(shown, |kept| state.rooms.directory.idempotent(request, kept, make)).await
}

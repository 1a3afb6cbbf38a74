//! `POST /v1/apps/:id/test-session-tokens`: makes a token for a session of the owner.

use axum::{extract::State, response::Response};
use rookery_domain::{Error, ErrorCode, Timestamp, secret::Secret};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::{credential_watch::CredentialWatch, permission::AppOwner},
        body::Nothing,
        idempotency::{IdempotencyKey, ShownOnce, answer_once},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// A test-session token.
#[derive(Clone, Serialize, ToSchema)]
pub struct TestSessionBody {
    /// The token, in the one answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// When it ends, if nobody redeems it before.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl ShownOnce for TestSessionBody {
    fn without_secrets(self) -> Self {
        Self { token: None, ..self }
    }
}

/// Makes a single-use token for a session of the owner on the app's origin.
///
/// A client without a browser redeems it by `POST /s/session` `{"token": ...}` there, within ten
/// minutes. `Location` is where. Made by an agent, the token and its session are good for as long
/// as the key that asked for it: a paused agent's are refused until it is resumed.
#[utoipa::path(
    post, path = "/v1/apps/{id}/test-session-tokens", tag = "Sharing", request_body = Option<Nothing>,
    params(IdempotencyKey),
    responses((status = 201, description = "The token", body = TestSessionBody)),
)]
pub async fn create(
    owner: AppOwner,
    leave: CredentialWatch,
    State(state): State<AppState>,
    key: IdempotencyKey,
    body: Nothing,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner;
    let directory = state.rooms.directory.clone();
    let location = format!("{}s/session", state.app_url(app.id(), &app.record().slug));
    let (id, asks) = (app.id(), caller.account().zip(leave.asked_by()));
    let shown = move |(token, expires_at): &(Secret, Timestamp)| Created {
        location: location.clone(),
        record: TestSessionBody { token: Some(token.expose().to_owned()), expires_at: *expires_at },
    };
    let make = move |keep| async move {
        // The permission lets nobody through who acts for no account.
        let (human, by) = asks.ok_or_else(Error::app_not_found)?;
        directory.create_test_session(id, human, by, keep).await
    };
    let route = format!("POST /v1/apps/{id}/test-session-tokens");
    let request = key.request(caller.principal(), &[&route], &body);
    answer_once(shown, |kept| state.rooms.directory.idempotent(request, kept, make)).await
}

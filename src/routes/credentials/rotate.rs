//! `POST /v1/apps/:id/credentials/:credentialId/rotate`: gives a credential another token.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use rookery_actors::app::access_ops::AccessOp;
use rookery_domain::{
    ErrorCode,
    credentials::{Credential, OVERLAP_S_DEFAULT, OVERLAP_S_MAX},
    id::CredentialId,
    secret::{Secret, SecretKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::{CredentialBody, answered};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, OptionalJson, RequestBody, strict::whole},
        idempotency::{Answer, IdempotencyKey, answer_once},
        params::PathId,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// How a token is to be replaced.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// Seconds that the old token goes on working, 0 to 604,800; 3,600 when left out.
    #[serde(default, deserialize_with = "whole::<0, OVERLAP_S_MAX, _, _>")]
    #[schema(minimum = 0, maximum = 604_800)]
    overlap_s: Option<i64>,
}

impl RequestBody for Rotation {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Replaces a credential's token.
///
/// The new one is shown this one time; the old one works on for the overlap. A paused credential
/// stays paused; a revoked one is `conflict`.
#[utoipa::path(
    post, path = "/v1/apps/{id}/credentials/{credential_id}/rotate", tag = "Sharing",
    request_body = Option<Rotation>,
    params(
        IdempotencyKey,
    ),
    responses((status = 200, description = "The credential with its token", body = CredentialBody)),
)]
pub async fn rotate(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(id): PathId<CredentialId>,
    key: IdempotencyKey,
    OptionalJson(body): OptionalJson<Rotation>,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner;
    let secret = Secret::generate(SecretKind::Credential, &mut rand::rng());
    let overlap_s = body.overlap_s.unwrap_or(OVERLAP_S_DEFAULT);
    let op = AccessOp::RotateCredential { id, token: (&secret).into(), overlap_s }.into();
    let now = state.clock.now();
    let shown = move |credential: &Arc<Credential>| Answer {
        location: None,
        record: CredentialBody::answered(credential, now).with_token(secret.expose().to_owned()),
    };
    let what = [&*format!("POST credentials/{id}/rotate"), &*app.id().to_string()];
    let request = key.request(caller.principal(), &what, &body);
    let ask = async |kept| match app.idempotent(request, kept, caller, op, answered).await {
        Err(refused) => Err(state.rooms.control().explain_credential(&app, id, refused).await),
        rotated => rotated,
    };
    answer_once(shown, ask).await
}

//! `POST /v1/apps/:id/preview-tokens`: makes a preview token.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use rookery_actors::app::{
    access_ops::{self, AccessOp, AccessReply},
    message::Reply,
};
use rookery_domain::{
    ErrorCode, Timestamp,
    expiry::Expiry,
    id::PreviewId,
    previews::{PREVIEW_TTL_S_MAX, Preview},
    secret::{Secret, SecretKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::PreviewBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, OptionalJson, RequestBody, strict::whole},
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// A preview to be made.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPreview {
    /// When it ends, 90 days from now at most; in a week when left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// When it ends, in seconds from now, in place of `expires_at`.
    #[serde(default, deserialize_with = "whole::<1, PREVIEW_TTL_S_MAX, _, _>")]
    #[schema(minimum = 1, maximum = 7_776_000)]
    expires_in_s: Option<u32>,
}

impl RequestBody for NewPreview {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Makes a token by which anybody may look at a private app.
///
/// Its holder reads and counts what `anyone` may, and writes nothing. Only a private app is previewed:
/// `conflict` for any other, and for one that has 1,000 tokens. It ends when it is revoked, when its time is
/// over, when the app is not private any more, and when the app gets another owner.
#[utoipa::path(
    post, path = "/v1/apps/{id}/preview-tokens", tag = "Sharing", request_body = Option<NewPreview>,
    params(IdempotencyKey),
    responses((status = 201, description = "The token", body = PreviewBody)),
)]
pub async fn create(
    owner: AppOwner,
    State(state): State<AppState>,
    key: IdempotencyKey,
    OptionalJson(body): OptionalJson<NewPreview>,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner;
    let secret = Secret::generate(SecretKind::Preview, &mut rand::rng());
    let expiry = Expiry::of(body.expires_at, body.expires_in_s)?;
    let new = access_ops::NewPreview { id: PreviewId::new(), hash: secret.hash(), expiry };
    let (id, url) = (app.id(), state.app_url(app.id(), &app.record().slug));
    let shown = move |preview: &Arc<Preview>| Created {
        location: format!("/v1/apps/{id}/preview-tokens/{}", preview.id),
        record: PreviewBody::of(preview)
            .with_token(secret.expose().to_owned(), format!("{url}s/preview/{}", secret.expose())),
    };
    let made = |reply: &Reply| match reply {
        Reply::Access(AccessReply::Preview(preview)) => Some(preview.clone()),
        _ => None,
    };
    let op = AccessOp::MintPreview(new).into();
    let what = ["POST preview-tokens", &id.to_string()];
    let request = key.request(caller.principal(), &what, &body);
    answer_once(shown, |kept| app.idempotent(request, kept, caller, op, made)).await
}

//! `POST /v1/apps/:id/grants`: makes a grant link.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use rookery_actors::app::{
    access_ops::{self, AccessOp, AccessReply, NamedRole},
    message::Reply,
};
use rookery_domain::{
    ErrorCode, Timestamp,
    expiry::Expiry,
    grants::{GRANT_TTL_S_MAX, GRANT_USES_MAX, Grant},
    id::GrantId,
    secret::{Secret, SecretKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::GrantBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{
            BodyBound, ExactJson, RequestBody,
            strict::{name_sent, whole},
        },
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// A grant link to be made.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGrant {
    /// A custom role that the manifest declares. `custom_role` is understood too.
    #[serde(alias = "custom_role")]
    role: String,
    /// Visitors that it may make, 1 to 1,000,000; any number when left out.
    #[serde(default, deserialize_with = "whole::<1, { GRANT_USES_MAX as i64 }, _, _>")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    max_uses: Option<u32>,
    /// When it ends, a year from now at most; never when left out.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// When it ends, in seconds from now, in place of `expires_at`.
    #[serde(default, deserialize_with = "whole::<1, GRANT_TTL_S_MAX, _, _>")]
    #[schema(minimum = 1, maximum = 31_536_000)]
    expires_in_s: Option<u32>,
}

impl RequestBody for NewGrant {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Makes a link whose visitors have a custom role.
///
/// The link is shown this one time. Whoever opens it is let in, into a private app too, with the
/// role and what anybody may do, and nothing more; that ends at once when the link is revoked or
/// expires. An app that is unrestricted has no grant links, and one that has 20,000 gets no more: `conflict`.
#[utoipa::path(
    post, path = "/v1/apps/{id}/grants", tag = "Sharing", request_body = NewGrant,
    params(IdempotencyKey),
    responses((status = 201, description = "The link", body = GrantBody)),
)]
pub async fn create(
    owner: AppOwner,
    State(state): State<AppState>,
    key: IdempotencyKey,
    ExactJson { value: body, bytes }: ExactJson<NewGrant>,
) -> ApiResult<Response> {
    let now = state.clock.now();
    let AppOwner { app, caller, .. } = owner;
    let token = Secret::generate(SecretKind::Grant, &mut rand::rng());
    let new = access_ops::NewGrant {
        id: GrantId::new(),
        hash: token.hash(),
        role: NamedRole {
            name: body.role.as_str().into(),
            field: name_sent(&bytes, ["role", "custom_role"]),
        },
        max_uses: body.max_uses,
        expiry: Expiry::of(body.expires_at, body.expires_in_s)?,
    };
    let (id, url) = (app.id(), state.app_url(app.id(), &app.record().slug));
    let shown = move |grant: &Arc<Grant>| Created {
        location: format!("/v1/apps/{id}/grants/{}", grant.id),
        // No link is made for a role that is not declared.
        record: GrantBody::of(grant, true, now)
            .with_url(format!("{url}s/grant/{}", token.expose())),
    };
    let made = |reply: &Reply| match reply {
        Reply::Access(AccessReply::Grant(grant)) => Some(grant.clone()),
        _ => None,
    };
    let op = AccessOp::MintGrant(new).into();
    let request = key.request(caller.principal(), &["POST grants", &id.to_string()], &body);
    answer_once(shown, |kept| app.idempotent(request, kept, caller, op, made)).await
}

//! `PATCH /v1/apps/:id/members/:humanId`: sets or clears a member's custom role.

use axum::{Json, extract::State};
use rookery_actors::app::{
    access_ops::{AccessOp, AccessReply},
    message::Reply,
};
use rookery_domain::{Error, ErrorCode, id::HumanId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{named_role, record::MemberBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, ExactJson, RequestBody, strict::given},
        params::PathId,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// What a member is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateMember {
    /// A custom role of the manifest; null for none. `role` is understood too.
    #[serde(alias = "role", deserialize_with = "given")]
    #[schema(required)]
    custom_role: Option<String>,
}

impl RequestBody for UpdateMember {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Sets or clears a member's custom role.
///
/// It holds on the member's very next request, and for what it follows already.
#[utoipa::path(
    patch, path = "/v1/apps/{id}/members/{human_id}", tag = "Sharing", request_body = UpdateMember,
    responses((status = 200, description = "The member after it", body = MemberBody)),
)]
pub async fn update(
    owner: AppOwner,
    State(state): State<AppState>,
    PathId(human): PathId<HumanId>,
    ExactJson { value: body, bytes }: ExactJson<UpdateMember>,
) -> ApiResult<Json<MemberBody>> {
    let AppOwner { app, caller, .. } = owner;
    let custom_role = body.custom_role.map(|name| named_role(&name, &bytes));
    let op = AccessOp::SetMemberRole { human, custom_role };
    match app.apply(caller, op.into()).await? {
        Reply::Access(AccessReply::Member(member)) => {
            Ok(Json(MemberBody::of(&state, &member).map_err(Error::after_change)?))
        }
        other => Err(other.unexpected().into()),
    }
}

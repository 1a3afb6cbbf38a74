//! `PATCH /v1/orgs/:id/members/:humanId`: sets what a member is.

use axum::{Json, extract::State};
use rookery_domain::{ErrorCode, id::HumanId, orgs::OrgRole};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::OrgMemberBody;
use crate::{
    error::ApiResult,
    http::{
        auth::org::OrgAdmin,
        body::{BodyBound, RequestBody, StrictJson, strict::word},
        params::PathId,
    },
    openapi::words,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// What a member shall be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrgMemberPatch {
    /// The role.
    #[serde(deserialize_with = "word")]
    #[schema(value_type = words::OrgRoleBody)]
    role: OrgRole,
}

impl RequestBody for OrgMemberPatch {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Sets the role of a member.
///
/// The last admin cannot be demoted: `conflict`. Whoever loses the role acts as the owner of the
/// organization's apps no more, from the very next request on and in polls that are open.
#[utoipa::path(
    patch, path = "/v1/orgs/{id}/members/{human_id}", tag = "Organizations",
    request_body = OrgMemberPatch,
    responses((status = 200, description = "The member", body = OrgMemberBody)),
)]
pub async fn update(
    caller: OrgAdmin,
    State(state): State<AppState>,
    PathId(human): PathId<HumanId>,
    StrictJson(body): StrictJson<OrgMemberPatch>,
) -> ApiResult<Json<OrgMemberBody>> {
    let OrgAdmin { org, account, .. } = caller;
    let role = body.role;
    let member = state.rooms.directory.set_org_role(org, account, human, role).await?;
    Ok(Json(OrgMemberBody::of(&member)))
}

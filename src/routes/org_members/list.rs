//! `GET /v1/orgs/:id/members`: members and roles.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::HumanId};

use super::record::OrgMemberBody;
use crate::{
    error::ApiResult,
    http::{auth::org::OrgInsider, paging::Paging, params::StrictQuery, reply::Page},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists the members of an organization with their roles, in the order in which they came.
#[utoipa::path(
    get, path = "/v1/orgs/{id}/members", tag = "Organizations",
    params(Paging),
    responses((status = 200, description = "A page of members", body = Page<OrgMemberBody>)),
)]
pub async fn list(
    caller: OrgInsider,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OrgMemberBody>> {
    let org = caller.org.org.id;
    let page = query.of("/v1/orgs/{id}/members", org.uuid(), &state)?;
    let after = page.after(HumanId::from_uuid);
    let members = state.rooms.directory.org_members(org, after, page.wanted())?;
    Ok(page.show(
        members,
        |one| (one.member.created_at, one.member.human.uuid()),
        OrgMemberBody::of,
    ))
}

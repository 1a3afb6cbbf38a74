//! `GET /v1/orgs/:id/members`: members and roles.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::HumanId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::OrgMemberBody;
use crate::{
    error::ApiResult,
    http::{
        auth::org::OrgInsider,
        cursor::List,
        params::StrictQuery,
        reply::{Page, page_limit},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Members on a page, 1 to 200; 50 when absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the members of an organization with their roles, in the order in which they came.
#[utoipa::path(
    get, path = "/v1/orgs/{id}/members", tag = "Organizations",
    params(("id" = String, Path, description = "The organization's id"), Paging),
    responses((status = 200, description = "A page of members", body = Page<OrgMemberBody>)),
)]
pub async fn list(
    caller: OrgInsider,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OrgMemberBody>> {
    let limit = page_limit(query.limit)?;
    let org = caller.org.org.id;
    let list = List { route: "/v1/orgs/{id}/members", owner: org.uuid(), key: &state.rooms.key };
    let after = list.position(query.cursor.as_deref())?;
    let after = after.map(|(at, id)| (at, HumanId::from_uuid(id)));
    // One more than asked for tells whether there is another page.
    let mut members = state.rooms.directory.org_members(org, after, limit + 1)?;
    let more = members.len() > limit;
    members.truncate(limit);
    let last = members.last().filter(|_| more).map(|last| last.member);
    let next_cursor = last.map(|last| list.cursor(last.created_at, last.human.uuid()));
    Ok(Page { items: members.iter().map(OrgMemberBody::of).collect(), next_cursor })
}

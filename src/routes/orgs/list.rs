//! `GET /v1/orgs`: the organizations that the caller's account is in.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::OrgId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::OrgBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::Account,
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
    /// Organizations on a page, 1 to 200; 50 when absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the caller's organizations, newest first, with its role in each.
#[utoipa::path(
    get, path = "/v1/orgs", tag = "Organizations", params(Paging),
    responses((status = 200, description = "A page of organizations", body = Page<OrgBody>)),
)]
pub async fn list(
    caller: Account,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OrgBody>> {
    let limit = page_limit(query.limit)?;
    let account = caller.account;
    let list = List { route: "/v1/orgs", owner: account.uuid(), key: &state.rooms.key };
    let after = list.position(query.cursor.as_deref())?;
    let after = after.map(|(at, id)| (at, OrgId::from_uuid(id)));
    // One more than asked for tells whether there is another page.
    let mut orgs = state.rooms.directory.orgs_of(account, after, limit + 1)?;
    let more = orgs.len() > limit;
    orgs.truncate(limit);
    let last = orgs.last().filter(|_| more);
    let next_cursor = last.map(|last| list.cursor(last.org.created_at, last.org.id.uuid()));
    Ok(Page { items: orgs.iter().map(OrgBody::of).collect(), next_cursor })
}

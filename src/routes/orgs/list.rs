//! `GET /v1/orgs`: the organizations that the caller's account is in.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::OrgId};

use super::record::OrgBody;
use crate::{
    error::ApiResult,
    http::{auth::permission::Account, paging::Paging, params::StrictQuery, reply::Page},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

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
    let account = caller.account;
    let page = query.of("/v1/orgs", account.uuid(), &state)?;
    let after = page.after(OrgId::from_uuid);
    let orgs = state.rooms.directory.orgs_of(account, after, page.wanted())?;
    Ok(page.show(orgs, |one| (one.org.created_at, one.org.id.uuid()), OrgBody::of))
}

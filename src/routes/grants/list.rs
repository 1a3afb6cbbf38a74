//! `GET /v1/apps/:id/grants`: the grant links of an app.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::GrantId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::GrantBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
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
    /// Links on a page, 1 to 200; 50 when absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the grant links that are not revoked, newest first; never their tokens.
#[utoipa::path(
    get, path = "/v1/apps/{id}/grants", tag = "Sharing",
    params(("id" = String, Path, description = "The app's id or slug"), Paging),
    responses((status = 200, description = "A page of links", body = Page<GrantBody>)),
)]
pub async fn list(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<GrantBody>> {
    let limit = page_limit(query.limit)?;
    let app = owner.app;
    let list =
        List { route: "/v1/apps/{id}/grants", owner: app.id().uuid(), key: &state.rooms.key };
    let after = list.position(query.cursor.as_deref())?;
    let after = after.map(|(at, id)| (at, GrantId::from_uuid(id)));
    // One more than asked for tells whether there is another page.
    let wanted = u32::try_from(limit + 1).unwrap_or(u32::MAX);
    let mut grants = state.rooms.control().grants(&app, after, wanted).await?;
    let more = grants.len() > limit;
    grants.truncate(limit);
    let last = grants.last().filter(|_| more);
    let next_cursor = last.map(|last| list.cursor(last.created_at, last.id.uuid()));
    let now = state.clock.now();
    Ok(Page { items: grants.iter().map(|one| GrantBody::of(one, now)).collect(), next_cursor })
}

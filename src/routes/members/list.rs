//! `GET /v1/apps/:id/members`: the owner and the members.

use axum::extract::State;
use rookery_domain::{ErrorCode, Timestamp, id::HumanId};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::record::MemberBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        cursor::List,
        params::StrictQuery,
        reply::{PAGE_LIMIT_MAX, Page, page_limit},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// A place before every member and behind the owner.
const BEHIND_OWNER: (Timestamp, Uuid) = (Timestamp(i64::MIN), Uuid::nil());

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Rows on a page, 1 to 200; 50 when absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists who is in an app, with addresses and roles.
///
/// The owner comes first, then the members in the order in which they were added. Nobody is woken.
#[utoipa::path(
    get, path = "/v1/apps/{id}/members", tag = "Sharing",
    params(("id" = String, Path, description = "The app's id or slug"), Paging),
    responses((status = 200, description = "A page", body = Page<MemberBody>)),
)]
pub async fn list(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<MemberBody>> {
    let limit = page_limit(query.limit)?;
    let app = owner.app;
    let list =
        List { route: "/v1/apps/{id}/members", owner: app.id().uuid(), key: &state.rooms.key };
    let after = list.position(query.cursor.as_deref())?;
    let mut items = Vec::new();
    if after.is_none() {
        items.push(MemberBody::of_owner(&state, &app.record())?);
    }
    let room = limit - items.len();
    let after = after.unwrap_or(BEHIND_OWNER);
    // One more than there is room for tells whether there is another page.
    let wanted = u32::try_from(room.min(PAGE_LIMIT_MAX) + 1).unwrap_or(u32::MAX);
    let position = (after.0, HumanId::from_uuid(after.1));
    let members = state.rooms.control().members(&app, Some(position), wanted).await?;
    for member in members.iter().take(room) {
        items.push(MemberBody::of(&state, member)?);
    }
    let last = members.iter().take(room).next_back();
    let last = last.map_or(after, |last| (last.created_at, last.human.uuid()));
    let next_cursor = (members.len() > room).then(|| list.cursor(last.0, last.1));
    Ok(Page { items, next_cursor })
}

//! `GET /v1/apps/:id/members`: the owner and the members.

use axum::extract::State;
use rookery_domain::{ErrorCode, Timestamp, id::HumanId};
use uuid::Uuid;

use super::record::MemberBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        paging::{Paging, one_more},
        params::StrictQuery,
        reply::Page,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// A place before every member and behind the owner.
const BEHIND_OWNER: (Timestamp, HumanId) = (Timestamp(i64::MIN), HumanId::from_uuid(Uuid::nil()));

/// Lists who is in an app, with addresses and roles.
///
/// The owner comes first, then the members in the order in which they were added. Nobody is woken.
#[utoipa::path(
    get, path = "/v1/apps/{id}/members", tag = "Sharing",
    params(Paging),
    responses((status = 200, description = "A page", body = Page<MemberBody>)),
)]
pub async fn list(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<MemberBody>> {
    let app = owner.app;
    let page = query.of("/v1/apps/{id}/members", app.id().uuid(), &state)?;
    let mut items = Vec::new();
    let after = page.after(HumanId::from_uuid);
    if after.is_none() {
        items.push(MemberBody::of_owner(&state, &app.record())?);
    }
    let room = page.limit - items.len();
    let after = after.unwrap_or(BEHIND_OWNER);
    let members = state.rooms.control().members(&app, Some(after), one_more(room)).await?;
    let manifest = state.rooms.control().manifest(&app).await?;
    for member in members.iter().take(room) {
        items.push(MemberBody::of(&state, member)?.under(&manifest));
    }
    let last = members.iter().take(room).next_back();
    let last = last.map_or(after, |last| (last.created_at, last.human));
    let more = members.len() > room;
    let next_cursor = more.then(|| page.cursor((last.0, last.1.uuid())));
    Ok(Page { items, next_cursor })
}

//! `GET /v1/self/apps/recent`: what the human looked at last.

use axum::extract::State;
use rookery_domain::{ErrorCode, app::AppStatus, id::AppId};

use super::record::{OwnApp, OwnApps};
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, paging::Paging, params::StrictQuery, reply::Page},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists the apps that the human opened last, newest first, as far as it still sees them.
///
/// The last 200 are remembered.
#[utoipa::path(
    get, path = "/v1/self/apps/recent", tag = "Account", params(Paging),
    responses((status = 200, description = "A page of apps", body = Page<OwnApp>)),
)]
pub async fn list_recent_apps(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OwnApp>> {
    let page = query.of("/v1/self/apps/recent", caller.human.uuid(), &state)?;
    let after = page.after(AppId::from_uuid);
    let views = state.rooms.directory.views(caller.human).await?;
    let own_apps = OwnApps::open(&state, caller.human).await?;
    let (mut items, mut last) = (Vec::new(), None);
    for (id, at) in views {
        if after.is_some_and(|after| (at, id) >= after) {
            continue;
        }
        let app = match state.rooms.apps().by_id(id).await {
            Ok(app) => app,
            Err(error) if error.code == ErrorCode::AppNotFound => continue,
            Err(error) => return Err(error.into()),
        };
        let record = app.record();
        let is_there = matches!(record.status, AppStatus::Live | AppStatus::Closed);
        if !is_there || record.is_over(state.clock.now()) {
            continue;
        }
        let detail = match state.rooms.control().detail(&app).await {
            Ok(detail) => detail,
            Err(error) if error.code == ErrorCode::AppNotFound => continue,
            Err(error) => return Err(error.into()),
        };
        let Some(item) = own_apps.show(&app, detail, Some(at)).await? else { continue };
        if items.len() == page.limit {
            // There is more to see.
            return Ok(Page { items, next_cursor: last.map(|place| page.cursor(place)) });
        }
        items.push(item);
        last = Some((at, id.uuid()));
    }
    Ok(Page { items, next_cursor: None })
}

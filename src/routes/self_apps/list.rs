//! `GET /v1/self/apps`: the apps of the human.

use axum::extract::State;
use rookery_actors::control::AppList;
use rookery_domain::{ErrorCode, id::AppId};
use rookery_storage::apps::AppsOf;

use super::record::{OwnApp, Shelf};
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, paging::Paging, params::StrictQuery, reply::Page},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists the apps that the human owns, has joined, or acts for as an admin of their organization,
/// newest first; those in the trash have a list of their own.
///
/// `role` says which: `owner`, `member` or `admin`.
#[utoipa::path(
    get, path = "/v1/self/apps", tag = "Account", params(Paging),
    responses((status = 200, description = "A page of apps", body = Page<OwnApp>)),
)]
pub async fn list_own_apps(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OwnApp>> {
    let of = AppsOf::Seen(caller.human);
    page(&state, caller, "/v1/self/apps", of, AppList::default(), query).await
}

/// A page of one of the human's lists, in the order in which the apps were made.
pub(super) async fn page(
    state: &AppState,
    caller: HumanSession,
    route: &'static str,
    of: AppsOf,
    wanted: AppList,
    query: Paging,
) -> ApiResult<Page<OwnApp>> {
    let page = query.of(route, caller.human.uuid(), state)?;
    let wanted = AppList { after: page.after(AppId::from_uuid), ..wanted };
    let (apps, more) = state.rooms.control().list(of, wanted, page.limit).await?;
    let next_cursor = apps.last().filter(|_| more).map(|app| {
        let record = app.record();
        page.cursor((record.created_at, record.id.uuid()))
    });
    let shelf = Shelf::open(state, caller.human).await?;
    let mut items = Vec::with_capacity(apps.len());
    for app in &apps {
        items.extend(shelf.show(app, None).await?);
    }
    Ok(Page { items, next_cursor })
}

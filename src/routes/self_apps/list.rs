//! `GET /v1/self/apps`: the apps of the human.

use axum::extract::State;
use rookery_actors::control::{AppList, AppsOf, ShownStatus};
use rookery_domain::{
    ErrorCode,
    id::{AppId, OrgId},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::{OwnApp, OwnApps};
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, paging::Paging, params::StrictQuery, reply::Page},
    openapi::ids,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::Forbidden];

/// Which apps, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OwnAppsParams {
    /// The apps of this organization instead of the human's own; for its admins.
    #[param(value_type = Option<ids::OrgId>)]
    org_id: Option<OrgId>,
    /// Apps on the page, 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
}

/// Lists the apps that the human owns, has joined, or acts for as an admin of their organization,
/// newest first; those in the trash have a list of their own.
///
/// `role` says which: `owner`, `member` or `admin`. With `org_id` the list holds an organization's
/// apps for its admins. To a member `collections` names those in which it may do something, with
/// `row_count` where it may count; what is the owner's to know is null.
#[utoipa::path(
    get, path = "/v1/self/apps", tag = "Account", params(OwnAppsParams),
    responses((status = 200, description = "A page of apps", body = Page<OwnApp>)),
)]
pub async fn list_own_apps(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(OwnAppsParams { org_id, limit, cursor }): StrictQuery<OwnAppsParams>,
) -> ApiResult<Page<OwnApp>> {
    let list = match org_id {
        Some(org) => {
            state.rooms.directory.check_org_admin(caller.human, org)?;
            OwnList { route: "/v1/self/apps?org_id", of: AppsOf::Org(org), shown: None }
        }
        None => OwnList { route: "/v1/self/apps", of: AppsOf::Seen(caller.human), shown: None },
    };
    page(&state, caller, list, Paging::new(limit, cursor)).await
}

/// One of the human's lists of apps.
pub(super) struct OwnList {
    /// What its cursors are bound to.
    pub(super) route: &'static str,
    /// Whose apps.
    pub(super) of: AppsOf,
    /// Only those that do this; without it, all but the deleted ones.
    pub(super) shown: Option<ShownStatus>,
}

/// A page of a list, in the order in which the apps were made.
pub(super) async fn page(
    state: &AppState,
    caller: HumanSession,
    OwnList { route, of, shown }: OwnList,
    query: Paging,
) -> ApiResult<Page<OwnApp>> {
    let whose = match of {
        AppsOf::Org(org) => org.uuid(),
        AppsOf::Owner(_) | AppsOf::Run(_) | AppsOf::Seen(_) => caller.human.uuid(),
    };
    let page = query.of(route, whose, state)?;
    let after = page.after(AppId::from_uuid);
    let wanted = AppList { shown, after, ..AppList::default() };
    let (apps, more) = state.rooms.control().list(of, wanted, page.limit).await?;
    let next_cursor = apps.last().filter(|_| more).map(|listed| {
        let record = listed.app.record();
        page.cursor((record.created_at, record.id.uuid()))
    });
    let own_apps = OwnApps::open(state, caller.human).await?;
    let mut items = Vec::with_capacity(apps.len());
    for listed in apps {
        let (app, detail) = listed.detail();
        items.extend(own_apps.show(&app, detail, None).await?);
    }
    Ok(Page { items, next_cursor })
}

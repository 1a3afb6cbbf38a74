//! `GET /v1/self/apps`: the apps of the human.

use axum::extract::State;
use rookery_actors::control::{AppList, AppsOf};
use rookery_domain::{
    Error, ErrorCode,
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
    /// `true`: only the apps that the human joined as a member. `false`: only those that it owns or acts for
    /// as an admin. Not with `org_id`.
    shared: Option<bool>,
    /// `true`: only the human's favorites. `false`: only the others.
    favorite: Option<bool>,
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
/// `role` says which: `owner`, `member` or `admin`; `shared` and `favorite` ask for a part of them. With
/// `org_id` the list holds an organization's apps for its admins. To a member `collections` names those in
/// which it may do something, with `row_count` where it may count; what is the owner's to know is null.
#[utoipa::path(
    get, path = "/v1/self/apps", tag = "Account", params(OwnAppsParams),
    responses((status = 200, description = "A page of apps", body = Page<OwnApp>)),
)]
pub async fn list_own_apps(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(params): StrictQuery<OwnAppsParams>,
) -> ApiResult<Page<OwnApp>> {
    let OwnAppsParams { org_id, shared, favorite, limit, cursor } = params;
    let human = caller.human;
    let (mut scope, of) = match (org_id, shared) {
        (Some(_), Some(_)) => {
            let why = "`shared` goes by what the human is to an app: leave it out beside `org_id`";
            return Err(Error::invalid(why).into());
        }
        (Some(org), None) => {
            state.rooms.directory.check_org_admin(human, org)?;
            (format!("/v1/self/apps?org_id {}", org.uuid()), AppsOf::Org(org))
        }
        (None, None) => (format!("/v1/self/apps {}", human.uuid()), AppsOf::Seen(human)),
        (None, Some(true)) => {
            (format!("/v1/self/apps?shared {}", human.uuid()), AppsOf::Joined(human))
        }
        (None, Some(false)) => {
            (format!("/v1/self/apps?own {}", human.uuid()), AppsOf::Acted(human))
        }
    };
    if let Some(favorite) = favorite {
        scope.push_str(if favorite { " favorites" } else { " others" });
    }
    let marked = favorite.map(|favorite| (human, favorite));
    let list = OwnList { scope, of, wanted: AppList { marked, ..AppList::default() } };
    page(&state, caller, list, Paging::new(limit, cursor)).await
}

/// One of the human's lists of apps.
pub(super) struct OwnList {
    /// What its cursors are bound to.
    pub(super) scope: String,
    /// Whose apps.
    pub(super) of: AppsOf,
    /// Which of them.
    pub(super) wanted: AppList,
}

/// A page of a list, in the order in which the apps were made.
pub(super) async fn page(
    state: &AppState,
    caller: HumanSession,
    OwnList { scope, of, wanted }: OwnList,
    query: Paging,
) -> ApiResult<Page<OwnApp>> {
    let page = query.within(scope, state)?;
    let wanted = AppList { after: page.after(AppId::from_uuid), ..wanted };
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

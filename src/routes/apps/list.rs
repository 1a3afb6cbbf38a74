//! `GET /v1/apps`: the apps of the caller's account.

use axum::{extract::State, response::Response};
use rookery_actors::control::{AppList, AppsOf, ShownStatus};
use rookery_domain::{
    ErrorCode,
    id::{AppId, HumanId, OrgId},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::{self, AppRecordBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::ClaimedAgent,
        conditional::tagged,
        paging::Paging,
        params::StrictQuery,
        reply::{Page, to_json},
    },
    openapi::{ids, words},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound];

/// Which apps the list holds.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// Only apps whose record says this. Without it, all but the deleted ones.
    #[param(inline, value_type = Option<words::StatusBody>)]
    status: Option<ShownStatus>,
    /// Only the app with this slug.
    slug: Option<String>,
    /// The apps of this organization instead of the account's own; for its admins.
    #[param(value_type = Option<ids::OrgId>)]
    org_id: Option<OrgId>,
    /// Without `status`: the deleted ones too.
    #[serde(default)]
    include_deleted: bool,
    /// Apps on the page, 1 to 200; 50 when left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// Where the page begins: `next_cursor` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
}

/// Lists the account's apps, newest first.
///
/// They are described without being woken. Both `live` and `dormant` apps are served: a dormant one, as
/// every new app is, wakes with the first request for its rows.
#[utoipa::path(
    get, path = "/v1/apps", tag = "Apps", params(Query),
    responses(
        (status = 200, description = "A page, with a strong `ETag`", body = Page<AppRecordBody>),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn list(
    caller: ClaimedAgent,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Query>,
) -> ApiResult<Response> {
    let scope = scope(caller.owner, &query);
    let page = Paging::new(query.limit, query.cursor).within(scope, &state)?;
    let whose = match query.org_id {
        Some(org) => {
            state.rooms.directory.check_org_admin(caller.owner, org)?;
            AppsOf::Org(org)
        }
        None => AppsOf::Owner(caller.owner),
    };
    let wanted = AppList {
        shown: query.status,
        include_deleted: query.include_deleted,
        slug: query.slug,
        after: page.after(|id: AppId| id),
        ..AppList::default()
    };
    let (apps, more) = state.rooms.control().list(whose, wanted, page.limit).await?;
    let next_cursor = apps.last().filter(|_| more).map(|listed| {
        let record = listed.app.record();
        page.cursor((record.created_at, record.id))
    });
    let mut items = Vec::with_capacity(apps.len());
    for listed in apps {
        let (_, detail) = listed.detail();
        let owner = record::owner(&state, detail.record.owner)?;
        items.push(AppRecordBody::new(&state, detail, owner));
    }
    Ok(tagged(to_json(&Page { items, next_cursor })))
}

/// What a cursor is bound to: the account and the filter.
fn scope(owner: HumanId, query: &Query) -> String {
    let Query { status, slug, org_id, include_deleted, .. } = query;
    format!("apps {owner} {org_id:?} {status:?} {slug:?} {include_deleted}")
}

//! `GET /v1/self/apps/deleted`: the human's trash.

use axum::extract::State;
use rookery_actors::control::{AppList, AppsOf, ShownStatus};
use rookery_domain::ErrorCode;

use super::{
    list::{OwnList, page},
    record::OwnApp,
};
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, paging::Paging, params::StrictQuery, reply::Page},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists the deleted apps that the human can restore, newest first: their own, and those of
/// organizations that they are an admin of. `deleted_at` says since when, and from `purge_at` on
/// nothing brings one back.
#[utoipa::path(
    get, path = "/v1/self/apps/deleted", tag = "Account", params(Paging),
    responses((status = 200, description = "A page of apps", body = Page<OwnApp>)),
)]
pub async fn list_deleted_apps(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<OwnApp>> {
    let list = OwnList {
        scope: format!("/v1/self/apps/deleted {}", caller.human.uuid()),
        of: AppsOf::Run(caller.human),
        wanted: AppList { shown: Some(ShownStatus::Deleted), ..AppList::default() },
    };
    page(&state, caller, list, query).await
}

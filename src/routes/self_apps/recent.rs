//! `GET /v1/self/apps/recent`: what the human looked at last.

use axum::extract::State;
use rookery_domain::{Error, ErrorCode, app::AppStatus};
use rookery_storage::shelf;
use serde::Deserialize;
use utoipa::IntoParams;

use super::record::{OwnApp, Shelf};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        params::StrictQuery,
        reply::{Page, page_limit},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Recent {
    /// Apps to show, 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// Lists the apps that the human opened last, newest first, as far as it still sees them.
///
/// The last 200 are remembered, so this list has no second page.
#[utoipa::path(
    get, path = "/v1/self/apps/recent", tag = "Account", params(Recent),
    responses((status = 200, description = "The apps", body = Page<OwnApp>)),
)]
pub async fn list_recent_apps(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Recent>,
) -> ApiResult<Page<OwnApp>> {
    let limit = page_limit(query.limit)?;
    let views = shelf::views(&state.rooms.db, caller.human).await.map_err(Error::from)?;
    let shelf = Shelf::open(&state, caller.human).await?;
    let mut items = Vec::new();
    for (app, viewed_at) in views {
        if items.len() == limit {
            break;
        }
        let app = match state.rooms.apps().by_id(app).await {
            Ok(app) => app,
            Err(error) if error.code == ErrorCode::AppNotFound => continue,
            Err(error) => return Err(error.into()),
        };
        if matches!(app.record().status, AppStatus::Live | AppStatus::Closed) {
            items.extend(shelf.show(&app, Some(viewed_at)).await?);
        }
    }
    Ok(Page { items, next_cursor: None })
}

//! `/trash`: the human's deleted apps, until they are destroyed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{
    desk::{Desk, Frame, Section},
    home::Paging,
    records::{App, List},
};
use crate::error::ApiResult;

/// Apps on a page.
const APPS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "site/trash.html")]
struct TrashPage {
    frame: Frame,
    apps: Vec<App>,
    /// Leads to the page behind this one.
    next: Option<String>,
    /// Whether there is a page before this one.
    later: bool,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk).await)
}

async fn view(desk: &Desk) -> ApiResult<Response> {
    let paging: Paging = desk.query()?;
    let path = paging.path("/v1/self/apps/deleted", APPS_MAX);
    let apps: List<App> = desk.api.get(&path).await?;
    let page = TrashPage {
        frame: desk.frame(Section::Trash),
        apps: apps.items,
        next: apps.next_cursor,
        later: paging.is_later(),
    };
    Ok(desk.page(StatusCode::OK, &page)?)
}

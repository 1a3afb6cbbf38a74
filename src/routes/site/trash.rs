//! `/trash`: the human's deleted apps, until they are destroyed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{
    desk::Desk,
    frame::{Frame, Section},
    paging::{CursorTrail, ONLY, Pager},
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
    pager: Pager,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk).await)
}

async fn view(desk: &Desk) -> ApiResult<Response> {
    let trail = CursorTrail::of(desk, ONLY);
    let path = trail.path("/v1/self/apps/deleted", APPS_MAX);
    let apps: List<App> = desk.api.get(&path).await?;
    let page = TrashPage {
        frame: desk.frame(Section::Apps),
        apps: apps.items,
        pager: trail.pager("deleted apps", "/trash", apps.next_cursor),
    };
    Ok(desk.page(StatusCode::OK, &page)?)
}

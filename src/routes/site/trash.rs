//! `/trash`: the human's deleted apps, until they are destroyed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{
    frame::{Frame, Section},
    page_context::PageContext,
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
pub async fn page(context: PageContext) -> Response {
    context.answer(view(&context).await)
}

async fn view(context: &PageContext) -> ApiResult<Response> {
    let trail = CursorTrail::of(context, ONLY);
    let path = trail.path("/v1/self/apps/deleted", APPS_MAX);
    let apps: List<App> = context.api.get(&path).await?;
    let page = TrashPage {
        frame: context.frame(Section::Apps),
        apps: apps.items,
        pager: trail.pager("deleted apps", "/trash", apps.next_cursor),
    };
    Ok(context.page(StatusCode::OK, &page)?)
}

//! `/trash`: the human's deleted apps, until they are destroyed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{
    desk::{Desk, Frame, Section},
    records::{App, List},
};
use crate::error::ApiResult;

/// Apps that the page shows.
const APPS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "site/trash.html")]
struct TrashPage {
    frame: Frame,
    apps: Vec<App>,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk).await)
}

async fn view(desk: &Desk) -> ApiResult<Response> {
    let path = format!("/v1/self/apps/deleted?limit={APPS_MAX}");
    let apps: List<App> = desk.api.get(&path).await?;
    let page = TrashPage { frame: desk.frame(Section::Trash), apps: apps.items };
    Ok(desk.page(StatusCode::OK, &page)?)
}

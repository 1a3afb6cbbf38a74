//! `/apps/:id`: what an app is, what it does, what it holds.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::app_page::{AppPage, Tab};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{desk::Desk, frame::Frame},
};

#[derive(Template)]
#[template(path = "site/app/overview.html")]
struct OverviewPage {
    frame: Frame,
    app_page: AppPage,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Response {
    desk.answer(view(&desk, &id).await)
}

async fn view(desk: &Desk, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_anybody(desk, id, Tab::Overview).await?;
    Ok(desk.page(StatusCode::OK, &OverviewPage { frame, app_page })?)
}

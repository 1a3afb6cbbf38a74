//! `/apps/:id`: what an app is, what it does, what it holds.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use rookery_actors::control::ShownStatus;
use rookery_domain::manifest::Visibility;

use super::app_page::{AppPage, Tab};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{frame::Frame, page_context::PageContext},
};

#[derive(Template)]
#[template(path = "site/app/overview.html")]
struct OverviewPage {
    frame: Frame,
    app_page: AppPage,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id).await)
}

async fn view(context: &PageContext, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_anybody(context, id, Tab::Overview).await?;
    Ok(context.page(StatusCode::OK, &OverviewPage { frame, app_page })?)
}

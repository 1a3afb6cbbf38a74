//! `/apps/:id/usage`: what an app uses, in all and day by day.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use super::{
    analytics::{Query, WINDOWS},
    app_page::{AppPage, Tab},
};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        frame::Frame,
        page_context::PageContext,
        usage::{Flow, Step},
    },
};

#[derive(Deserialize)]
struct Usage {
    totals: Flow,
    series: Vec<Step>,
}

#[derive(Template)]
#[template(path = "site/app/usage.html")]
struct UsagePage {
    frame: Frame,
    app_page: AppPage,
    window: u16,
    windows: &'static [u16],
    totals: Flow,
    unit: &'static str,
    series: Vec<Step>,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id).await)
}

async fn view(context: &PageContext, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_anybody(context, id, Tab::Usage).await?;
    let window = context.query::<Query>()?.days();
    let Usage { totals, series } =
        context.api.get(&format!("/v1/apps/{id}/usage?days={window}")).await?;
    let page = UsagePage { frame, app_page, window, windows: WINDOWS, totals, unit: "day", series };
    Ok(context.page(StatusCode::OK, &page)?)
}

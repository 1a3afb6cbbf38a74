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
        desk::Desk,
        frame::Frame,
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
pub async fn page(desk: Desk, Path(id): Path<String>) -> Response {
    desk.answer(view(&desk, &id).await)
}

async fn view(desk: &Desk, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_anybody(desk, id, Tab::Usage).await?;
    let window = desk.query::<Query>()?.days();
    let Usage { totals, series } =
        desk.api.get(&format!("/v1/apps/{id}/usage?days={window}")).await?;
    let page = UsagePage { frame, app_page, window, windows: WINDOWS, totals, unit: "day", series };
    Ok(desk.page(StatusCode::OK, &page)?)
}

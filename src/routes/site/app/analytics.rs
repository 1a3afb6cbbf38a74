//! `/apps/:id/analytics`: how an app's pages are seen.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use super::app_page::{AppPage, Tab};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{frame::Frame, page_context::PageContext, words::Count},
};

/// Days that the page offers.
pub(super) const WINDOWS: &[u16] = &[7, 30, 90, 365];
/// Days where the address does not say.
pub(super) const DAYS: u16 = 30;

/// How long a report looks back.
#[derive(Deserialize)]
pub(super) struct Query {
    days: Option<u16>,
}

impl Query {
    /// One of the offered windows.
    pub(super) fn days(&self) -> u16 {
        self.days.filter(|days| WINDOWS.contains(days)).unwrap_or(DAYS)
    }
}

/// Views and visitors.
#[derive(Deserialize)]
struct Seen {
    pageviews: Count,
    uniques: Count,
}

#[derive(Deserialize)]
struct Day {
    date: String,
    #[serde(flatten)]
    seen: Seen,
}

#[derive(Deserialize)]
struct Country {
    country: String,
    #[serde(flatten)]
    seen: Seen,
}

#[derive(Deserialize)]
struct Referrer {
    referrer: String,
    #[serde(flatten)]
    seen: Seen,
}

#[derive(Deserialize)]
struct Analytics {
    totals: Seen,
    by_day: Vec<Day>,
    by_country: Vec<Country>,
    by_referrer: Vec<Referrer>,
}

#[derive(Template)]
#[template(path = "site/app/analytics.html")]
struct AnalyticsPage {
    frame: Frame,
    app_page: AppPage,
    window: u16,
    windows: &'static [u16],
    found: Analytics,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id).await)
}

async fn view(context: &PageContext, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_anybody(context, id, Tab::Analytics).await?;
    let window = context.query::<Query>()?.days();
    let found = context.api.get(&format!("/v1/apps/{id}/analytics?days={window}")).await?;
    let page = AnalyticsPage { frame, app_page, window, windows: WINDOWS, found };
    Ok(context.page(StatusCode::OK, &page)?)
}

//! `/usage`: what the account holds beside its limits, and what its apps used day by day.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use super::{
    desk::{Desk, Frame, Section},
    words::{Bytes, Count, percent},
};
use crate::error::ApiResult;

/// Days of the series.
const DAYS: u16 = 30;

#[derive(Template)]
#[template(path = "site/usage.html")]
struct UsagePage {
    frame: Frame,
    meters: Meters,
    per_app: PerApp,
    month: Month,
    days: Vec<Day>,
}

#[derive(Deserialize)]
struct Usage {
    meters: Meters,
    per_app: PerApp,
    month: Month,
}

#[derive(Deserialize)]
struct Meters {
    apps: Meter<Count>,
    rows: Meter<Count>,
    storage_bytes: Meter<Bytes>,
}

/// What is held, and may be.
#[derive(Deserialize)]
struct Meter<T> {
    used: T,
    limit: Option<T>,
}

impl Meter<Count> {
    fn percent(&self) -> Option<u64> {
        self.limit.map(|limit| percent(self.used.0, limit.0))
    }
}

#[derive(Deserialize)]
struct PerApp {
    rows_limit: Count,
    storage_bytes_limit: Bytes,
}

#[derive(Deserialize)]
struct Month {
    month: String,
    #[serde(flatten)]
    flow: Flow,
}

/// What flowed in some time.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Flow {
    /// Requests.
    pub(super) requests: Count,
    /// Rows written.
    pub(super) row_writes: Count,
    /// Polls of the feed.
    pub(super) feed_polls: Count,
    /// Page views.
    pub(super) page_views: Count,
    /// Bytes of answers.
    pub(super) bytes_out: Bytes,
}

/// A day of a series.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Day {
    /// `YYYY-MM-DD`.
    pub(super) date: String,
    /// What flowed.
    #[serde(flatten)]
    pub(super) flow: Flow,
}

#[derive(Deserialize)]
struct Series {
    series: Vec<Day>,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk).await)
}

async fn view(desk: &Desk) -> ApiResult<Response> {
    let series = format!("/v1/self/usage/series?granularity=day&days={DAYS}");
    let (usage, series) = tokio::try_join!(
        desk.api.get::<Usage>("/v1/self/usage"),
        desk.api.get::<Series>(&series),
    )?;
    let Usage { meters, per_app, month } = usage;
    let days = series.series;
    let page = UsagePage { frame: desk.frame(Section::Usage), meters, per_app, month, days };
    Ok(desk.page(StatusCode::OK, &page)?)
}

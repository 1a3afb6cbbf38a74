//! `/usage`: what the account holds beside its limits, and what its apps used day by day.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use super::{
    frame::{Frame, Section},
    page_context::PageContext,
    words::{At, Bytes, Count, percent},
};
use crate::error::ApiResult;

/// Days of the series by day.
const DAYS: u16 = 30;
/// Days of the series by hour.
const HOURLY_DAYS: u16 = 2;

#[derive(Template)]
#[template(path = "site/usage.html")]
struct UsagePage {
    frame: Frame,
    meters: Meters,
    per_app: PerApp,
    month: Month,
    unit: &'static str,
    days: u16,
    hourly_days: u16,
    series: Vec<Step>,
}

#[derive(Deserialize)]
struct Query {
    #[serde(default)]
    by: String,
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

/// A day or an hour of a series.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Step {
    /// A day, `YYYY-MM-DD`.
    date: Option<String>,
    /// The beginning of an hour.
    starts_at: Option<At>,
    /// What flowed.
    #[serde(flatten)]
    pub(super) flow: Flow,
}

impl Step {
    /// When it begins, for the chart.
    pub(super) fn at(&self) -> &str {
        match (&self.date, &self.starts_at) {
            (Some(date), _) => date,
            (None, Some(at)) => at.iso(),
            (None, None) => "",
        }
    }

    /// The same, for people.
    pub(super) fn words(&self) -> String {
        self.starts_at.as_ref().map_or_else(|| self.at().to_owned(), At::to_string)
    }
}

#[derive(Deserialize)]
struct Series {
    series: Vec<Step>,
}

/// The page.
pub async fn page(context: PageContext) -> Response {
    context.answer(view(&context).await)
}

async fn view(context: &PageContext) -> ApiResult<Response> {
    let (unit, days) = match &*context.query::<Query>()?.by {
        "hour" => ("hour", HOURLY_DAYS),
        _ => ("day", DAYS),
    };
    let series = format!("/v1/self/usage/series?granularity={unit}&days={days}");
    let (usage, series) = tokio::try_join!(
        context.api.get::<Usage>("/v1/self/usage"),
        context.api.get::<Series>(&series),
    )?;
    let Usage { meters, per_app, month } = usage;
    let page = UsagePage {
        frame: context.frame(Section::Usage),
        meters,
        per_app,
        month,
        unit,
        days: DAYS,
        hourly_days: HOURLY_DAYS,
        series: series.series,
    };
    Ok(context.page(StatusCode::OK, &page)?)
}

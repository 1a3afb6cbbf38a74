//! What apps and accounts used, and how apps' pages were seen (parts 4.2 and 4.7).
//!
//! Here are the shapes that the four reports share. Their days and hours are those of UTC, and
//! what is not over yet is shown as far as it has come.

pub mod account;
pub mod analytics;
pub mod app;
pub mod series;

use std::collections::BTreeMap;

use rookery_domain::{
    Error, Result, Timestamp,
    error::Parameter,
    meters::{Flows, Window, date},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How many days reports go back.
struct Reach {
    /// Where the caller does not say.
    default: u16,
    max: u16,
}

/// That of reports day by day.
const BY_DAY: Reach = Reach { default: 30, max: 366 };

impl Reach {
    /// The days of a report at `now`.
    fn window(&self, now: Timestamp, days: Option<u16>) -> Result<Window> {
        let Self { default, max } = *self;
        match days.unwrap_or(default) {
            days if (1..=max).contains(&days) => Ok(Window::ending(now, days)),
            _ => Err(Error::parameter(Parameter::Days, format_args!("must be 1 to {max}"))),
        }
    }
}

/// Which days.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Days {
    /// Days back from now, 1 to 366, today (UTC) included; 30 when left out.
    #[param(minimum = 1, maximum = 366)]
    days: Option<u16>,
}

/// The days that a report is about.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WindowBody {
    /// How many.
    days: i32,
    /// The first, `YYYY-MM-DD`.
    from: String,
    /// The last: today, as far as it has come.
    to: String,
    /// What a day is: always `UTC`.
    timezone: &'static str,
}

impl From<Window> for WindowBody {
    fn from(window: Window) -> Self {
        Self {
            days: window.last - window.first + 1,
            from: date(window.first),
            to: date(window.last),
            timezone: "UTC",
        }
    }
}

/// What flowed in some time.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct FlowBody {
    /// Requests that reached an app: its API routes, its pages, its participants' routes. Refused
    /// ones count once the app was found for the caller.
    requests: u64,
    /// Rows created, changed, deleted, restored or purged by a caller. Pruning by retention and
    /// emptying the trash count none.
    row_writes: u64,
    /// Polls of the feed, and streams opened.
    feed_polls: u64,
    /// Page views, as `analytics` counts them.
    page_views: u64,
    /// Bytes of the answers' bodies.
    bytes_out: u64,
}

impl From<Flows> for FlowBody {
    fn from(flows: Flows) -> Self {
        let Flows { requests, row_writes, feed_polls, page_views, bytes_out } = flows;
        Self { requests, row_writes, feed_polls, page_views, bytes_out }
    }
}

/// A day of a series.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DayBody {
    /// `YYYY-MM-DD`, in UTC.
    date: String,
    #[serde(flatten)]
    flow: FlowBody,
}

/// Every day of the window, also those without anything.
fn days(window: Window, stored: Vec<(i32, Flows)>) -> Vec<DayBody> {
    let stored: BTreeMap<i32, Flows> = stored.into_iter().collect();
    let flow = |day: &i32| stored.get(day).copied().unwrap_or_default().into();
    window.days().map(|day| DayBody { date: date(day), flow: flow(&day) }).collect()
}

fn total(stored: &[(i32, Flows)]) -> Flows {
    let mut sum = Flows::default();
    for (_, flows) in stored {
        sum += *flows;
    }
    sum
}

/// What flowed in the running calendar month (UTC).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MonthBody {
    /// `YYYY-MM`.
    month: String,
    /// Its first day.
    from: String,
    /// Today, as far as it has come.
    to: String,
    #[serde(flatten)]
    flow: FlowBody,
}

impl MonthBody {
    fn new(now: Timestamp, flows: Flows) -> Self {
        let window = Window::month_to_date(now);
        let from = date(window.first);
        Self {
            month: from[.."0000-00".len()].to_owned(),
            from,
            to: date(window.last),
            flow: flows.into(),
        }
    }
}

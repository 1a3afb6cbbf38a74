//! Meters: what an app's traffic is counted as, and the hours and days it is counted by.
//!
//! Hours and days are those of UTC, for apps and accounts alike: an account's apps may be in
//! different timezones, and a change of an app's timezone must not move what was counted. What a
//! page view tells about its visitor is in `visit`, telling visitors apart in `sketch`. What is
//! not here: where anything is counted or kept.

pub mod sketch;
pub mod visit;

use std::ops::AddAssign;

use crate::Timestamp;

const MICROS_PER_HOUR: i64 = 3_600_000_000;
/// Hours in a day of UTC.
pub const HOURS_PER_DAY: i32 = 24;

/// One kind of flow that is counted while requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Requests that reached the app: its API routes, its pages, its participants' routes.
    Requests,
    /// Rows created, changed, deleted, restored or purged because somebody asked.
    RowWrites,
    /// Polls of the feed, and streams opened.
    FeedPolls,
    /// Bytes of answers' bodies, before any transfer encoding.
    BytesOut,
}

/// Flow over some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flows {
    /// [`Flow::Requests`].
    pub requests: u64,
    /// [`Flow::RowWrites`].
    pub row_writes: u64,
    /// [`Flow::FeedPolls`].
    pub feed_polls: u64,
    /// Pages shown to somebody (see [`visit::is_view`]).
    pub page_views: u64,
    /// [`Flow::BytesOut`].
    pub bytes_out: u64,
}

impl Flows {
    /// Whether nothing flowed.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Flows {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.row_writes += more.row_writes;
        self.feed_polls += more.feed_polls;
        self.page_views += more.page_views;
        self.bytes_out += more.bytes_out;
    }
}

/// The hour at `at`, counted from 1970-01-01T00Z.
#[must_use]
pub const fn hour_of(at: Timestamp) -> i32 {
    // In the times at which a server runs there are fewer than 2^31 hours (decision 46).
    at.0.div_euclid(MICROS_PER_HOUR) as i32
}

/// When an hour begins.
#[must_use]
pub const fn start_of_hour(hour: i32) -> Timestamp {
    Timestamp(hour as i64 * MICROS_PER_HOUR)
}

/// The day of an hour, counted from 1970-01-01.
#[must_use]
pub const fn day_of_hour(hour: i32) -> i32 {
    hour.div_euclid(HOURS_PER_DAY)
}

/// `YYYY-MM-DD`.
#[must_use]
pub fn date(day: i32) -> String {
    let mut text = start_of_hour(day * HOURS_PER_DAY).to_string();
    text.truncate("0000-00-00".len());
    text
}

/// Some whole days, the last of which is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first day.
    pub first: i32,
    /// The last day: today.
    pub last: i32,
}

impl Window {
    /// The `days` that end with the day of `now`; at least one.
    #[must_use]
    pub fn ending(now: Timestamp, days: u16) -> Self {
        let last = day_of_hour(hour_of(now));
        Self { first: last - i32::from(days.max(1)) + 1, last }
    }

    /// The calendar month of `now`, as far as it has come.
    #[must_use]
    pub fn month_to_date(now: Timestamp) -> Self {
        let last = day_of_hour(hour_of(now));
        let of_month: i32 = date(last)[8..].parse().unwrap_or(1);
        Self { first: last - of_month + 1, last }
    }

    /// Its days, the earliest first.
    pub fn days(self) -> impl Iterator<Item = i32> {
        self.first..=self.last
    }

    /// Its first hour.
    #[must_use]
    pub const fn first_hour(self) -> i32 {
        self.first * HOURS_PER_DAY
    }

    /// The hour behind its last one.
    #[must_use]
    pub const fn end_hour(self) -> i32 {
        (self.last + 1) * HOURS_PER_DAY
    }
}

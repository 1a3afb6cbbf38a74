//! Sums of a window, as the reports show them. Hours and days without anything are left out.

use rookery_domain::{
    id::{AppId, HumanId},
    meters::{Flows, Window},
};

use super::SourceKind;
use crate::{
    columns::{FromColumns, Read, ReadColumns, record},
    db::{Args, Db, args},
    error::Result,
};

/// Page views and visitors of an hour or a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The hour or day.
    pub period: i32,
    /// Page views.
    pub page_views: u64,
    /// Different visitors in that time.
    pub visitors: u64,
}

/// Page views and visitors from one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSum {
    /// Its name.
    pub name: String,
    /// Page views.
    pub page_views: u64,
    /// Visitors, each counted once a day.
    pub visitors: u64,
}

/// An hour or a day, and its flow.
struct Period(i32, Flows);

impl FromColumns for Period {
    const WHAT: &'static str = "Flows";

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let flows = Flows {
            requests: columns.get(1)?,
            row_writes: columns.get(2)?,
            feed_polls: columns.get(3)?,
            page_views: columns.get(4)?,
            bytes_out: columns.get(5)?,
        };
        Ok(Self(columns.get(0)?, flows))
    }
}

record!(Seen: period, page_views, visitors);
record!(SourceSum: name, page_views, visitors);

/// The flow of every hour or day that a statement finds.
async fn flows(db: &Db, sql: &'static str, args: Args) -> Result<Vec<(i32, Flows)>> {
    let rows: Vec<Period> = db.all(sql, args).await?;
    Ok(rows.into_iter().map(|Period(period, flows)| (period, flows)).collect())
}

/// Flow of an app by the day, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn app_days(db: &Db, app: AppId, window: Window) -> Result<Vec<(i32, Flows)>> {
    flows(
        db,
        "select hour / 24, cast(sum(requests) as bigint), cast(sum(row_writes) as bigint),
                cast(sum(feed_polls) as bigint), cast(sum(page_views) as bigint),
                cast(sum(bytes_out) as bigint)
         from app_hours where app_id = $1 and hour >= $2 and hour < $3
         group by hour / 24 order by hour / 24",
        args![app, window.first_hour(), window.end_hour()],
    )
    .await
}

/// Flow of an account by the day, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn account_days(db: &Db, human: HumanId, window: Window) -> Result<Vec<(i32, Flows)>> {
    flows(
        db,
        "select hour / 24, cast(sum(requests) as bigint), cast(sum(row_writes) as bigint),
                cast(sum(feed_polls) as bigint), cast(sum(page_views) as bigint),
                cast(sum(bytes_out) as bigint)
         from account_hours where human_id = $1 and hour >= $2 and hour < $3
         group by hour / 24 order by hour / 24",
        args![human, window.first_hour(), window.end_hour()],
    )
    .await
}

/// Flow of an account by the hour, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn account_hours(db: &Db, human: HumanId, window: Window) -> Result<Vec<(i32, Flows)>> {
    flows(
        db,
        "select hour, requests, row_writes, feed_polls, page_views, bytes_out
         from account_hours where human_id = $1 and hour >= $2 and hour < $3 order by hour",
        args![human, window.first_hour(), window.end_hour()],
    )
    .await
}

/// Page views and visitors of an app by the day, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn seen_days(db: &Db, app: AppId, window: Window) -> Result<Vec<Seen>> {
    db.all(
        "select h.day, h.page_views, coalesce(d.visitors, 0)
         from (select hour / 24 as day, cast(sum(page_views) as bigint) as page_views
               from app_hours
               where app_id = $1 and hour >= $2 and hour < $3 and page_views > 0
               group by hour / 24) h
         left join app_days d on d.app_id = $1 and d.day = h.day
         order by h.day",
        args![app, window.first_hour(), window.end_hour()],
    )
    .await
}

/// Page views and visitors of an app by the hour, from `first` until before `end`, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn seen_hours(db: &Db, app: AppId, first: i32, end: i32) -> Result<Vec<Seen>> {
    db.all(
        "select hour, page_views, visitors from app_hours
         where app_id = $1 and hour >= $2 and hour < $3 and page_views > 0 order by hour",
        args![app, first, end],
    )
    .await
}

/// Where an app's views came from: the `limit` places with the most views, most first.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn sources(
    db: &Db,
    app: AppId,
    kind: SourceKind,
    window: Window,
    limit: u32,
) -> Result<Vec<SourceSum>> {
    db.all(
        "select name, cast(sum(page_views) as bigint), cast(sum(visitors) as bigint)
         from app_sources where app_id = $1 and kind = $2 and day >= $3 and day <= $4
         group by name order by sum(page_views) desc, name limit $5",
        args![app, kind, window.first, window.last, limit],
    )
    .await
}

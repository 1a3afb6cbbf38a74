//! Sums of a window, as the reports show them. Hours and days without anything are left out.

use rookery_domain::{
    id::{AppId, HumanId},
    meters::{Flows, Window},
};

use super::SourceKind;
use crate::{
    db::{Db, args},
    decode,
    error::Result,
};

/// Flow and hour or day.
type FlowColumns = (i64, i64, i64, i64, i64, i64);

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

/// Flow of an app by the day, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn app_days(db: &Db, app: AppId, window: Window) -> Result<Vec<(i32, Flows)>> {
    let rows: Vec<FlowColumns> = db
        .all(
            "select hour / 24, cast(sum(requests) as bigint), cast(sum(row_writes) as bigint),
                    cast(sum(feed_polls) as bigint), cast(sum(page_views) as bigint),
                    cast(sum(bytes_out) as bigint)
             from app_hours where app_id = $1 and hour >= $2 and hour < $3
             group by hour / 24 order by hour / 24",
            args![app, i64::from(window.first_hour()), i64::from(window.end_hour())],
        )
        .await?;
    rows.into_iter().map(flows).collect()
}

/// Flow of an account by the day, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn account_days(db: &Db, human: HumanId, window: Window) -> Result<Vec<(i32, Flows)>> {
    let rows: Vec<FlowColumns> = db
        .all(
            "select hour / 24, cast(sum(requests) as bigint), cast(sum(row_writes) as bigint),
                    cast(sum(feed_polls) as bigint), cast(sum(page_views) as bigint),
                    cast(sum(bytes_out) as bigint)
             from account_hours where human_id = $1 and hour >= $2 and hour < $3
             group by hour / 24 order by hour / 24",
            args![human, i64::from(window.first_hour()), i64::from(window.end_hour())],
        )
        .await?;
    rows.into_iter().map(flows).collect()
}

/// Flow of an account by the hour, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn account_hours(db: &Db, human: HumanId, window: Window) -> Result<Vec<(i32, Flows)>> {
    let rows: Vec<FlowColumns> = db
        .all(
            "select hour, requests, row_writes, feed_polls, page_views, bytes_out
             from account_hours where human_id = $1 and hour >= $2 and hour < $3 order by hour",
            args![human, i64::from(window.first_hour()), i64::from(window.end_hour())],
        )
        .await?;
    rows.into_iter().map(flows).collect()
}

/// Page views and visitors of an app by the day, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn seen_days(db: &Db, app: AppId, window: Window) -> Result<Vec<Seen>> {
    let rows: Vec<(i64, i64, i64)> = db
        .all(
            "select h.day, h.page_views, coalesce(d.visitors, 0)
             from (select hour / 24 as day, cast(sum(page_views) as bigint) as page_views
                   from app_hours
                   where app_id = $1 and hour >= $2 and hour < $3 and page_views > 0
                   group by hour / 24) h
             left join app_days d on d.app_id = $1 and d.day = h.day
             order by h.day",
            args![app, i64::from(window.first_hour()), i64::from(window.end_hour())],
        )
        .await?;
    rows.into_iter().map(seen).collect()
}

/// Page views and visitors of an app by the hour, from `first` until before `end`, in order.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn seen_hours(db: &Db, app: AppId, first: i32, end: i32) -> Result<Vec<Seen>> {
    let rows: Vec<(i64, i64, i64)> = db
        .all(
            "select hour, page_views, visitors from app_hours
             where app_id = $1 and hour >= $2 and hour < $3 and page_views > 0 order by hour",
            args![app, i64::from(first), i64::from(end)],
        )
        .await?;
    rows.into_iter().map(seen).collect()
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
    let rows: Vec<(String, i64, i64)> = db
        .all(
            "select name, cast(sum(page_views) as bigint), cast(sum(visitors) as bigint)
             from app_sources where app_id = $1 and kind = $2 and day >= $3 and day <= $4
             group by name order by sum(page_views) desc, name limit $5",
            args![app, kind.code(), i64::from(window.first), i64::from(window.last), limit],
        )
        .await?;
    rows.into_iter()
        .map(|(name, page_views, visitors)| {
            Ok(SourceSum {
                name,
                page_views: decode::number("app_sources.page_views", page_views)?,
                visitors: decode::number("app_sources.visitors", visitors)?,
            })
        })
        .collect()
}

fn flows(columns: FlowColumns) -> Result<(i32, Flows)> {
    let (period, requests, row_writes, feed_polls, page_views, bytes_out) = columns;
    let flows = Flows {
        requests: decode::number("requests", requests)?,
        row_writes: decode::number("row_writes", row_writes)?,
        feed_polls: decode::number("feed_polls", feed_polls)?,
        page_views: decode::number("page_views", page_views)?,
        bytes_out: decode::number("bytes_out", bytes_out)?,
    };
    Ok((decode::number("hour", period)?, flows))
}

fn seen((period, page_views, visitors): (i64, i64, i64)) -> Result<Seen> {
    Ok(Seen {
        period: decode::number("hour", period)?,
        page_views: decode::number("page_views", page_views)?,
        visitors: decode::number("visitors", visitors)?,
    })
}

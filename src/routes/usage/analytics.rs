//! `GET /v1/apps/:id/analytics`: how an app's pages were seen.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use rookery_actors::meters::Analytics;
use rookery_domain::{
    ErrorCode, Timestamp,
    meters::{Window, date, start_of_hour},
};
use rookery_storage::meters::read::{Seen, SourceSum};
use serde::Serialize;
use utoipa::ToSchema;

use super::{BY_DAY, Days, WindowBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppMember, Readable},
        params::StrictQuery,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Views and visitors.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct SeenBody {
    /// Page views.
    pageviews: u64,
    /// Different visitors.
    uniques: u64,
}

/// A day.
#[derive(Debug, Serialize, ToSchema)]
pub struct SeenDayBody {
    /// `YYYY-MM-DD`, in UTC.
    date: String,
    #[serde(flatten)]
    seen: SeenBody,
}

/// An hour.
#[derive(Debug, Serialize, ToSchema)]
pub struct SeenHourBody {
    /// When it begins.
    #[schema(value_type = String, format = DateTime)]
    starts_at: Timestamp,
    #[serde(flatten)]
    seen: SeenBody,
}

/// A country.
#[derive(Debug, Serialize, ToSchema)]
pub struct SeenCountryBody {
    /// ISO 3166-1 alpha-2, or `unknown`.
    country: String,
    #[serde(flatten)]
    seen: SeenBody,
}

/// A site that led to the app.
#[derive(Debug, Serialize, ToSchema)]
pub struct SeenReferrerBody {
    /// Its host; `direct` for none (or the app itself), `other` for all that are not named.
    referrer: String,
    #[serde(flatten)]
    seen: SeenBody,
}

/// How an app's pages were seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnalyticsBody {
    #[serde(flatten)]
    window: WindowBody,
    /// Over the whole window; who comes on two days counts on both.
    totals: SeenBody,
    /// Every day of the window, the earliest first.
    by_day: Vec<SeenDayBody>,
    /// Every hour of the window's last seven days until now, the earliest first.
    by_hour: Vec<SeenHourBody>,
    /// Most views first.
    by_country: Vec<SeenCountryBody>,
    /// Most views first, `other` last.
    by_referrer: Vec<SeenReferrerBody>,
}

/// Shows how an app's pages were seen.
///
/// A page view is a GET that was answered with the app's document or another HTML page, or with
/// "not modified" for one. No views are: HEAD, pages that a browser fetches ahead (`Sec-Purpose:
/// prefetch`), documents that a script fetches (`Sec-Fetch-Dest`), and clients whose user agent
/// says that they are bots.
///
/// Visitors are told apart without a cookie, by a keyed hash of client network and user agent. Its
/// key is drawn at random each day and destroyed with all hashes when the day is over: `uniques` of
/// a day or an hour are different visitors of that time, and longer ones are sums of days. Up to
/// 512 visitors a day are counted exactly, more with a standard error of about 1.3 percent. In
/// `by_country` and `by_referrer` a visitor counts once a day, at the first place it came from.
///
/// The country comes from the operator's proxy or network database, else it is `unknown`. Of a
/// referrer only the host is kept; 100 hosts a day are told apart, further ones are `other`, and
/// each list here names at most 100.
///
/// Counts are complete until this request; the app is not woken. They are kept in memory first and
/// written in batches, so a crash of the server may lose those of the last interval
/// (`meters.rollup_interval_s`). Days and hours are those of UTC; those before
/// `meters.retention_days` are empty.
#[utoipa::path(
    get, path = "/v1/apps/{id}/analytics", tag = "Apps",
    params(Days),
    responses((status = 200, description = "Views and visitors", body = AnalyticsBody)),
)]
pub async fn analytics(
    member: AppMember<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Days>,
) -> ApiResult<Json<AnalyticsBody>> {
    let window = BY_DAY.window(state.clock.now(), query.days)?;
    let found = state.rooms.control().analytics(&member.app, window).await?;
    Ok(Json(AnalyticsBody::new(window, found)))
}

impl AnalyticsBody {
    fn new(window: Window, found: Analytics) -> Self {
        let (days, hours) = (by_period(&found.days), by_period(&found.hours));
        let of = |seen: &BTreeMap<i32, SeenBody>, period: i32| {
            seen.get(&period).copied().unwrap_or_default()
        };
        let day = |day| SeenDayBody { date: date(day), seen: of(&days, day) };
        let hour = |hour| SeenHourBody { starts_at: start_of_hour(hour), seen: of(&hours, hour) };
        let share = |one: &SourceSum| SeenBody { pageviews: one.page_views, uniques: one.visitors };
        Self {
            window: window.into(),
            totals: SeenBody { pageviews: found.page_views, uniques: found.visitors },
            by_day: window.days().map(day).collect(),
            by_hour: (found.first_hour..=found.last_hour).map(hour).collect(),
            by_country: found
                .countries
                .into_iter()
                .map(|one| SeenCountryBody { seen: share(&one), country: one.name })
                .collect(),
            by_referrer: found
                .referrers
                .into_iter()
                .map(|one| SeenReferrerBody { seen: share(&one), referrer: one.name })
                .collect(),
        }
    }
}

fn by_period(seen: &[Seen]) -> BTreeMap<i32, SeenBody> {
    let body = |one: &Seen| SeenBody { pageviews: one.page_views, uniques: one.visitors };
    seen.iter().map(|one| (one.period, body(one))).collect()
}

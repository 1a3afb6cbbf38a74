//! `GET /v1/self/usage/series`: what the account's apps used, day by day or hour by hour.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use rookery_domain::{
    ErrorCode, Timestamp,
    meters::{Flows, Window, hour_of, start_of_hour},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{BY_DAY, DayBody, FlowBody, MonthBody, Reach, WindowBody, days};
use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, params::StrictQuery},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// How many days an hourly series goes back.
const BY_HOUR: Reach = Reach { default: 2, max: 31 };

/// The steps of a series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// Day by day.
    #[default]
    Day,
    /// Hour by hour.
    Hour,
}

/// Which series.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// `day` (when left out) or `hour`.
    #[serde(default)]
    #[param(inline)]
    granularity: Granularity,
    /// Days back from now, today (UTC) included. By day 1 to 366, 30 when left out; by hour 1 to
    /// 31, 2 when left out.
    #[param(minimum = 1, maximum = 366)]
    days: Option<u16>,
}

/// An hour of a series.
#[derive(Debug, Serialize, ToSchema)]
pub struct HourBody {
    /// When it begins.
    #[schema(value_type = String, format = DateTime)]
    starts_at: Timestamp,
    #[serde(flatten)]
    flow: FlowBody,
}

/// A step of a series.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum StepBody {
    /// By day.
    Day(DayBody),
    /// By hour.
    Hour(HourBody),
}

/// What an account's apps used over time.
#[derive(Debug, Serialize, ToSchema)]
pub struct SeriesBody {
    /// The steps of `series`.
    granularity: Granularity,
    #[serde(flatten)]
    window: WindowBody,
    /// Every step of the window until now, the earliest first.
    series: Vec<StepBody>,
    /// The running calendar month (UTC), whatever the window.
    month_to_date: MonthBody,
}

/// Shows what the account's apps used over time.
///
/// Days, hours and months are those of UTC; by hour `days` is 31 at most. As in `GET
/// /v1/self/usage`, an app counts while it is the account's own.
#[utoipa::path(
    get, path = "/v1/self/usage/series", tag = "Account", params(Query),
    responses((status = 200, description = "A series and the month", body = SeriesBody)),
)]
pub async fn series(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Query>,
) -> ApiResult<Json<SeriesBody>> {
    let now = state.clock.now();
    let control = state.rooms.control();
    let (window, series) = match query.granularity {
        Granularity::Day => {
            let window = BY_DAY.window(now, query.days)?;
            let stored = control.account_days(caller.human, window).await?;
            (window, days(window, stored).into_iter().map(StepBody::Day).collect())
        }
        Granularity::Hour => {
            let window = BY_HOUR.window(now, query.days)?;
            let stored = control.account_hours(caller.human, window).await?;
            (window, hours(window, hour_of(now), stored))
        }
    };
    let month = control.month_to_date(caller.human).await?;
    Ok(Json(SeriesBody {
        granularity: query.granularity,
        window: window.into(),
        series,
        month_to_date: MonthBody::new(now, month),
    }))
}

/// Every hour of the window until the running one.
fn hours(window: Window, running: i32, stored: Vec<(i32, Flows)>) -> Vec<StepBody> {
    let stored: BTreeMap<i32, Flows> = stored.into_iter().collect();
    let step = |hour: i32| {
        let flow = stored.get(&hour).copied().unwrap_or_default().into();
        StepBody::Hour(HourBody { starts_at: start_of_hour(hour), flow })
    };
    (window.first_hour()..=running).map(step).collect()
}

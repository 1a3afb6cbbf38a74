//! `GET /v1/apps/:id/usage`: what an app used, in all and day by day.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::{BY_DAY, DayBody, Days, FlowBody, WindowBody, days, total};
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

/// What an app used.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppUsageBody {
    #[serde(flatten)]
    window: WindowBody,
    /// Over the whole window.
    totals: FlowBody,
    /// Every day of the window, the earliest first.
    series: Vec<DayBody>,
}

/// Shows what an app used.
///
/// Counts are complete until this request; the app is not woken. They are kept in memory first and
/// written in batches, so a crash of the server may lose those of the last interval
/// (`meters.rollup_interval_s`). Days are those of UTC. Days before `meters.retention_days` are
/// empty.
#[utoipa::path(
    get, path = "/v1/apps/{id}/usage", tag = "Apps",
    params(Days),
    responses((status = 200, description = "Totals and a daily series", body = AppUsageBody)),
)]
pub async fn app_usage(
    member: AppMember<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Days>,
) -> ApiResult<Json<AppUsageBody>> {
    let window = BY_DAY.window(state.clock.now(), query.days)?;
    let stored = state.rooms.control().usage(&member.app, window).await?;
    Ok(Json(AppUsageBody {
        window: window.into(),
        totals: total(&stored).into(),
        series: days(window, stored),
    }))
}

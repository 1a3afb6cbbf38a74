//! `GET /ops/api/restarts`: the last crashes one by one, and the apps that are held back.

use axum::{Json, extract::State};
use rookery_actors::observe::lifecycle::{CRASHES_KEPT, Crash};
use rookery_domain::ErrorCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{app::AppLine, operator::Operator};
use crate::{
    error::ApiResult,
    http::params::{StrictQuery, check_limit},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];
/// Crashes in one page, where the request does not say.
pub const PAGE: usize = 100;
/// Held apps that are listed.
pub const HELD_MAX: usize = 200;

/// Which page.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RestartsQuery {
    /// Only crashes with numbers below this one (`next` of the page before).
    pub before: Option<u64>,
    /// At most this many: 1 to 1,000, 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// Crashes and what followed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Restarts {
    /// Newest first.
    pub items: Vec<Restart>,
    /// `before` of the next page, if there is one.
    pub next: Option<u64>,
    /// Apps that wait to restart or are quarantined, at most 200.
    pub held: Vec<AppLine>,
}

/// One crash.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Restart {
    /// Its number since the process started.
    pub number: u64,
    /// When, RFC 3339.
    pub at: String,
    /// The app's id; absent for a part of the service itself.
    pub app: Option<String>,
    /// The app's slug, or the name of the part.
    pub subject: String,
    /// What the crash said.
    pub cause: String,
    /// `restart`, `backoff` or `quarantine`.
    pub decision: String,
    /// Crashes in the streak, this one included.
    pub crashes: u32,
}

impl From<Crash> for Restart {
    fn from(crash: Crash) -> Self {
        Self {
            number: crash.number,
            at: crash.at.to_string(),
            app: crash.app.map(|app| app.to_string()),
            subject: crash.subject,
            cause: crash.cause,
            decision: crash.decision.as_str().to_owned(),
            crashes: crash.crashes,
        }
    }
}

/// A page of crashes.
#[must_use]
pub fn page(state: &AppState, query: RestartsQuery) -> Restarts {
    let apps = state.rooms.apps();
    let limit = query.limit.unwrap_or(PAGE).clamp(1, CRASHES_KEPT);
    let mut crashes = apps.crashes(query.before, limit + 1);
    let more = crashes.len() > limit;
    crashes.truncate(limit);
    let next = crashes.last().map(|crash| crash.number).filter(|_| more);
    Restarts {
        items: crashes.into_iter().map(Restart::from).collect(),
        next,
        held: apps.held(HELD_MAX).iter().map(AppLine::of).collect(),
    }
}

/// The last 1,000 crashes, newest first, and the apps that are held back after theirs.
#[utoipa::path(
    get, path = "/ops/api/restarts", tag = "Operators", params(RestartsQuery),
    responses((status = 200, description = "A page of crashes", body = Restarts)),
)]
pub async fn restarts(
    _: Operator,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<RestartsQuery>,
) -> ApiResult<Json<Restarts>> {
    check_limit(query.limit, CRASHES_KEPT)?;
    Ok(Json(page(&state, query)))
}

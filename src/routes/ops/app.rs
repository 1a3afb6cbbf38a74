//! `GET /ops/api/apps/:id`: one app, closely.

use axum::{Json, extract::State};
use rookery_actors::{
    AppHandle, SlotState,
    observe::{
        activity::{SeenMessage, WatchedSecond},
        histogram::Distribution,
        view::AppView,
    },
};
use rookery_domain::{ErrorCode, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::operator::Operator;
use crate::{
    error::ApiResult,
    http::params::Path,
    ops::view::{bytes, number, time},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::AppNotFound];

/// Where operators find an app's id.
const NAMED: &str = "Check the id or slug: GET /ops/api/tree and GET /ops/api/hot name apps.";

/// One line of a list of apps.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AppLine {
    /// Its id.
    pub id: String,
    /// Its slug.
    pub slug: String,
    /// `dormant`, `waking`, `live`, `restarting`, `quarantined` or `gone`.
    pub state: String,
    /// Messages queued or uncommitted.
    pub queued: u64,
    /// Long-polls and streams that wait.
    pub followers: u64,
    /// Live rows in memory.
    pub rows: u64,
    /// About how many bytes it holds in memory.
    pub resident_bytes: u64,
    /// Milliseconds since somebody last asked for it.
    pub idle_ms: u64,
    /// Crashes in the present streak.
    pub crashes: u32,
}

impl AppLine {
    /// What [`AppLine::cells`] are called.
    pub const COLUMNS: [&str; 8] =
        ["App", "State", "Queued", "Waiters", "Rows", "Memory", "Idle", "Crashes"];

    /// The line as people read it.
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        vec![
            self.slug.clone(),
            self.state.clone(),
            self.queued.to_string(),
            self.followers.to_string(),
            number(self.rows as f64),
            bytes(self.resident_bytes as f64),
            time(self.idle_ms as f64 / 1e3),
            self.crashes.to_string(),
        ]
    }

    /// What is seen of `app` from outside. Wakes nothing.
    #[must_use]
    pub fn of(app: &AppHandle) -> Self {
        let seen = app.observe();
        Self {
            id: app.id().to_string(),
            slug: app.record().slug.to_string(),
            state: state_name(&seen.state).to_owned(),
            queued: seen.queued as u64,
            followers: seen.followers as u64,
            rows: seen.rows,
            resident_bytes: seen.resident_bytes,
            idle_ms: seen.idle_ms,
            crashes: seen.crashes,
        }
    }
}

/// The name of a state, as operators read it.
#[must_use]
const fn state_name(state: &SlotState) -> &'static str {
    match state {
        SlotState::Dormant => "dormant",
        SlotState::Waking => "waking",
        SlotState::Live => "live",
        SlotState::BackingOff(_) => "restarting",
        SlotState::Quarantined { .. } => "quarantined",
        SlotState::Gone => "gone",
    }
}

/// One app, closely. Messages are seen one by one from the first look on, until nobody has looked
/// for half a minute.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AppDetail {
    #[serde(flatten)]
    #[schema(inline)]
    /// What a list shows of it.
    pub line: AppLine,
    /// `live`, `deleted` (in the trash), `closed` or `purging`, whatever its actor does.
    #[serde(default)]
    pub status: String,
    /// What the last crash said, of one that is quarantined.
    pub cause: Option<String>,
    /// Milliseconds that it has been in this state.
    pub state_age_ms: u64,
    /// Its shard.
    pub shard: u64,
    /// Which incarnation runs.
    pub incarnation: Option<u64>,
    /// The number of its newest published event, while it is live.
    pub seq: Option<u64>,
    /// Messages that may be queued or uncommitted at a time.
    pub mailbox_limit: u64,
    /// Most messages queued or uncommitted in the last minute, as far as it was watched.
    pub queued_max: u64,
    /// How long its oldest message queued or uncommitted has been there, in seconds. One that was
    /// there before the first look counts from that look on. Absent when there is none.
    pub oldest_wait_seconds: Option<f64>,
    /// When it last woke, RFC 3339; absent if it has not since the process started.
    pub last_wake_at: Option<String>,
    /// What its last wake cost, in seconds.
    pub last_wake_seconds: Option<f64>,
    /// Percentiles of the mailbox wait since the first look.
    pub wait: Percentiles,
    /// Percentiles of deciding since the first look.
    pub handle: Percentiles,
    /// The last 60 seconds, oldest first, as far as it was watched.
    pub seconds: Vec<AppSecond>,
    /// The last 50 messages, newest first, without their content.
    pub recent: Vec<RecentMessage>,
}

/// Percentiles of a time, in seconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct Percentiles {
    /// Times measured.
    pub count: u64,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl Percentiles {
    fn of(times: &Distribution) -> Self {
        let at = |quantile| times.quantile_us(quantile).map(|micros| micros as f64 / 1e6);
        Self { count: times.count(), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}

/// One second of an app.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct AppSecond {
    /// Messages that ended.
    pub messages: u64,
    /// Of these, errors.
    pub errors: u64,
    /// 99th percentile of the mailbox wait, in seconds.
    pub wait_p99_seconds: f64,
    /// Most messages queued or uncommitted.
    pub queued_max: u64,
}

impl From<&WatchedSecond> for AppSecond {
    fn from(second: &WatchedSecond) -> Self {
        Self {
            messages: second.messages,
            errors: second.errors,
            wait_p99_seconds: second.wait_p99_us as f64 / 1e6,
            queued_max: second.queued_max,
        }
    }
}

/// A message, without its content.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RecentMessage {
    /// When it ended, RFC 3339.
    pub at: String,
    /// What it asked.
    pub kind: String,
    /// How it ended.
    pub outcome: String,
    /// From being asked to being answered, in seconds.
    pub took_seconds: f64,
}

impl From<&SeenMessage> for RecentMessage {
    fn from(seen: &SeenMessage) -> Self {
        Self {
            at: seen.at.to_string(),
            kind: seen.kind.as_str().to_owned(),
            outcome: seen.outcome.as_str().to_owned(),
            took_seconds: seen.took_us as f64 / 1e6,
        }
    }
}

impl AppDetail {
    /// What an operator who looks at `app` sees; from now on it is watched.
    #[must_use]
    pub fn of(app: &AppHandle) -> Self {
        let seen = app.watch();
        let AppView { observation, watched, .. } = seen;
        let cause = match observation.state {
            SlotState::Quarantined { cause } => Some(cause),
            _ => None,
        };
        let seconds: Vec<AppSecond> = watched.seconds.iter().map(AppSecond::from).collect();
        let before = seconds.iter().map(|second| second.queued_max).max().unwrap_or(0);
        Self {
            line: AppLine::of(app),
            status: app.record().status.as_str().to_owned(),
            cause,
            state_age_ms: seen.state_age_ms,
            shard: seen.shard as u64,
            incarnation: observation.incarnation,
            seq: observation.seq,
            mailbox_limit: seen.mailbox_limit as u64,
            queued_max: before.max(observation.queued as u64),
            oldest_wait_seconds: seen.oldest_wait.map(|wait| wait.as_secs_f64()),
            last_wake_at: seen.last_wake_at.map(|at| at.to_string()),
            last_wake_seconds: seen.last_wake_us.map(|micros| micros as f64 / 1e6),
            wait: Percentiles::of(&watched.wait),
            handle: Percentiles::of(&watched.handle),
            seconds,
            recent: watched.recent.iter().map(RecentMessage::from).collect(),
        }
    }
}

/// The app of this id or slug, whatever its status.
///
/// # Errors
/// `app_not_found`; `unavailable` when storage does not answer.
pub(super) async fn find(state: &AppState, id: &str) -> Result<AppHandle> {
    let found = state.rooms.apps().find(id).await;
    found.map_err(|error| match error.code {
        ErrorCode::AppNotFound => error.with_hint(NAMED),
        _ => error,
    })
}

/// One app, by id or slug. Looking wakes nothing.
#[utoipa::path(
    get, path = "/ops/api/apps/{id}", tag = "Operators",
    responses((status = 200, description = "The app", body = AppDetail)),
)]
pub async fn app(
    _: Operator,
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> ApiResult<Json<AppDetail>> {
    let app = find(&state, &id).await?;
    Ok(Json(AppDetail::of(&app)))
}

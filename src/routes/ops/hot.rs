//! `GET /ops/api/hot`: the busiest apps, by what and over which time.

use axum::{Json, extract::State};
use rookery_actors::observe::{
    hot::{Measure, Window},
    view::HotApp as Hot,
};
use rookery_domain::ErrorCode;
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, ToSchema,
    openapi::{Object, ObjectBuilder, Type},
};

use super::{app::AppLine, operator::Operator};
use crate::{
    error::ApiResult,
    http::params::StrictQuery,
    ops::view::{bytes, number, time},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// By what, and over which time.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HotQuery {
    /// `messages`, `wait`, `bytes` or `errors`.
    #[serde(default = "by_messages")]
    #[param(schema_with = measures, required = false)]
    pub by: Measure,
    /// `10s`, `1m` or `15m`.
    #[serde(default = "over_ten_seconds")]
    #[param(schema_with = windows, required = false)]
    pub window: Window,
}

fn measures() -> Object {
    one_of(Measure::ALL, by_messages())
}

fn windows() -> Object {
    one_of(Window::ALL, over_ten_seconds())
}

/// The schema of a text that is one of these, and which it is where it is not there.
fn one_of<const N: usize, T: Serialize>(all: [T; N], default: T) -> Object {
    let text = |one: T| serde_json::to_value(one).ok();
    let names = all.into_iter().filter_map(text);
    let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
    schema.default(text(default)).build()
}

const fn by_messages() -> Measure {
    Measure::Messages
}

const fn over_ten_seconds() -> Window {
    Window::TenSeconds
}

/// The busiest apps.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HotApps {
    /// Busiest first, at most 50.
    pub items: Vec<HotApp>,
}

/// A busy app. Rates are exponentially decaying averages over the window.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HotApp {
    #[serde(flatten)]
    #[schema(inline)]
    /// The app.
    pub app: AppLine,
    /// Messages a second.
    pub messages_per_second: f64,
    /// Seconds of mailbox wait a second.
    pub wait_per_second: f64,
    /// Bytes of requests a second.
    pub bytes_per_second: f64,
    /// Error answers a second.
    pub errors_per_second: f64,
}

impl HotApp {
    /// What [`HotApp::cells`] are called.
    pub const COLUMNS: [&str; 8] =
        ["App", "State", "Messages/s", "Wait/s", "Bytes/s", "Errors/s", "Queued", "Memory"];

    /// The line as people read it.
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        vec![
            self.app.slug.clone(),
            self.app.state.clone(),
            number(self.messages_per_second),
            time(self.wait_per_second),
            bytes(self.bytes_per_second),
            number(self.errors_per_second),
            self.app.queued.to_string(),
            bytes(self.app.resident_bytes as f64),
        ]
    }
}

/// The busiest apps, as lines.
#[must_use]
pub fn lines(state: &AppState, query: HotQuery) -> Vec<HotApp> {
    let hot = state.rooms.apps().hot(query.by, query.window);
    hot.into_iter()
        .map(|Hot { app, rates }| HotApp {
            app: AppLine::of(&app),
            messages_per_second: rates.messages,
            wait_per_second: rates.wait,
            bytes_per_second: rates.bytes,
            errors_per_second: rates.errors,
        })
        .collect()
}

/// The busiest apps, at most 50. Apps that did nothing are not among them.
#[utoipa::path(
    get, path = "/ops/api/hot", tag = "Operators", params(HotQuery),
    responses((status = 200, description = "The busiest apps", body = HotApps)),
)]
pub async fn hot(
    _: Operator,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<HotQuery>,
) -> ApiResult<Json<HotApps>> {
    Ok(Json(HotApps { items: lines(&state, query) }))
}

//! `/alive` and `/ready`: for whoever restarts the process, and for whoever sends it requests.

use axum::{Json, extract::State, response::IntoResponse};
use http::header;
use serde::Serialize;

use crate::{error::ApiResult, state::AppState};

/// What a healthy service answers.
#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
}

/// The answer, which is of the moment: a proxy that was told nothing may keep one for a while.
fn healthy(status: &'static str) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(Health { status }))
}

/// The process answers. Nothing else is looked at.
pub async fn alive() -> impl IntoResponse {
    healthy("alive")
}

/// The service can do its work: it is not draining, and a commit can be made.
///
/// # Errors
/// `unavailable`, with the reason.
pub async fn ready(State(state): State<AppState>) -> ApiResult<impl IntoResponse> {
    state.ops.readiness.check(&state).await?;
    Ok(healthy("ready"))
}

//! `/alive` and `/ready`: for whoever restarts the process, and for whoever sends it requests.

use axum::{Json, extract::State};
use serde::Serialize;

use crate::{error::ApiResult, state::AppState};

/// What a healthy service answers.
#[derive(Debug, Serialize)]
pub struct Health {
    status: &'static str,
}

/// The process answers. Nothing else is looked at.
pub async fn alive() -> Json<Health> {
    Json(Health { status: "alive" })
}

/// The service can do its work: it is not draining, and a commit can be made.
///
/// # Errors
/// `unavailable`, with the reason.
pub async fn ready(State(state): State<AppState>) -> ApiResult<Json<Health>> {
    state.ops.readiness.check(&state).await?;
    Ok(Json(Health { status: "ready" }))
}

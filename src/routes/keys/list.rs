//! `GET /v1/keys`: who the caller is, and its keys.

use axum::{Json, extract::State};
use rookery_actors::directory::Key;
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::record::KeyView;
use crate::{
    error::ApiResult, http::auth::permission::AgentKey, routes::agents::record::AgentView,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// The caller and its keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct Keys {
    /// The caller.
    agent: AgentView,
    /// Its keys, oldest first: all that are good, and at least the last 100 that were revoked.
    keys: Vec<OwnKey>,
}

/// One of the caller's keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnKey {
    #[serde(flatten)]
    key: KeyView,
    /// Whether it is the key of this request.
    current: bool,
}

/// Shows the caller and its keys, never their secrets.
#[utoipa::path(
    get, path = "/v1/keys", tag = "Enrollment",
    responses((status = 200, description = "The caller and its keys", body = Keys)),
)]
pub async fn list(caller: AgentKey, State(state): State<AppState>) -> ApiResult<Json<Keys>> {
    let record = state.rooms.directory.agent(caller.agent)?;
    let own = |key: &Key| OwnKey { current: key.id == caller.key, key: KeyView::of(key) };
    Ok(Json(Keys { agent: AgentView::of(&record), keys: record.keys.iter().map(own).collect() }))
}

//! `/v1/self/apps/:appId/favorite`: the human's marks.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::{Error, ErrorCode};
use rookery_storage::self_apps;

use super::marked;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AnyState, HumanMember, Readable},
        body::Nothing,
    },
    state::AppState,
};

/// Errors of marking.
pub const ADD_ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];
/// Errors of taking the mark back.
pub const REMOVE_ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Marks an app that the human owns or joined. A second time changes nothing.
#[utoipa::path(
    put, path = "/v1/self/apps/{appId}/favorite", tag = "Account", request_body = Option<Nothing>,
    responses((status = 204, description = "It is a favorite")),
)]
pub async fn add_favorite(
    caller: HumanMember<Readable>,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let now = state.clock.now();
    marked(self_apps::add_favorite(&state.rooms.db, caller.human, caller.app.id(), now).await)
}

/// Takes the mark back. A second time changes nothing.
#[utoipa::path(
    delete, path = "/v1/self/apps/{appId}/favorite", tag = "Account",
    responses((status = 204, description = "It is none")),
)]
pub async fn remove_favorite(
    caller: HumanMember<AnyState>,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let removed = self_apps::remove_favorite(&state.rooms.db, caller.human, caller.app.id()).await;
    removed.map_err(Error::from)?;
    Ok(StatusCode::NO_CONTENT)
}

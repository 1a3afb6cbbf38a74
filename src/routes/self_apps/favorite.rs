//! `/v1/self/apps/:appId/favorite`: the human's marks.

use axum::extract::State;
use http::StatusCode;
use rookery_domain::ErrorCode;

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
    state.rooms.directory.add_favorite(caller.human, caller.app.id()).await?;
    Ok(StatusCode::NO_CONTENT)
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
    state.rooms.directory.remove_favorite(caller.human, caller.app.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

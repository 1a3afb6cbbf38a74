//! `GET /v1/apps/:id/transfer`: the pending offer of an app.

use axum::{Json, extract::State};
use rookery_domain::{Error, ErrorCode};

use super::record::TransferBody;
use crate::{
    error::ApiResult,
    http::auth::permission::{AppOwner, Readable},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound];

/// Shows the pending offer of an app; `not_found` when there is none.
#[utoipa::path(
    get, path = "/v1/apps/{id}/transfer", tag = "Transfers",
    responses((status = 200, description = "The offer", body = TransferBody)),
)]
pub async fn get(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
) -> ApiResult<Json<TransferBody>> {
    let offer = state.rooms.control().offer_of(&owner.app).await?;
    let none = || Error::new(ErrorCode::NotFound, "no transfer of this app is pending");
    Ok(Json(TransferBody::of(&state, &offer.ok_or_else(none)?)?))
}

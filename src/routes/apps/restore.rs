//! `POST /v1/apps/:id/restore`: out of the trash.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;

use super::record::AppRecordBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AnyState, AppOwner},
        body::Nothing,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge, ErrorCode::AccountQuotaExceeded];

/// Brings an app back from the trash, with everything it had.
///
/// It counts among the account's apps again, which must have room for it. For an app that is not
/// deleted this changes nothing.
#[utoipa::path(
    post, path = "/v1/apps/{id}/restore", tag = "Apps", request_body = Option<Nothing>,
    responses((status = 200, description = "The app", body = AppRecordBody)),
)]
pub async fn restore(
    owner: AppOwner<AnyState>,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<Json<AppRecordBody>> {
    state.rooms.control().restore(&owner.app, owner.caller).await?;
    Ok(Json(AppRecordBody::of_changed(&state, &owner.app).await?))
}

//! `GET /v1/apps/:id`: the detail record.

use axum::{extract::State, response::Response};
use rookery_domain::ErrorCode;

use super::record::AppRecordBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        conditional::tagged,
        reply::to_json,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Shows an app.
///
/// It is described without being woken.
#[utoipa::path(
    get, path = "/v1/apps/{id}", tag = "Apps",
    responses(
        (status = 200, description = "The app, with a strong `ETag`", body = AppRecordBody),
        (status = 304, description = "The caller has this answer already"),
    ),
)]
pub async fn get(owner: AppOwner<Readable>, State(state): State<AppState>) -> ApiResult<Response> {
    Ok(tagged(to_json(&AppRecordBody::of(&state, &owner.app).await?)))
}

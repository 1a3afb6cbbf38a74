//! `GET /ops/api/overview`: the whole service at one look; and `/metrics`.

use axum::{Json, extract::State, response::IntoResponse};
use http::header;
use rookery_domain::ErrorCode;

use super::operator::Operator;
use crate::{
    error::ApiResult,
    ops::{exposition, metrics, overview::Overview},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// The service at the last second, and the last minute second by second.
#[utoipa::path(
    get, path = "/ops/api/overview", tag = "Operators",
    responses((status = 200, description = "The service", body = Overview)),
)]
pub async fn overview(_: Operator, State(state): State<AppState>) -> ApiResult<Json<Overview>> {
    Ok(Json((*state.ops.overview()).clone()))
}

/// `/metrics`, in the Prometheus text format.
pub async fn prometheus(State(state): State<AppState>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, exposition::CONTENT_TYPE)], metrics::render(&state))
}

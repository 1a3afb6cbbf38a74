//! `POST /v1/apps/:id/wake`: starts an app that rests.

use axum::Json;
use rookery_actors::control::ShownStatus;
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing},
    openapi::words,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// What waking did.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Woken {
    /// What the app does now.
    #[schema(value_type = words::StatusBody)]
    pub status: ShownStatus,
    /// Milliseconds that it took, rounded up; 0 for an app that was awake already.
    pub woke_in_ms: u64,
}

/// Wakes an app.
///
/// The feed says `app.woken` only when this request woke it: not when it was awake, and of many
/// requests at once for one of them.
#[utoipa::path(
    post, path = "/v1/apps/{id}/wake", tag = "Apps", request_body = Option<Nothing>,
    responses((status = 200, description = "It is awake", body = Woken)),
)]
pub async fn wake(owner: AppOwner, _: Nothing) -> ApiResult<Json<Woken>> {
    let took = owner.app.wake_for(owner.caller).await?;
    let woke_in_ms = took.map_or(0, |took| {
        u64::try_from(took.as_micros().max(1).div_ceil(1_000)).unwrap_or(u64::MAX)
    });
    Ok(Json(Woken { status: ShownStatus::Live, woke_in_ms }))
}

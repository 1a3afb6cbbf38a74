//! `POST /v1/apps/:id/migration-mode`: silent row writes, for a bounded time.

use std::time::Duration;

use axum::{Json, extract::State};
use rookery_actors::app::message::{AppOp, Op};
use rookery_domain::{Error, ErrorCode, Result};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::AppRecordBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson},
        strict::whole,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Minutes when the request does not say.
const TTL_MINUTES_DEFAULT: u32 = 60;
/// Minutes at most: a day.
const TTL_MINUTES_MAX: u32 = 1_440;

/// Whether migration mode is to be on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetMigrationMode {
    /// On or off.
    on: bool,
    /// With `on`: minutes until it turns itself off, 60 when left out. Without, it says nothing.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 1440)]
    ttl_minutes: Option<u32>,
}

impl RequestBody for SetMigrationMode {
    const BOUND: BodyBound = BodyBound::Small;
}

impl SetMigrationMode {
    fn ttl(&self) -> Result<Option<Duration>> {
        match self.ttl_minutes.unwrap_or(TTL_MINUTES_DEFAULT) {
            minutes @ 1..=TTL_MINUTES_MAX => {
                Ok(self.on.then(|| Duration::from_secs(u64::from(minutes) * 60)))
            }
            _ => Err(Error::invalid(format!("`ttl_minutes`: must be 1 to {TTL_MINUTES_MAX}"))),
        }
    }
}

/// Turns migration mode on or off.
///
/// While it is on, row writes of the owner are marked `silent` in the feed and set off no webhook,
/// notification, schedule or task. Turning it on again begins its time anew.
#[utoipa::path(
    post, path = "/v1/apps/{id}/migration-mode", tag = "Apps", request_body = SetMigrationMode,
    params(("id" = String, Path, description = "The app's id or slug")),
    responses((status = 200, description = "The app after it", body = AppRecordBody)),
)]
pub async fn migration_mode(
    owner: AppOwner,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<SetMigrationMode>,
) -> ApiResult<Json<AppRecordBody>> {
    let AppOwner { app, caller, .. } = owner;
    app.apply(caller, Op::App(AppOp::Migration(body.ttl()?))).await?;
    Ok(Json(AppRecordBody::of_changed(&state, &app).await?))
}

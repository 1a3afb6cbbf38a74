//! `POST /v1/apps/:id/migration-mode`: silent row writes, for a bounded time.

use axum::{Json, extract::State};
use rookery_actors::app::message::{AppOp, Op};
use rookery_domain::{
    ErrorCode,
    app::{MIGRATION_MINUTES_MAX, migration_ttl},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::AppRecordBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson, strict::whole},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Whether migration mode is to be on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetMigrationMode {
    /// On or off.
    on: bool,
    /// With `on`: minutes until it turns itself off, 60 when left out. Without, it says nothing.
    #[serde(default, deserialize_with = "whole::<1, { MIGRATION_MINUTES_MAX as i64 }, _, _>")]
    #[schema(minimum = 1, maximum = 1_440)]
    ttl_minutes: Option<u32>,
}

impl RequestBody for SetMigrationMode {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Turns migration mode on or off.
///
/// While it is on, row writes of the owner, the owner's agents and admins of the app's organization are
/// marked `silent` in the feed and set off no webhook, notification, schedule or task; those of service
/// credentials are not. Turning it on again begins its time anew.
#[utoipa::path(
    post, path = "/v1/apps/{id}/migration-mode", tag = "Apps", request_body = SetMigrationMode,
    responses((status = 200, description = "The app after it", body = AppRecordBody)),
)]
pub async fn migration_mode(
    owner: AppOwner,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<SetMigrationMode>,
) -> ApiResult<Json<AppRecordBody>> {
    let AppOwner { app, caller, .. } = owner;
    let ttl = migration_ttl(body.on, body.ttl_minutes)?;
    app.apply(caller, Op::App(AppOp::Migration(ttl))).await?;
    Ok(Json(AppRecordBody::of_changed(&state, &app).await?))
}

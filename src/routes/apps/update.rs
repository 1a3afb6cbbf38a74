//! `PATCH /v1/apps/:id`: visibility and timezone.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::{AppRecordBody, VisibilityBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// What changes; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateApp {
    /// Who reaches the page. `link` mints a share token, leaving `link` clears it.
    visibility: Option<VisibilityBody>,
    /// An IANA name.
    timezone: Option<String>,
}

impl RequestBody for UpdateApp {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Changes an app's settings.
#[utoipa::path(
    patch, path = "/v1/apps/{id}", tag = "Apps", request_body = UpdateApp,
    params(("id" = String, Path, description = "The app's id or slug")),
    responses((status = 200, description = "The app after it", body = AppRecordBody)),
)]
pub async fn update(
    owner: AppOwner,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<UpdateApp>,
) -> ApiResult<Json<AppRecordBody>> {
    let AppOwner { app, caller, .. } = owner;
    let visibility = body.visibility.map(Into::into);
    state.rooms.control().set(&app, caller, visibility, body.timezone.as_deref()).await?;
    Ok(Json(AppRecordBody::of(&state, &app).await?))
}

//! `PATCH /v1/apps/:id`: visibility, timezone, organization.

use axum::{Json, extract::State};
use rookery_actors::control::SettingsPatch;
use rookery_domain::{ErrorCode, id::OrgId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::{AppRecordBody, VisibilityBody};
use crate::{
    error::ApiResult,
    http::{
        auth::{org::check_admin, permission::AppOwner},
        body::{BodyBound, RequestBody, StrictJson},
        strict::{nullable, optional_word},
    },
    openapi::ids,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::Conflict, ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// What changes; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateApp {
    /// Who reaches the page. `link` mints a share token, leaving `link` clears it.
    #[serde(default, deserialize_with = "optional_word")]
    visibility: Option<VisibilityBody>,
    /// An IANA name.
    timezone: Option<String>,
    /// The organization whose admins shall act as the app's owner; the caller must be one of them.
    /// `null` takes the app out of its organization.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<ids::OrgId>)]
    org_id: Option<Option<OrgId>>,
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
    if let (Some(Some(org)), Some(account)) = (body.org_id, caller.account()) {
        check_admin(&state, account, org)?;
    }
    let patch = SettingsPatch {
        visibility: body.visibility.map(Into::into),
        timezone: body.timezone,
        org: body.org_id,
    };
    state.rooms.control().set(&app, caller, patch).await?;
    Ok(Json(AppRecordBody::of(&state, &app).await?))
}

//! `PATCH /v1/apps/:id`: visibility, timezone, organization.

use axum::{Json, extract};
use rookery_actors::{control::SettingsPatch, task::to_the_end};
use rookery_domain::{
    ErrorCode,
    app::AppRecord,
    field_patch::FieldPatch,
    id::{HumanId, OrgId},
    manifest::Visibility,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::AppRecordBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson, strict::optional_word},
    },
    notices::{self, Deed},
    openapi::{ids, words},
    state::{AppState, State},
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
    #[schema(value_type = Option<words::VisibilityBody>)]
    visibility: Option<Visibility>,
    /// An IANA name.
    timezone: Option<String>,
    /// The organization whose admins shall act as the app's owner; the caller must be one of them.
    /// `null` takes the app out of its organization.
    #[serde(default)]
    #[schema(value_type = Option<ids::OrgId>)]
    org_id: FieldPatch<OrgId>,
}

impl RequestBody for UpdateApp {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Changes an app's settings.
///
/// When somebody else than its owner changes its organization, the owner is told by mail.
#[utoipa::path(
    patch, path = "/v1/apps/{id}", tag = "Apps", request_body = UpdateApp,
    responses((status = 200, description = "The app after it", body = AppRecordBody)),
)]
pub async fn update(
    owner: AppOwner,
    extract::State(state): extract::State<AppState>,
    StrictJson(body): StrictJson<UpdateApp>,
) -> ApiResult<Json<AppRecordBody>> {
    let AppOwner { app, caller, .. } = owner;
    let patch =
        SettingsPatch { visibility: body.visibility, timezone: body.timezone, org: body.org_id };
    let (before, by) = (app.record(), caller.account());
    let (changed, shared) = (app.clone(), state.clone());
    to_the_end(async move {
        let after = shared.rooms.control().set(&changed, caller, patch).await?;
        if let (true, Some(by)) = (before.org != after.org, by) {
            tell_of_move(&shared, by, &after);
        }
        Ok(())
    })
    .await?;
    Ok(Json(AppRecordBody::of_changed(&state, &app).await?))
}

/// Mails the owner of `app` that `by` has changed the organization that it belongs to.
fn tell_of_move(state: &State, by: HumanId, app: &AppRecord) {
    let Some(org) = app.org else {
        return notices::tell_owner(state, app, Some(by), Deed::MovedOut);
    };
    // Whoever moved it was an admin there; having left since, it does not say what it is called.
    let found = state.rooms.directory.org(by, org);
    let name = found.map_or_else(|_| org.to_string(), |found| found.org.name.clone());
    notices::tell_owner(state, app, Some(by), Deed::MovedTo { org: &name });
}

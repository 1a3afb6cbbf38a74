//! `POST /v1/apps/:id/unrestricted`: whether an app's page may talk to any internet service.

use axum::{Json, extract::State};
use rookery_actors::app::message::{AppOp, Op};
use rookery_domain::ErrorCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::AppRecordBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanOwner,
        body::{BodyBound, RequestBody, StrictJson},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Whether the app is to be unrestricted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetUnrestricted {
    /// On or off.
    on: bool,
}

impl RequestBody for SetUnrestricted {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Lets an app's page talk to any internet service, or keeps it to what its manifest names
///
/// It lifts the limits on what the page fetches, shows and frames, and nothing else: scripts still
/// come from the app itself or the public CDNs. Only the owner in person decides it, or an admin of the
/// app's organization, for a private app without live grant links; while it is on, publishing the app and
/// making grant links are `conflict`. A new owner of the app finds it off. Setting what is set already
/// changes nothing.
#[utoipa::path(
    post, path = "/v1/apps/{id}/unrestricted", tag = "Apps", request_body = SetUnrestricted,
    responses((status = 200, description = "The app after it", body = AppRecordBody)),
)]
pub async fn unrestricted(
    owner: HumanOwner,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<SetUnrestricted>,
) -> ApiResult<Json<AppRecordBody>> {
    let HumanOwner { app, caller, .. } = owner;
    app.apply(caller, Op::App(AppOp::Unrestricted(body.on))).await?;
    Ok(Json(AppRecordBody::of_changed(&state, &app).await?))
}

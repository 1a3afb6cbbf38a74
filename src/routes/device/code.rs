//! `POST /v1/device/code`: starts an authorization.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::Public,
        body::{BodyBound, OptionalJson, RequestBody},
    },
    routes::register,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// What a device says of itself.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceRequest {
    /// The name of the agent that it will be, 1 to 100 characters; its human sees it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
}

impl RequestBody for DeviceRequest {
    const BOUND: BodyBound = BodyBound::Small;
}

/// What the device shows its human, and what it polls with (RFC 8628, section 3.2).
#[derive(Serialize, ToSchema)]
pub struct DeviceCodes {
    /// What to poll `POST /v1/device/token` with. A secret.
    device_code: String,
    /// What the human compares, or types at `verify_url`.
    #[schema(example = "WDJB-MJHT")]
    user_code: String,
    /// Where the human decides.
    verify_url: String,
    /// The same with the code filled in.
    verify_url_complete: String,
    /// Seconds until both codes end.
    expires_in: i64,
    /// Seconds between polls.
    interval: u32,
}

/// Starts device authorization.
///
/// Show `user_code` and `verify_url_complete` to a human, then poll `POST /v1/device/token`.
#[utoipa::path(
    post, path = "/v1/device/code", tag = "Enrollment", request_body = Option<DeviceRequest>,
    responses((status = 200, description = "The codes", body = DeviceCodes)),
)]
pub async fn code(
    _: Public,
    State(state): State<AppState>,
    OptionalJson(body): OptionalJson<DeviceRequest>,
) -> ApiResult<Json<DeviceCodes>> {
    let started = state.rooms.directory.start_device(register::name(body.name.as_deref())?).await?;
    let verify_url = format!("{}/device", state.public_url);
    let user_code = started.user_code.expose();
    Ok(Json(DeviceCodes {
        device_code: started.device_code.expose().to_owned(),
        verify_url_complete: format!("{verify_url}?user_code={user_code}"),
        user_code,
        verify_url,
        expires_in: started.expires_in_s,
        interval: started.interval_s,
    }))
}

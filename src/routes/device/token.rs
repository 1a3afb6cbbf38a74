//! `POST /v1/device/token`: the device polls, and gets its agent once a human approved.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use rookery_actors::directory::DevicePolled;
use rookery_domain::{Error, ErrorCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::Public,
        body::{BodyBound, RequestBody, StrictJson},
    },
    routes::{agents::record::AgentView, keys::record::IssuedKey},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::Forbidden, ErrorCode::NotFound, ErrorCode::PayloadTooLarge];

/// A poll.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// The code that `POST /v1/device/code` answered.
    device_code: String,
}

impl RequestBody for Poll {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Where an authorization stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// No human has decided.
    Pending,
    /// A human approved.
    Approved,
}

/// Not decided yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pending {
    /// `pending`.
    status: Progress,
    /// Seconds until the next poll.
    interval: u32,
}

/// Approved: the agent, and its key, with the secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct Approved {
    /// `approved`.
    status: Progress,
    /// The agent, claimed by the human that approved.
    agent: AgentView,
    /// Its key, with the secret: it is shown this once.
    key: IssuedKey,
}

/// Polls a device authorization.
///
/// Denied is `forbidden`; unknown, expired and spent codes are `not_found`; polling faster than
/// `interval` is `rate_limited` and makes the interval longer by 5 seconds.
#[utoipa::path(
    post, path = "/v1/device/token", tag = "Enrollment", request_body = Poll,
    responses(
        (status = 200, description = "Approved, exactly once", body = Approved),
        (status = 202, description = "Not decided yet", body = Pending),
    ),
)]
pub async fn token(
    _: Public,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<Poll>,
) -> ApiResult<Response> {
    match state.rooms.directory.poll_device(&body.device_code).await? {
        DevicePolled::Pending { interval_s } => {
            let pending = Pending { status: Progress::Pending, interval: interval_s };
            Ok((StatusCode::ACCEPTED, Json(pending)).into_response())
        }
        DevicePolled::TooFast { interval_s } => {
            let message = format!("polled too early: wait {interval_s} seconds between polls");
            let error = Error::new(ErrorCode::RateLimited, message).with_details(
                serde_json::json!({"interval": interval_s, "retry_after_s": interval_s}),
            );
            Err(error.into())
        }
        DevicePolled::Denied => {
            Err(Error::new(ErrorCode::Forbidden, "the human denied this request").into())
        }
        DevicePolled::Approved(approved) => {
            let (agent, key) = *approved;
            let approved = Approved {
                status: Progress::Approved,
                agent: AgentView::of(&agent),
                key: IssuedKey::of(&key),
            };
            Ok(Json(approved).into_response())
        }
    }
}

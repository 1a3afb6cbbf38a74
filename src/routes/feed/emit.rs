//! `POST /v1/apps/:id/events`: sends a custom event.

use axum::response::Response;
use rookery_actors::app::message::{Op, Reply};
use rookery_domain::{ErrorCode, Result, json::RawObject, limits::Limits};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        body::{BodyBound, ExactJson, RequestBody},
        idempotency::{IdempotencyKey, replay},
    },
    openapi::shapes::AnyObject,
    routes::collections::{
        answer,
        app_request::{AppRequest, Write},
        callers::Callers,
        schema::SentEvent,
    },
};

/// What the event itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::PayloadTooLarge,
    ErrorCode::Conflict,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::Forbidden,
    ErrorCode::UnknownEventType,
    ErrorCode::SchemaViolation,
];

/// A custom event to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventBody {
    /// A type that the manifest declares, without `event.`.
    #[serde(rename = "type")]
    kind: String,
    /// Its data.
    #[schema(value_type = AnyObject)]
    data: RawObject,
}

impl RequestBody for EventBody {
    const BOUND: BodyBound = BodyBound::Event;

    fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_event_data(self.data.0.text())
    }
}

/// Sends a custom event
///
/// It appears as `event.<type>` in the feed, which `Location` names.
#[utoipa::path(
    post,
    path = "/v1/apps/{id}/events",
    tag = "Feed",
    params(
        IdempotencyKey,
    ),
    request_body = EventBody,
    responses((status = 201, description = "The event.", body = SentEvent))
)]
pub(crate) async fn send_event<C: Callers>(
    caller: C::WriterBeyondAllowlist,
    IdempotencyKey(key): IdempotencyKey,
    body: ExactJson<EventBody>,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let ExactJson { value, bytes } = body;
    let op = Op::Emit { kind: value.kind.into(), data: value.data.0 };
    let write = Write {
        route: "events",
        collection: None,
        key: key.as_deref(),
        body: &bytes,
        render: None,
    };
    match request.write(op, write).await? {
        Reply::Event(event) => Ok(answer::event(&event, request.feed_path())),
        Reply::Replayed(first) => Ok(replay(first)),
        other => Err(other.unexpected().into()),
    }
}

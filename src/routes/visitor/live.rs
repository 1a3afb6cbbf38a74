//! `/s/feed`, `/s/events` and `/s/challenge`: what a page follows, sends and solves. The work is in
//! [`feed`](crate::routes::feed), the same as for `/v1`.

use axum::{Json, extract::State, response::Response};

use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{AnyVisitor, Visitor},
        body::ExactJson,
        client::RequestContext,
        idempotency::IdempotencyKey,
        params::StrictQuery,
    },
    routes::{
        collections::schema::{FeedRecord, SentEvent},
        feed::{
            challenge::{self, ChallengeParams, ChallengeRecord},
            emit::{self, EventBody},
            follow::{self, FeedHeaders, FeedParams},
        },
    },
    state::AppState,
};

/// Follows the app
///
/// As `GET /v1/apps/{id}/feed`, as JSON or as an event stream. It ends when the visitor leaves,
/// signs out, or is no longer let in.
#[utoipa::path(get, path = "/s/feed", tag = "participant", operation_id = "participant_feed",
    params(("Last-Event-ID" = Option<String>, Header,
        description = "For a stream: where it broke off; wins over `since`."), FeedParams),
    responses((status = 200, description = "The events.", content(
        (FeedRecord = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn follow_feed(
    visitor: AnyVisitor,
    State(state): State<AppState>,
    context: RequestContext,
    StrictQuery(params): StrictQuery<FeedParams>,
    headers: FeedHeaders,
) -> ApiResult<Response> {
    follow::follow(visitor.into(), state, &context, params, headers).await
}

/// Sends a custom event
///
/// As `POST /v1/apps/{id}/events`.
#[utoipa::path(post, path = "/s/events", tag = "participant",
    operation_id = "participant_send_event",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same key and body within 24 hours answer as the first time.")),
    request_body = EventBody,
    responses((status = 201, description = "The event.", body = SentEvent)))]
pub(crate) async fn send_event(
    visitor: Visitor,
    key: IdempotencyKey,
    body: ExactJson<EventBody>,
) -> ApiResult<Response> {
    emit::emit(&visitor.into(), &key, body).await
}

/// Gives a proof-of-work task
///
/// As `GET /v1/apps/{id}/challenge`.
#[utoipa::path(get, path = "/s/challenge", tag = "participant",
    operation_id = "participant_challenge", params(ChallengeParams),
    responses((status = 200, description = "The task.", body = ChallengeRecord)))]
pub(crate) async fn get_challenge(
    visitor: AnyVisitor,
    StrictQuery(params): StrictQuery<ChallengeParams>,
) -> ApiResult<Json<ChallengeRecord>> {
    challenge::challenge(&visitor.into(), &params).await
}

//! `/s/feed`, `/s/events` and `/s/challenge`: what a page follows, sends and solves. The work is in
//! [`feed`](crate::routes::feed), the same as for `/v1`.

use axum::{Json, extract::State, response::Response};

use crate::{
    error::ApiResult,
    http::{
        auth::{
            credential_watch::CredentialWatch,
            visitor::{AnyVisitor, Visitor},
        },
        body::ExactJson,
        client::RequestContext,
        idempotency::IdempotencyKey,
        params::StrictQuery,
    },
    routes::{
        collections::schema::{FeedRecord, SentEvent},
        feed::{
            challenge::{self, ChallengeParams, VisitorChallenge},
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
#[utoipa::path(get, path = "/s/feed", tag = "Participants", operation_id = "participant_feed",
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
    let leave = CredentialWatch::of_visitor(visitor.participant.as_ref());
    follow::follow((visitor.into(), leave), state, &context, params, headers).await
}

/// Sends a custom event
///
/// As `POST /v1/apps/{id}/events`.
#[utoipa::path(post, path = "/s/events", tag = "Participants",
    operation_id = "participant_send_event",
    params(IdempotencyKey),
    request_body = EventBody,
    responses((status = 201, description = "The event.", body = SentEvent)))]
pub(crate) async fn send_event(
    visitor: Visitor,
    key: IdempotencyKey,
    body: ExactJson<EventBody>,
) -> ApiResult<Response> {
    emit::emit(&visitor.into(), &key, body).await
}

/// Gives a challenge
///
/// A proof of work as `GET /v1/apps/{id}/challenge` gives it; or, where the operator has chosen a
/// provider, what its widget is shown with. The widget's token goes into
/// `x-service-challenge-token` as the answer to a proof of work does, must have been given out on
/// this app's own host, and is spent by being checked, whether or not the write then succeeds.
#[utoipa::path(get, path = "/s/challenge", tag = "Participants",
    operation_id = "participant_challenge", params(ChallengeParams),
    responses((status = 200, description = "The task.", body = VisitorChallenge)))]
pub(crate) async fn get_challenge(
    visitor: AnyVisitor,
    State(state): State<AppState>,
    StrictQuery(params): StrictQuery<ChallengeParams>,
) -> ApiResult<Json<VisitorChallenge>> {
    // Also with a provider: it knows whether there is such a collection.
    let task = challenge::challenge(&visitor.into(), &params).await?;
    Ok(Json(match state.siteverify.as_deref() {
        Some(provider) => VisitorChallenge::Widget(provider.into()),
        None => VisitorChallenge::Work(task.0),
    }))
}

//! `/s/session` on an app's origin: who this visitor is, how it becomes an anonymous participant,
//! and how it leaves.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};
use rookery_actors::{
    AppHandle,
    directory::{Arrival, Participant, Visit},
};
use rookery_domain::{
    ErrorCode, Timestamp,
    access::Standing,
    id::AppId,
    principal::{Caller, Principal},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::replaced;
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{AnyVisitor, Arriving, PresentedParticipant},
        body::{BodyBound, Nothing, OptionalJson, RequestBody},
        cookie,
        reply::Created,
    },
    openapi::{
        ids,
        words::{VisitorKind, VisitorRole},
    },
    state::AppState,
};

/// Errors of reading.
pub const READ_ERRORS: &[ErrorCode] = &[];
/// Errors of making a participant.
pub const CREATE_ERRORS: &[ErrorCode] = &[ErrorCode::GrantInvalid, ErrorCode::PayloadTooLarge];
/// Errors of leaving.
pub const DELETE_ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// How to come in.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterApp {
    /// A test-session token; without it one becomes an anonymous participant.
    token: Option<String>,
}

impl RequestBody for EnterApp {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Who a visitor is in this app.
#[derive(Clone, Serialize, ToSchema)]
pub struct SessionRecord {
    /// What it comes as.
    #[schema(value_type = VisitorKind)]
    kind: &'static str,
    /// As rows name it in `creator` and `editor`; null for nobody yet.
    #[schema(value_type = Option<ids::CallerId>)]
    id: Option<String>,
    /// What it is to the app.
    #[schema(value_type = VisitorRole)]
    role: &'static str,
    /// The custom role that it has beside that.
    #[schema(value_type = Option<String>)]
    custom_role: Option<Arc<str>>,
    /// The app.
    app: SessionApp,
    /// When it came first.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
    /// When its token ends. An anonymous visitor's is good for a week, and from the first row or event
    /// that it leaves for a year.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// The token, in the one answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// The app of a session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionApp {
    #[schema(value_type = ids::AppId)]
    id: AppId,
    slug: String,
}

/// Who am I?
///
/// In a public app a visitor without a token is told `id: null`. A human's token is good for 30 days since
/// it was last used: the answer gives the browser its cookie again.
#[utoipa::path(get, path = "/s/session", tag = "Participants", operation_id = "participant_session",
    responses((status = 200, description = "Whoever asks, and the app", body = SessionRecord,
        headers(("Set-Cookie" = Option<String>, description = "The token of a human, where a cookie brought it")))))]
pub async fn read(
    visitor: AnyVisitor,
    State(state): State<AppState>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let AnyVisitor { app, caller, participant, by_cookie } = visitor;
    let standing = app.standing(&caller).await?;
    let visitor = participant.as_deref();
    let mut response =
        Json(record(&app, visitor.map(|one| (one, &caller)), &standing)).into_response();
    let token = cookie::participant::read(&headers, &state).filter(|_| by_cookie);
    if let (Some(visitor), Some(token)) = (visitor, token) {
        let slug = &app.record().slug;
        cookie::participant::renew(response.headers_mut(), token, visitor, slug, &state);
    }
    Ok(response)
}

/// Makes an anonymous participant of a public app, or redeems a test-session token.
///
/// Whoever is a participant already stays the same. A cookie that is no longer good is replaced.
/// An app with visibility `link` is entered by its share link, a private one by signing in. With
/// `token`, made by `POST /v1/apps/{id}/test-session-tokens`, whoever asks is the human that it was
/// made for, once: a spent, expired or foreign one is `grant_invalid`.
#[utoipa::path(post, path = "/s/session", tag = "Participants", operation_id = "enter_app",
    request_body = Option<EnterApp>,
    responses(
        (status = 200, body = SessionRecord, description = "The participant that it is already"),
        (status = 201, body = SessionRecord, description = "A new participant, with its token",
            headers(("Set-Cookie" = String, description = "The token; none in path mode"))),
    ))]
pub async fn create(
    arriving: Arriving,
    State(state): State<AppState>,
    OptionalJson(body): OptionalJson<EnterApp>,
) -> ApiResult<Response> {
    if let Some(token) = body.token {
        return redeem(&arriving, &state, &token).await;
    }
    if matches!(arriving.presented, PresentedParticipant::Unknown) && !arriving.by_cookie {
        arriving.caller()?;
    }
    if let Some(participant) = arriving.participant()
        // The visit may have ended while the body was waited for.
        && state.rooms.directory.is_here(participant).await?
    {
        let caller = arriving.caller_of(participant);
        // One that the app is no longer open to is as good as none.
        if let Ok(standing) = arriving.admit(&caller).await {
            arriving.check_live()?;
            let made = record(&arriving.app, Some((participant, &caller)), &standing);
            return Ok(Json(made).into_response());
        }
    }
    let standing = arriving.app.standing(&arriving.nobody()).await?;
    arriving.check_live()?;
    let directory = &state.rooms.directory;
    let visit = directory.create_participant(arriving.app.id(), Arrival::Anonymous).await?;
    Ok(entered(&arriving, &state, &visit, &standing))
}

/// Redeems a test-session token: whoever asks is the human that it was made for.
async fn redeem(arriving: &Arriving, state: &AppState, token: &str) -> ApiResult<Response> {
    // A test session is the owner's, who writes to live apps only.
    arriving.check_live()?;
    let directory = &state.rooms.directory;
    let visit = directory.redeem_test_session(arriving.app.id(), token).await?;
    if arriving.by_cookie {
        replaced(arriving, state).await;
    }
    let standing = arriving.app.standing(&arriving.caller_of(&visit.participant)).await?;
    Ok(entered(arriving, state, &visit, &standing))
}

/// The answer to whoever has just come in.
fn entered(arriving: &Arriving, state: &AppState, visit: &Visit, standing: &Standing) -> Response {
    let caller = arriving.caller_of(&visit.participant);
    let mut made = record(&arriving.app, Some((&visit.participant, &caller)), standing);
    made.token = Some(visit.token.expose().to_owned());
    let mut response = Created { location: "/s/session".to_owned(), record: made }.into_response();
    if !state.origins.is_path_mode() {
        let slug = &arriving.app.record().slug;
        cookie::participant::set(response.headers_mut(), visit, slug, state);
    }
    response
}

/// Leaves: the token is unknown from now on.
#[utoipa::path(delete, path = "/s/session", tag = "Participants", operation_id = "leave_app",
    responses((status = 204, description = "Left; a second time also 204",
        headers(("Set-Cookie" = String, description = "Clears the token, where a cookie brought it")))))]
pub async fn delete(
    arriving: Arriving,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<Response> {
    if let Some(participant) = arriving.participant() {
        state.rooms.directory.revoke_participant(participant).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if arriving.by_cookie {
        cookie::participant::clear(response.headers_mut(), &arriving.app.record().slug, &state);
    }
    Ok(response)
}

fn record(
    app: &AppHandle,
    visitor: Option<(&Participant, &Caller)>,
    standing: &Standing,
) -> SessionRecord {
    let app = app.record();
    let principal = visitor.map(|(_, caller)| caller.principal());
    let participant = visitor.map(|(participant, _)| participant);
    SessionRecord {
        kind: principal.map_or("anonymous", |principal| principal.kind.as_str()),
        id: principal.map(Principal::id_text),
        role: standing.tier.as_str(),
        custom_role: standing.role.clone(),
        app: SessionApp { id: app.id, slug: app.slug.to_string() },
        created_at: participant.map(|one| one.created_at),
        expires_at: participant.map(|one| one.expires_at),
        token: None,
    }
}

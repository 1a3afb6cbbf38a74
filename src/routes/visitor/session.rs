//! `/s/session` on an app's origin: who this visitor is, how it becomes an anonymous participant,
//! and how it leaves.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, header};
use rookery_actors::directory::{Arrival, Participant};
use rookery_domain::{ErrorCode, Timestamp, access::Tier, id::AppId, principal::Principal};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{Arriving, Presented},
        body::{Nothing, OptionalJson},
        csrf, participant_cookie,
        reply::Created,
    },
    state::AppState,
};

/// Errors of reading.
pub const READ_ERRORS: &[ErrorCode] = &[];
/// Errors of making a participant.
pub const CREATE_ERRORS: &[ErrorCode] = &[];
/// Errors of leaving.
pub const DELETE_ERRORS: &[ErrorCode] = &[];

/// Who a visitor is in this app.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionRecord {
    /// `anonymous` or `human`.
    #[schema(value_type = String, example = "anonymous")]
    kind: &'static str,
    /// As rows name it in `creator` and `editor`; null for nobody yet.
    #[schema(value_type = Option<String>)]
    id: Option<String>,
    /// `owner`, `member` or `anyone`.
    #[schema(value_type = String, example = "anyone")]
    role: &'static str,
    /// The app.
    app: SessionApp,
    /// When it came first.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Option<Timestamp>,
    /// When its token ends.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// The token, in the one answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// The app of a session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionApp {
    #[schema(value_type = String)]
    id: AppId,
    slug: String,
}

/// Who am I?
///
/// In a public app a visitor without a token is told `id: null`.
#[utoipa::path(get, path = "/s/session", tag = "participant", operation_id = "participant_session",
    responses((status = 200, body = SessionRecord)))]
pub async fn read(arriving: Arriving) -> ApiResult<Json<SessionRecord>> {
    let caller = arriving.caller()?;
    let tier = arriving.admit(&caller.unwrap_or_else(|| arriving.nobody()))?;
    arriving.check_state(tier, true)?;
    Ok(Json(record(&arriving, arriving.participant().map(|one| &**one), tier)))
}

/// Makes an anonymous participant of a public app.
///
/// Whoever is a participant already stays the same. A cookie that is no longer good is replaced.
/// An app with visibility `link` is entered by its share link, a private one by signing in.
#[utoipa::path(post, path = "/s/session", tag = "participant", operation_id = "enter_app",
    request_body = Nothing,
    responses(
        (status = 200, body = SessionRecord, description = "The participant that it is already"),
        (status = 201, body = SessionRecord, description = "A new participant, with its token"),
    ))]
pub async fn create(
    arriving: Arriving,
    State(state): State<AppState>,
    headers: HeaderMap,
    OptionalJson(Nothing {}): OptionalJson<Nothing>,
) -> ApiResult<Response> {
    // Without a cookie too: another site must not choose who its visitor is here.
    if headers.contains_key(header::ORIGIN) && !state.origins.is_path_mode() {
        let origin = state.origins.app_origin(&arriving.app.record().slug);
        csrf::check(&http::Method::POST, &headers, &origin)?;
    }
    if matches!(arriving.presented, Presented::Unknown) && !arriving.by_cookie {
        arriving.caller()?;
    }
    if let Some(participant) = arriving.participant() {
        let caller = arriving.caller_of(participant);
        // One that the app is no longer open to is as good as none.
        if let Ok(tier) = arriving.admit(&caller) {
            arriving.check_state(tier, false)?;
            return Ok(Json(record(&arriving, Some(participant), tier)).into_response());
        }
    }
    let tier = arriving.app.tier(&arriving.nobody())?;
    arriving.check_state(tier, false)?;
    let directory = &state.rooms.directory;
    let visit = directory.create_participant(arriving.app.id(), Arrival::Anonymous).await?;
    let mut made = record(&arriving, Some(&visit.participant), tier);
    made.token = Some(visit.token.expose().to_owned());
    let mut response = Created { location: "/s/session".to_owned(), record: made }.into_response();
    if !state.origins.is_path_mode() {
        let (now, https) = (state.clock.now(), state.is_https());
        let headers = response.headers_mut();
        participant_cookie::set(headers, &visit.participant, &visit.token, now, https);
    }
    Ok(response)
}

/// Leaves: the token is unknown from now on.
#[utoipa::path(delete, path = "/s/session", tag = "participant", operation_id = "leave_app",
    responses((status = 204, description = "Left; a second time also 204")))]
pub async fn delete(arriving: Arriving, State(state): State<AppState>) -> ApiResult<Response> {
    if let Some(participant) = arriving.participant() {
        state.rooms.directory.revoke_participant(participant).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if arriving.by_cookie {
        participant_cookie::clear(response.headers_mut(), state.is_https());
    }
    Ok(response)
}

fn record(arriving: &Arriving, participant: Option<&Participant>, tier: Tier) -> SessionRecord {
    let app = arriving.app.record();
    let principal = participant.map(|one| arriving.caller_of(one).principal());
    SessionRecord {
        kind: principal.map_or("anonymous", |principal| principal.kind.as_str()),
        id: principal.map(Principal::id_text),
        role: match tier {
            Tier::Owner => "owner",
            Tier::Member => "member",
            Tier::Visitor => "anyone",
        },
        app: SessionApp { id: app.id, slug: app.slug.to_string() },
        created_at: participant.map(|one| one.created_at),
        expires_at: participant.map(|one| one.expires_at),
        token: None,
    }
}

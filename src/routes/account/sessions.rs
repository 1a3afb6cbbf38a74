//! `/v1/self/sessions`: where the human is signed in, and ending that.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use rookery_domain::{ErrorCode, Timestamp, id::SessionId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::Nothing,
        cookie,
        paging::Paging,
        params::{PathId, StrictQuery},
        reply::Page,
    },
    openapi::ids,
    state::AppState,
};

/// Errors of the list.
pub const LIST_ERRORS: &[ErrorCode] = &[];
/// Errors of ending one.
pub const END_ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::PayloadTooLarge];
/// Errors of ending all.
pub const END_ALL_ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// A session of the site.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    /// Its id.
    #[schema(value_type = ids::SessionId)]
    id: SessionId,
    /// Whether this request was made with it.
    current: bool,
    /// When it was opened.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was used last.
    #[schema(value_type = String, format = DateTime)]
    last_used_at: Timestamp,
    /// When it ends unless it is used.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// Lists the human's open sessions, newest first.
#[utoipa::path(
    get, path = "/v1/self/sessions", tag = "Account", params(Paging),
    responses((status = 200, description = "A page of sessions", body = Page<SessionView>)),
)]
pub async fn list_sessions(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<SessionView>> {
    let page = query.of("/v1/self/sessions", caller.human.uuid(), &state)?;
    let after = page.after(SessionId::from_uuid);
    let sessions = state.rooms.directory.sessions_of(caller.human, after, page.wanted()).await?;
    let view = |session: &rookery_actors::directory::SessionRecord| SessionView {
        id: session.id,
        current: session.id == caller.session,
        created_at: session.created_at,
        last_used_at: session.last_used_at,
        expires_at: session.expires_at,
    };
    Ok(page.show(sessions, |one| (one.created_at, one.id.uuid()), view))
}

/// Ends one session, and the human's sessions in apps.
///
/// Ending the session that asks signs out. Claim codes that nobody has spent and approvals of devices
/// that none has fetched end too.
#[utoipa::path(
    delete, path = "/v1/self/sessions/{id}", tag = "Account",
    responses((status = 204, description = "Ended",
        headers(("Set-Cookie" = Option<String>, description = "Clears the session, where it is the one that asks")))),
)]
pub async fn end_session(
    caller: HumanSession,
    State(state): State<AppState>,
    PathId(id): PathId<SessionId>,
    _: Nothing,
) -> ApiResult<Response> {
    state.rooms.directory.end_session(caller.human, id).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if id == caller.session {
        cookie::session::clear(response.headers_mut(), &state);
    }
    Ok(response)
}

/// Signs out everywhere: ends every session of the human, this one too, on the site and in apps.
///
/// Claim codes that nobody has spent and approvals of devices that none has fetched end too.
#[utoipa::path(
    delete, path = "/v1/self/sessions", tag = "Account",
    responses((status = 204, description = "Ended",
        headers(("Set-Cookie" = String, description = "Clears the session")))),
)]
pub async fn end_sessions(
    caller: HumanSession,
    State(state): State<AppState>,
    _: Nothing,
) -> ApiResult<Response> {
    state.rooms.directory.sign_out_everywhere(caller.human).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    cookie::session::clear(response.headers_mut(), &state);
    Ok(response)
}

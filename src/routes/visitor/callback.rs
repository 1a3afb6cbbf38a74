//! `/s/callback` on an app's origin: redeems the grant that `/authorize` made, and the human is a
//! visitor of this app.

use axum::{extract::State, response::Response};
use http::{HeaderMap, Uri};
use rookery_actors::directory::ParticipantKind;
use rookery_domain::{Error, ErrorCode, redirect::ReturnPath};
use serde::Deserialize;

use super::{replaced, welcome};
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::Following,
        client::RequestContext,
        looking::{Looking, untouched},
        params::StrictQuery,
    },
    pages::paths::is_navigation,
    routes::page::{Refusal, status_page},
    state::AppState,
};

/// What `/authorize` hands over.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    /// The grant.
    grant: Option<String>,
    /// A path of this app, checked again: the address came through a browser.
    return_to: Option<String>,
}

/// Signs in to the app and goes on to the return path.
///
/// # Errors
/// `grant_invalid` for a missing, unknown, used or expired grant and for one of another app (to a
/// browser as a page); `invalid_request` for a return path that leads elsewhere.
pub async fn callback(
    Following(arriving): Following,
    context: RequestContext,
    State(state): State<AppState>,
    Looking(looking): Looking,
    uri: Uri,
    headers: HeaderMap,
    StrictQuery(query): StrictQuery<Callback>,
) -> ApiResult<Response> {
    let return_to = query.return_to.as_deref().filter(|path| !path.is_empty());
    let return_to = return_to.map(|path| ReturnPath::parse("return_to", path)).transpose()?;
    if looking {
        return Ok(untouched());
    }
    let before = arriving.participant();
    // Whoever came by the share link keeps what it opened.
    let share = before.filter(|one| one.kind == ParticipantKind::Share).and_then(|one| one.via);
    let directory = &state.rooms.directory;
    let redeemed = match query.grant.as_deref() {
        Some(grant) => directory.redeem_session_grant(arriving.app.id(), grant, share).await,
        None => Err(Error::new(ErrorCode::GrantInvalid, "query parameter grant: is missing")),
    };
    let visit = match redeemed {
        Ok(visit) => visit,
        Err(error) if error.code == ErrorCode::GrantInvalid && is_navigation(&headers) => {
            return Ok(status_page(&state, &context, &uri, Refusal::SpentGrant));
        }
        Err(error) => return Err(error.into()),
    };
    replaced(&arriving, &state).await;
    let slug = &arriving.app.record().slug;
    let location = state.origins.app_path(slug, &return_to.unwrap_or_default());
    Ok(welcome(&arriving, &state, &visit, &location)?)
}

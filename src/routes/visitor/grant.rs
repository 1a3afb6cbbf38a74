//! `/s/grant/{token}` on an app's origin: the link that makes visitors with a custom role.

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::{HeaderMap, Uri};
use rookery_actors::directory::ParticipantKind;
use rookery_domain::{
    Error,
    access::Tier,
    grants,
    secret::{Secret, SecretKind},
};

use super::{came_in, see_other};
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{Arriving, Following},
        client::RequestContext,
        looking::{Looking, is_link_preview, untouched},
    },
    routes::page::refuse,
    state::AppState,
};

/// Lets whoever has the link in, with its role, and goes on to the start of the app. Whoever came
/// by it before stays who they are, and uses nothing up; nor does a program that previews links.
///
/// # Errors
/// `grant_invalid` for a link that is unknown, used up, expired, revoked, or of another app (to a
/// browser as a page).
pub async fn grant(
    Following(arriving): Following,
    context: RequestContext,
    State(state): State<AppState>,
    Looking(looking): Looking,
    uri: Uri,
    headers: HeaderMap,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    let show = |error: Error| Ok(refuse(&state, &context, &uri, &headers, error.into()));
    let record = arriving.app.record();
    if let Err(error) = arriving.check_state(Tier::Visitor, false) {
        return show(error);
    }
    if looking || is_link_preview(&headers) {
        return Ok(untouched());
    }
    let base = state.origins.app_base_path(&record.slug);
    if is_here_by(&arriving, &token).await {
        return Ok(see_other(&base)?);
    }
    let redeemed = match Secret::parse(SecretKind::Grant, &token) {
        Some(token) => {
            let directory = &state.rooms.directory;
            directory.redeem_grant(&arriving.app, arriving.nobody(), token.hash()).await
        }
        None => Err(grants::not_good()),
    };
    match redeemed {
        Ok(visit) => came_in(&arriving, &state, &visit, &base).await,
        Err(error) => show(error),
    }
}

/// Whether the visitor came by this link before, and is still let in by it.
async fn is_here_by(arriving: &Arriving, token: &str) -> bool {
    let Some(visitor) = arriving.participant().filter(|one| one.kind == ParticipantKind::Grant)
    else {
        return false;
    };
    let Some(token) = Secret::parse(SecretKind::Grant, token) else { return false };
    let by_this = arriving.app.grant_of_token(token.hash().0).await.ok().flatten();
    let came_by = visitor.via == by_this.map(|grant| grant.uuid().into_bytes());
    came_by && arriving.app.standing(&arriving.caller_of(visitor)).await.is_ok()
}

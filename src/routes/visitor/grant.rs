//! `/s/grant/{token}` on an app's origin: the link that makes visitors with a custom role.

use axum::{extract::State, response::Response};
use rookery_actors::directory::CameBy;
use rookery_domain::{
    Result, grants,
    secret::{Secret, SecretKind},
};

use super::{asked_here, came_in, insider, refused, see_other};
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{Arriving, Following},
        params::Path,
        prefetch::{Speculative, is_link_preview, untouched},
    },
    pages::status::Insider,
    routes::page::{PageRequest, Refusal},
    state::AppState,
};

/// Lets whoever has the link in, with its role, and goes on to the start of the app. Whoever came
/// by it before stays who they are, and uses nothing up; nor does a program that previews links. A
/// browser in which the owner or a member is in the app is asked first, by a page whose form is
/// [`accept`]'s.
///
/// # Errors
/// `grant_invalid` for a link that is unknown, used up, expired, revoked, or of another app (to a
/// browser as a page).
pub async fn grant(
    Following(arriving): Following,
    request: PageRequest,
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    let show = |refusal| Ok(request.refuse(&state, refusal));
    if let Err(error) = arriving.check_live() {
        return show(error.into());
    }
    if looking || is_link_preview(&request.headers) {
        return Ok(untouched());
    }
    let who = insider(&arriving, &request.headers).await?.filter(|who| *who != Insider::Holder);
    if let Some(who) = who
        && lets_in(&arriving, &token).await?
    {
        return show(Refusal::AlreadyIn(who));
    }
    let entered = enter(&arriving, &state, &token).await;
    entered.or_else(|error| refused(&request, &state, error))
}

/// Lets whoever sends the form of [`grant`]'s page in by the link.
///
/// # Errors
/// `csrf_origin_mismatch` for a form of another page; those of [`grant`].
pub async fn accept(
    Following(arriving): Following,
    request: PageRequest,
    State(state): State<AppState>,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    asked_here(&arriving, &state, &request.headers)?;
    let entered = enter(&arriving, &state, &token).await;
    entered.or_else(|error| refused(&request, &state, error))
}

/// Spends a use of the link, unless the visitor is here by it.
async fn enter(arriving: &Arriving, state: &AppState, token: &str) -> ApiResult<Response> {
    let base = state.origins.app_base_path(&arriving.app.record().slug);
    if is_here_by(arriving, token).await {
        return Ok(see_other(&base)?);
    }
    let token = Secret::parse(SecretKind::Grant, token).ok_or_else(grants::not_good)?;
    let directory = &state.rooms.directory;
    let visit = directory.redeem_grant(&arriving.app, arriving.nobody(), token.hash()).await?;
    came_in(arriving, state, &visit, &base).await
}

/// Whether the link lets somebody in now.
async fn lets_in(arriving: &Arriving, token: &str) -> Result<bool> {
    let Some(token) = Secret::parse(SecretKind::Grant, token) else { return Ok(false) };
    arriving.app.grant_lets_in(token.hash()).await
}

/// Whether the visitor came by this link before, and is still let in by it.
async fn is_here_by(arriving: &Arriving, token: &str) -> bool {
    let Some(visitor) = arriving.participant() else { return false };
    let CameBy::Grant(came_by) = visitor.came_by else { return false };
    let Some(token) = Secret::parse(SecretKind::Grant, token) else { return false };
    let by_this = arriving.app.grant_of_token(token.hash()).await.ok().flatten();
    by_this == Some(came_by) && arriving.app.standing(&arriving.caller_of(visitor)).await.is_ok()
}

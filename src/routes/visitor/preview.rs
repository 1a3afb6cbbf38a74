//! `/s/preview/{token}` on an app's origin: a look at a private app, for reading only.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use rookery_actors::directory::{Arrival, CameBy};
use rookery_domain::{
    Error, ErrorCode, Result,
    previews::Preview,
    secret::{Secret, SecretKind},
};

use super::{asked_here, come_in, insider, refused, see_other};
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{Arriving, Following},
        params::Path,
        prefetch::{Speculative, untouched},
    },
    routes::page::{PageRequest, Refusal},
    state::AppState,
};

/// Lets whoever has the token look at the app, and goes on to its start. Whoever looks by it
/// already stays who they are. A browser in which somebody may do more is asked first, by a page whose
/// form is [`accept`]'s.
///
/// # Errors
/// `grant_invalid` for a token that is unknown, expired, revoked, or of another app, and while the
/// app is not private (to a browser as a page).
pub async fn preview(
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
    let preview = match in_force(&arriving, &token).await {
        Ok(preview) => preview,
        Err(error) => return show(error.into()),
    };
    if looking {
        return Ok(untouched());
    }
    match insider(&arriving, &request.headers).await? {
        Some(who) => show(Refusal::AlreadyIn(who)),
        None => enter(&arriving, &state, &preview).await,
    }
}

/// Lets whoever sends the form of [`preview`]'s page look.
///
/// # Errors
/// `csrf_origin_mismatch` for a form of another page; those of [`preview`].
pub async fn accept(
    Following(arriving): Following,
    request: PageRequest,
    State(state): State<AppState>,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    asked_here(&arriving, &state, &request.headers)?;
    match in_force(&arriving, &token).await {
        Ok(preview) => enter(&arriving, &state, &preview).await,
        Err(error) => refused(&request, &state, error.into()),
    }
}

/// Lets the visitor look, unless it does by this preview already.
async fn enter(arriving: &Arriving, state: &AppState, preview: &Preview) -> ApiResult<Response> {
    let base = state.origins.app_base_path(&arriving.app.record().slug);
    let came_by = CameBy::Preview(preview.id);
    if arriving.participant().is_some_and(|visitor| visitor.came_by == came_by) {
        return Ok(see_other(&base)?);
    }
    let arrival = Arrival::Preview { preview: preview.id, until: preview.expires_at };
    come_in(arriving, state, arrival, &base).await
}

/// The preview that the token is of, if it opens the app now.
async fn in_force(arriving: &Arriving, token: &str) -> Result<Arc<Preview>> {
    let refused = || Error::new(ErrorCode::GrantInvalid, "this preview is not good");
    let token = Secret::parse(SecretKind::Preview, token).ok_or_else(refused)?.hash();
    arriving.app.preview(token).await?.ok_or_else(refused)
}

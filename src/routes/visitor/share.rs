//! `/s/share/{token}` on an app's origin: the link that opens an app with visibility `link`.

use axum::{extract::State, response::Response};
use rookery_actors::directory::{Arrival, Participant};
use rookery_domain::{
    app::AppRecord,
    manifest::Visibility,
    secret::{Secret, SecretHash, SecretKind},
};

use super::{come_in, see_other, welcome};
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{Arriving, Following},
        params::Path,
        prefetch::{Speculative, untouched},
    },
    routes::page::{Outsider, PageRequest, Refusal},
    state::AppState,
};

/// Lets whoever has the link in, and goes on to the start of the app. Whoever is in by a right of its
/// own, or by a grant link, stays who it is.
///
/// # Errors
/// `unauthorized` for a token that is not the one in force; `soft_deleted`, `app_closed` (to a browser
/// as a page).
pub async fn share(
    Following(arriving): Following,
    request: PageRequest,
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    if let Err(error) = arriving.check_live() {
        return Ok(request.refuse(&state, error.into()));
    }
    let record = arriving.app.record();
    let link = in_force(&record, &token);
    let refusal = match record.visibility {
        Visibility::Private => Some(Refusal::Private(Outsider::Stranger)),
        Visibility::Link if link.is_none() => Some(Refusal::DeadShareLink),
        Visibility::Link | Visibility::Public => None,
    };
    if let Some(refusal) = refusal {
        return Ok(request.refuse(&state, refusal));
    }
    if looking {
        return Ok(untouched());
    }
    let base = state.origins.app_base_path(&record.slug);
    let here_already = |visitor: &Participant| {
        link.is_some_and(|link| visitor.came_by.share() == Some(link.half()))
    };
    // A public app needs no link any more, and a visitor that came by this one stays who it is.
    let link = link.filter(|_| !arriving.participant().is_some_and(|v| here_already(v)));
    let Some(link) = link else {
        return Ok(see_other(&base)?);
    };
    if keeps_its_own_way(&arriving).await {
        return Ok(see_other(&base)?);
    }
    if let Some(human) = arriving.participant().filter(|one| one.came_by.human().is_some()) {
        return match state.rooms.directory.came_by_share(human, link).await? {
            Some(visit) => Ok(welcome(&arriving, &state, &visit, &base)?),
            // Another request of the same visitor was first, and its answer has the token.
            None => Ok(see_other(&base)?),
        };
    }
    come_in(&arriving, &state, Arrival::Share(link), &base).await
}

/// Whether the visitor came in another way that still lets it in, with no less than the share link
/// would give: a grant link's role is not lost by following that.
async fn keeps_its_own_way(arriving: &Arriving) -> bool {
    let Some(visitor) = arriving.participant() else { return false };
    let standing = arriving.app.standing(&arriving.caller_of(visitor)).await;
    standing.is_ok_and(|standing| !standing.read_only)
}

/// The hash of `token`, if it is the share token in force. Hashes are compared, in constant time.
fn in_force(app: &AppRecord, token: &str) -> Option<SecretHash> {
    let given = Secret::parse(SecretKind::Share, token)?.hash();
    app.share.as_ref().map(|share| share.hash).filter(|in_force| *in_force == given)
}

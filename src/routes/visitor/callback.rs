//! `/s/callback` on an app's origin: redeems the grant that `/authorize` made, and the human is a
//! visitor of this app.

use axum::{extract::State, response::Response};
use rookery_actors::directory::{CameBy, Participant};
use rookery_domain::{Error, ErrorCode, access::Tier, redirect::ReturnPath};
use serde::Deserialize;

use super::{replaced, see_other, welcome};
use crate::{
    error::ApiResult,
    http::{
        auth::visitor::{Arriving, Following},
        cookie, csrf,
        params::StrictQuery,
        prefetch::{Speculative, untouched},
    },
    routes::page::{PageRequest, Refusal},
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
    /// What the browser was given where the sign-in began.
    state: Option<String>,
}

/// Signs in to the app and goes on to the return path. Whoever is in by a link of its own, and whose
/// account is not let in or has less than a grant link gave, stays who it was: signing in shuts nobody
/// out, and takes no role away. A browser that another origin led here (`Sec-Fetch-Site`) is asked
/// first where the sign-in did not begin in it, or would make it use the app as somebody else.
///
/// # Errors
/// `grant_invalid` for a missing, unknown, used or expired grant and for one of another app (to a
/// browser as a page); `invalid_request` for a return path that leads elsewhere.
pub async fn callback(
    Following(arriving): Following,
    request: PageRequest,
    State(state): State<AppState>,
    Speculative(looking): Speculative,
    StrictQuery(query): StrictQuery<Callback>,
) -> ApiResult<Response> {
    let return_to = ReturnPath::named(query.return_to.as_deref(), |path| {
        ReturnPath::of_app("return_to", path)
    })?;
    if looking {
        return Ok(untouched());
    }
    let before = arriving.participant();
    let directory = &state.rooms.directory;
    // Nobody is to be made to use the app as somebody else by a page that it looks at.
    let human = before.and_then(|before| before.came_by.human());
    if csrf::is_led_from_elsewhere(&request.headers)
        && let Some(grant) = query.grant.as_deref()
        && directory.is_grant_of_another(grant, human).await?
    {
        let signed_in = before.filter(|_| human.is_some());
        if let Some(before) = signed_in
            && arriving.app.standing(&arriving.caller_of(before)).await.is_ok()
        {
            return Ok(request.status_page(&state, Refusal::AnotherAccount));
        }
        if !cookie::sign_in::began_here(&request.headers, query.state.as_deref(), &state) {
            return Ok(request.status_page(&state, Refusal::UnaskedSignIn));
        }
    }
    // Whoever came by the share link keeps what it opened.
    let share = before.filter(|_| human.is_none()).and_then(|before| before.came_by.share());
    let redeemed = match query.grant.as_deref() {
        Some(grant) => directory.redeem_session_grant(arriving.app.id(), grant, share).await,
        None => Err(Error::new(ErrorCode::GrantInvalid, "query parameter grant: is missing")),
    };
    let visit = match redeemed {
        Ok(visit) => visit,
        Err(error) if error.code == ErrorCode::GrantInvalid => {
            return Ok(request.refuse(&state, Refusal::SpentGrant(error)));
        }
        Err(error) => return Err(error.into()),
    };
    let slug = &arriving.app.record().slug;
    let location = state.origins.app_path(slug, &return_to.unwrap_or_default());
    if stays_in_by_its_link(&arriving, &visit.participant).await {
        directory.revoke_participant(&visit.participant).await?;
        return Ok(see_other(&location)?);
    }
    replaced(&arriving, &state).await;
    Ok(welcome(&arriving, &state, &visit, &location)?)
}

/// Whether the app is open to the visitor that the browser was before, by a link that it came by, and
/// is not to the human that it signed in as, or not by a right of its own where the link gave a role.
async fn stays_in_by_its_link(arriving: &Arriving, human: &Participant) -> bool {
    let before = arriving.participant().filter(|one| one.came_by.human().is_none());
    let Some(before) = before else { return false };
    let standing = async |one| arriving.app.standing(&arriving.caller_of(one)).await;
    let loses = match standing(human).await {
        Ok(human) => matches!(before.came_by, CameBy::Grant(_)) && human.tier == Tier::Visitor,
        Err(error) => error.code == ErrorCode::Unauthorized,
    };
    loses && standing(before).await.is_ok()
}

//! `/transfers`: a human sees the apps that are offered to its address, and takes or declines them.

use axum::{body::Body, extract::State, response::Response};
use http::{HeaderMap, Method, StatusCode};
use rookery_actors::directory::SessionHolder;
use rookery_domain::{Error, ErrorCode, Result, id::TransferId};
use serde::Deserialize;

use super::{FORM_BYTES_MAX, form, frame, see_other, show, visitor};
use crate::{
    error::ApiResult,
    http::csrf,
    pages::site::{OfferView, TransfersPage},
    routes::transfers::record::TransferBody,
    state::{AppState, State as Shared},
};

/// Offers that the page shows; the others come when these are decided.
const OFFERS_MAX: usize = 50;

/// What the form sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    transfer: TransferId,
    decision: Decision,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Accept,
    Decline,
}

/// The page.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn page(State(state): State<AppState>, headers: HeaderMap) -> ApiResult<Response> {
    let Some(visitor) = visitor(&state, &headers)? else { return Ok(to_sign_in()?) };
    Ok(answer(&state, visitor, StatusCode::OK, None).await?)
}

/// Takes an app or declines it. The form must come from this site.
///
/// # Errors
/// `csrf_origin_mismatch`, `invalid_request`, `unavailable`, `internal`.
pub async fn decide(
    State(state): State<AppState>,
    method: Method,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    csrf::check(&method, &headers, &state.public_url)?;
    let Form { transfer, decision } = form(&headers, body, FORM_BYTES_MAX).await?;
    let Some(visitor) = visitor(&state, &headers)? else { return Ok(to_sign_in()?) };
    let human = state.rooms.directory.human(visitor.human)?;
    let human = human.ok_or_else(|| Error::internal(false))?;
    let control = state.rooms.control();
    let decided = match decision {
        Decision::Accept => control.accept_offer(human, transfer).await.map(drop),
        Decision::Decline => control.decline_offer(&human, transfer).await,
    };
    match decided {
        // Seen anew, so that reloading the page decides nothing again.
        Ok(()) => Ok(see_other("/transfers")?),
        Err(error) => {
            let why = explain(&error).ok_or_else(|| error.clone())?;
            let status = crate::error::status(error.code);
            Ok(answer(&state, visitor, status, Some(why.to_owned())).await?)
        }
    }
}

/// What to tell a human of an offer that cannot be taken; `None` for a failure of the service.
fn explain(error: &Error) -> Option<&'static str> {
    Some(match error.code {
        ErrorCode::NotFound => "This offer is gone: it was withdrawn, declined or accepted.",
        ErrorCode::EmailNotVerified => "Verify the address that the app is offered to first.",
        ErrorCode::AccountQuotaExceeded => "Your account has no room for this app.",
        ErrorCode::SoftDeleted => "The app is in the trash. Its owner can bring it back.",
        ErrorCode::AppClosed => "The app was taken down.",
        ErrorCode::Conflict => "The app is yours already.",
        _ => return None,
    })
}

async fn answer(
    state: &Shared,
    visitor: SessionHolder,
    status: StatusCode,
    error: Option<String>,
) -> Result<Response> {
    let human = state.rooms.directory.human(visitor.human)?;
    let verified = human.filter(|human| human.email_verified_at.is_some());
    let email = verified.and_then(|human| human.email.clone());
    let mut offers = Vec::new();
    if let Some(email) = &email {
        let (found, _) = state.rooms.control().offers_to(email, None, OFFERS_MAX).await?;
        for offer in &found {
            let TransferBody { id, app, offered_by, created_at, .. } =
                TransferBody::of(state, offer)?;
            offers.push(OfferView {
                id: id.to_string(),
                app: app.slug.to_string(),
                url: app.url,
                by: offered_by.name,
                offered_at: created_at.to_string(),
            });
        }
    }
    let page = TransfersPage { shell: frame(state, Some(visitor))?, offers, error };
    show(state, status, &page)
}

/// Signs in and comes back.
fn to_sign_in() -> Result<Response> {
    see_other("/sign-in?redirect_to=%2Ftransfers")
}

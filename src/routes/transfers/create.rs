//! `POST /v1/apps/:id/transfer`: offers an app to an address.

use axum::{extract::State, response::Response};
use rookery_domain::{Error, ErrorCode, Result, email::Email};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::TransferBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson},
        idempotency::{Creation, IdempotencyKey},
        reply::Created,
    },
    mail::Letter,
    push::{Addressee, Notice},
    state::{AppState, State as Shared},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Whom the app is offered to.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTransfer {
    /// The address. Whoever proves it can take the app; it need not have an account yet.
    #[schema(example = "you@example.org")]
    email: String,
}

impl RequestBody for NewTransfer {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Offers an app's ownership to an e-mail address.
///
/// The addressee is told by mail. Nothing changes before the offer is accepted; it stands until
/// then, or until it is declined or withdrawn. An app has one pending offer at most: `conflict`.
/// With the acceptance everything of the app goes over at once: it counts for the new account,
/// leaves its organization, and the former owner is a stranger to it. Its members, links and
/// credentials stay, for the new owner to look through.
#[utoipa::path(
    post, path = "/v1/apps/{id}/transfer", tag = "Transfers", request_body = NewTransfer,
    params(("id" = String, Path, description = "The app's id or slug"), IdempotencyKey),
    responses((status = 201, description = "The offer", body = TransferBody)),
)]
pub async fn create(
    owner: AppOwner,
    State(state): State<AppState>,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<NewTransfer>,
) -> ApiResult<Response> {
    let email = Email::parse(&body.email)?;
    let AppOwner { app, caller, .. } = owner;
    let route = format!("POST /v1/apps/{}/transfer", app.id());
    let principal = caller.principal();
    let shared = state.clone();
    let make = async move {
        // The permission lets nobody through who acts for no account.
        let by = caller.account().ok_or_else(Error::app_not_found)?;
        let holder = shared.rooms.directory.human(app.record().owner)?;
        let holds = |address: &str| address == email.as_str();
        if holder.is_some_and(|human| {
            human.email_verified_at.is_some() && human.email.as_deref().is_some_and(holds)
        }) {
            return Err(Error::new(ErrorCode::Conflict, "`email` is the app's owner's already"));
        }
        let offer = shared.rooms.control().offer(&app, by, &email).await?;
        let record = TransferBody::of(&shared, &offer)?;
        if let Err(error) = tell(&shared, &email, &record) {
            // An offer that nobody hears of is none.
            shared.rooms.control().withdraw_offer(&app).await?;
            return Err(error);
        }
        Ok(Created { location: format!("/v1/apps/{}/transfer", app.id()), record })
    };
    Creation { key, principal, route: &route }.answer(&state, &body, make).await
}

/// Mails the addressee, and tells its browsers. The link is of this site, whatever the request
/// says.
fn tell(state: &Shared, email: &Email, offer: &TransferBody) -> Result<()> {
    let by = state.rooms.directory.human(offer.offered_by.id)?;
    let by = by.map(|human| human.name.clone().or_else(|| human.email.clone()));
    let by = by.flatten().unwrap_or_else(|| "Somebody".to_owned());
    let link = format!("{}/transfers", state.public_url);
    let letter = Letter::transfer(&state.public_url, &link, &offer.app.slug, &by, email.as_str())?;
    state.mailer.send(email, letter)?;
    state.push.tell(Addressee::Holder(email.clone()), Notice::offered(&offer.app.slug, &by));
    Ok(())
}

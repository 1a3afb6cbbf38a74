//! `POST /v1/apps/:id/transfer`: offers an app to an address.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use parking_lot::Mutex;
use rookery_actors::{control::Offer, task::to_the_end};
use rookery_domain::{Error, ErrorCode, email::Email, idempotency::Idempotent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::{OfferedBy, TransferBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson},
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    mail::{Offered, sender},
    notices::{self, Deed},
    push::PushMessage,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Whom the app is offered to.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTransfer {
    /// The address. Whoever proves it can take the app; it need not have an account yet.
    #[schema(format = Email, max_length = 254, example = "you@example.org")]
    email: String,
}

impl RequestBody for NewTransfer {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Offers an app's ownership to an e-mail address.
///
/// The addressee is told by mail, unless the address was sent, or the caller's account has caused, enough of
/// them lately. Nothing changes before the offer is accepted; it stands until
/// then, or until it is declined or withdrawn. An app has one pending offer at most: `conflict`.
/// With the acceptance everything of the app goes over at once: it counts for the new account,
/// leaves its organization, and the former owner is a stranger to it. `unrestricted` is turned off:
/// it was the former owner's word. Its members, grant links and service credentials stay, for the new
/// owner to look through, and so do its share link, its custom domains and migration mode; `comes_with`
/// tells of them. Preview links end. The app's owner is told by mail
/// when somebody else offers the app, and so is whoever offers it when it is accepted or declined.
#[utoipa::path(
    post, path = "/v1/apps/{id}/transfer", tag = "Transfers", request_body = NewTransfer,
    params(IdempotencyKey),
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
    // The permission lets nobody through who acts for no account.
    let by = caller.account().ok_or_else(Error::app_not_found)?;
    let offers = state.rooms.directory.human(by)?;
    let (shared, offered_by) = (state.clone(), OfferedBy::of(by, offers.as_deref()));
    let shown = move |offer: &Offer| Created {
        location: format!("/v1/apps/{}/transfer", offer.record.id),
        record: TransferBody::new(&shared, offer, offered_by.clone()),
    };
    let request = key.request(principal, &[&route], &body);
    let ask = async move |kept| {
        to_the_end(async move {
            let by_name = sender(offers.as_deref());
            let slug = app.record().slug.clone();
            // This site's, whatever the request says.
            let (site, link) = (&state.public_url, format!("{}/transfers", state.public_url));
            let offered =
                Offered { site, link: &link, app: &slug, by: &by_name, email: email.as_str() };
            let letter = offered.write()?;
            let record = app.record();
            let (shared, to) = (state.clone(), email.clone());
            let permit = Arc::new(Mutex::new(None));
            let reserved = Arc::clone(&permit);
            let make = move |keep| async move {
                // There is no offer whose mail has no room. Where its address was sent enough of them
                // lately, whoever holds it finds the offer on the site.
                *reserved.lock() = Some(shared.mailer.reserve()?);
                let directory = &shared.rooms.directory;
                shared.rooms.control().offer(directory, &app, by, &to, keep).await
            };
            let offer = state.rooms.directory.idempotent(request, kept, make).await?;
            if let Idempotent::Fresh(_) = offer {
                if let Some(permit) = permit.lock().take()
                    && state.mailer.admits_notice(&email, Some(by))
                {
                    permit.send(&email, letter);
                }
                notices::tell_owner(&state, &record, Some(by), Deed::Offered { to: &email });
                let message = PushMessage::offered(&slug, &by_name);
                match state.rooms.directory.holder_of(&email).await {
                    Ok(Some(human)) => state.push.tell(human, by, message),
                    Ok(None) => {}
                    Err(error) => tracing::warn!(%error, "a push was not sent"),
                }
            }
            Ok(offer)
        })
        .await
    };
    answer_once(shown, ask).await
}

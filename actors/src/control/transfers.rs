//! Giving an app away: offered to an address, taken by the account that has proven it. Offers live
//! in storage alone; what accepting one changes goes through the app's slot, and the offer ends in
//! that same commit.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    app::{AppRecord, AppStatus},
    email::Email,
    id::{HumanId, TransferId},
    principal::Caller,
    transfers::{check_addressee, no_such_offer},
};
use rookery_storage::{
    apps::room,
    humans::Human,
    idempotency::KeepResponse,
    transfers::{self, OfferOutcome, Transfer, TransferContents},
};

use super::{Control, to_the_end, too_many_apps};
use crate::{
    Directory,
    app::message::{Acceptance, AppOp, Op, Reply},
    meters::Whose,
    registry::AppHandle,
};

/// A pending offer, and the app as it is now.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The offer.
    pub transfer: Transfer,
    /// The app's record.
    pub record: Arc<AppRecord>,
    /// What goes over with it.
    pub along: TransferContents,
}

/// An app that was taken.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The app, which has its new owner.
    pub app: AppHandle,
    /// Who owned it before.
    pub former: HumanId,
    /// Who offered it.
    pub offered_by: HumanId,
}

impl Control {
    /// Offers `app` to whoever proves `email`; `by` acts as its owner.
    ///
    /// # Errors
    /// `conflict` when the address is the owner's, or an offer is pending; `app_not_found` when it has
    /// another owner meanwhile.
    pub async fn offer(
        &self,
        directory: &Directory,
        app: &AppHandle,
        by: HumanId,
        email: &Email,
        keep: KeepResponse<Offer>,
    ) -> Result<Offer> {
        let record = app.record();
        let owner = directory.human(record.owner)?;
        if owner.is_some_and(|owner| owner.proven_email() == Some(email.as_str())) {
            return Err(Error::new(
                ErrorCode::Conflict,
                "`email` is the address of the app's owner",
            ));
        }
        if self.pending_offer(app).await?.is_some() {
            return Err(already_offered());
        }
        let transfer = Transfer {
            id: TransferId::new(),
            app: app.id(),
            email: email.as_str().to_owned(),
            offered_by: by,
            created_at: self.env().clock.now(),
        };
        let along = self.along(&transfer).await?;
        let offered = Arc::clone(&record);
        let keep = keep.of(move |transfer: &Transfer| Offer {
            transfer: transfer.clone(),
            record: Arc::clone(&offered),
            along,
        });
        let outcome = transfers::offer(&self.db, transfer.clone(), record.owner, keep).await;
        match outcome? {
            OfferOutcome::Offered => Ok(Offer { transfer, record, along }),
            OfferOutcome::Pending => Err(already_offered()),
            OfferOutcome::Moved => Err(Error::app_not_found()),
        }
    }

    /// The pending offer of an app.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn offer_of(&self, app: &AppHandle) -> Result<Option<Offer>> {
        let Some(transfer) = self.pending_offer(app).await? else { return Ok(None) };
        let along = self.along(&transfer).await?;
        Ok(Some(Offer { transfer, record: app.record(), along }))
    }

    /// What goes over with the app of an offer.
    async fn along(&self, Transfer { app, email, .. }: &Transfer) -> Result<TransferContents> {
        Ok(transfers::along(&self.db, *app, email, self.env().clock.now()).await?)
    }

    /// The pending offer of an app. One whose account does not act as the owner any more has ended:
    /// it is deleted, so that nothing that account becomes later brings it back.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer, or accounts are being loaded.
    pub(super) async fn pending_offer(&self, app: &AppHandle) -> Result<Option<Transfer>> {
        let found = transfers::of_app(&self.db, app.id()).await?;
        let Some(transfer) = found else { return Ok(None) };
        if self.apps.acts_as_owner(&app.record(), transfer.offered_by)? {
            return Ok(Some(transfer));
        }
        transfers::end(&self.db, transfer.id).await?;
        Ok(None)
    }

    /// Withdraws the pending offer of an app in the name of `by`, if there is one.
    ///
    /// # Errors
    /// `app_not_found` where an acceptance was first; `unavailable` when storage does not answer.
    pub async fn withdraw_offer(&self, app: &AppHandle, by: Option<HumanId>) -> Result<()> {
        let owner = app.owner_for(by)?;
        match transfers::withdraw(&self.db, app.id(), owner).await? {
            true => Ok(()),
            false => Err(Error::app_not_found()),
        }
    }

    /// At most `limit` offers to an address, the newest first, behind the one at `after`, and
    /// where the list goes on when there may be more.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn offers_to(
        &self,
        email: &str,
        after: Option<(Timestamp, TransferId)>,
        limit: usize,
    ) -> Result<(Vec<Offer>, Option<(Timestamp, TransferId)>)> {
        // One more than asked for tells whether there is another page.
        let page = u32::try_from(limit + 1).unwrap_or(u32::MAX);
        let mut found = transfers::to_address(&self.db, email, after, page).await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|last| (last.created_at, last.id));
        let mut offers = Vec::with_capacity(found.len());
        for transfer in found {
            match self.apps.by_id(transfer.app).await {
                Ok(app) => {
                    let along = self.along(&transfer).await?;
                    offers.push(Offer { transfer, record: app.record(), along });
                }
                // Being destroyed, and the offer with it.
                Err(error) if error.code == ErrorCode::AppNotFound => {}
                // Its record is damaged. Anybody may offer one, and it hides no other.
                Err(error) if error.code == ErrorCode::Internal => {
                    tracing::error!(app.id = %transfer.app, %error, "an offered app cannot be read");
                }
                Err(error) => return Err(error),
            }
        }
        offers.retain(|offer| self.stands(offer));
        Ok((offers, next))
    }

    /// Takes an offered app: from the answer on it is `human`'s in every respect.
    ///
    /// # Errors
    /// `not_found` for an offer that is gone or somebody else's; `email_not_verified`;
    /// `account_quota_exceeded`; `soft_deleted`, `app_closed`; `unavailable`, `internal`.
    pub async fn accept_offer(&self, human: Arc<Human>, id: TransferId) -> Result<Accepted> {
        let control = self.clone();
        to_the_end(async move {
            let (transfer, app) = control.offer_for(&human, id).await?;
            let env = control.env();
            // The commit is what decides; but nobody shall disturb somebody else's app by trying
            // what is known to fail.
            app.record().status.check_live()?;
            let apps_max = env.limits.apps_max();
            if let Some(of) = room::lacking(&control.db, human.id, app.id(), apps_max).await? {
                return Err(too_many_apps(of, apps_max));
            }
            // Counted from storage before the app can be among its apps there.
            let account = env.accounts.get(human.id, &*env.store).await?;
            let acceptance =
                Acceptance { transfer: id, offered_by: transfer.offered_by, to: human.id, account };
            // What it was used for until now was the former account's.
            let rolled_up = control.roll_up(Whose::App(app.id())).await;
            rolled_up.map_err(|error| {
                let message = "what the app was used for cannot be written now";
                Error::unavailable(message).caused_by(error)
            })?;
            let (former, offered_by) = (app.record().owner, transfer.offered_by);
            let op = Op::App(AppOp::HandOver(acceptance));
            match app.apply(Caller::System, op).await? {
                Reply::HandedOver(_) => Ok(Accepted { app, former, offered_by }),
                other => Err(other.unexpected()),
            }
        })
        .await
    }

    /// Turns an offer down: it is gone. What it was, and the app.
    ///
    /// # Errors
    /// `not_found`, `email_not_verified`; `unavailable`.
    pub async fn decline_offer(
        &self,
        human: &Human,
        id: TransferId,
    ) -> Result<(Transfer, AppHandle)> {
        let declined = self.offer_for(human, id).await?;
        match transfers::end(&self.db, id).await? {
            true => Ok(declined),
            false => Err(no_such_offer()),
        }
    }

    /// An offer to `human`, and its app.
    async fn offer_for(&self, human: &Human, id: TransferId) -> Result<(Transfer, AppHandle)> {
        let found = transfers::by_id(&self.db, id).await?;
        let transfer = found.ok_or_else(no_such_offer)?;
        let verified = human.email_verified_at.is_some();
        check_addressee(&transfer.email, human.email.as_deref(), verified)?;
        match self.apps.by_id(transfer.app).await {
            Ok(app) if self.apps.acts_as_owner(&app.record(), transfer.offered_by)? => {
                Ok((transfer, app))
            }
            Ok(_) => Err(no_such_offer()),
            Err(error) if error.code == ErrorCode::AppNotFound => Err(no_such_offer()),
            Err(error) => Err(error),
        }
    }

    /// Whether an offer can be accepted, as far as the app is concerned: an admin who was demoted
    /// has nothing to offer any more.
    fn stands(&self, offer: &Offer) -> bool {
        let by = offer.transfer.offered_by;
        offer.record.status == AppStatus::Live
            && self.apps.acts_as_owner(&offer.record, by).unwrap_or(false)
    }
}

fn already_offered() -> Error {
    Error::new(ErrorCode::Conflict, "the app is offered already: withdraw that offer first")
}

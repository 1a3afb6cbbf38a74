//! Push subscriptions of humans' browsers. What one holds is sealed before it comes here, and opened
//! where a push is sent.

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp, email::Email, id::HumanId, secret::SecretHash,
};
use rookery_storage::{
    humans,
    idempotency::KeepResponse,
    push::{self, Kept, NewSubscription, Subscription},
};

use super::Directory;

impl Directory {
    /// Keeps a subscription, or refreshes it; one that another account had is this one's now.
    ///
    /// # Errors
    /// `unauthorized`, when the session has ended; `unavailable`, `internal`.
    pub async fn keep_push_subscription(
        &self,
        new: NewSubscription,
        now: Timestamp,
        keep: KeepResponse<Kept>,
    ) -> Result<Kept> {
        let kept = push::keep(&self.core.db, new, now, keep).await?;
        kept.ok_or_else(|| Error::new(ErrorCode::Unauthorized, "the session has ended"))
    }

    /// Deletes a human's subscription; a second time changes nothing.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn delete_push_subscription(&self, human: HumanId, hash: SecretHash) -> Result<()> {
        Ok(push::delete(&self.core.db, human, hash).await?)
    }

    /// The subscriptions of a human whose sessions are open.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn push_subscriptions(&self, human: HumanId) -> Result<Vec<Subscription>> {
        Ok(push::of_human(&self.core.db, human, self.core.now()).await?)
    }

    /// Deletes a subscription that its push service does not know any more, unless the browser has
    /// refreshed it meanwhile.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn drop_dead_push_subscription(&self, dead: &Subscription) -> Result<()> {
        Ok(push::drop_dead(&self.core.db, dead).await?)
    }

    /// Who has proven an address, if anybody has.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn holder_of(&self, email: &Email) -> Result<Option<HumanId>> {
        let human = humans::by_verified_email(&self.core.db, email.as_str()).await?;
        Ok(human.map(|human| human.id))
    }
}

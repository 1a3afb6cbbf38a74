//! Push subscriptions of humans' browsers. What a subscription holds is sealed before it comes
//! here: its endpoint and keys let whoever knows them speak to that browser.

use rookery_domain::{
    Timestamp,
    id::{HumanId, SessionId},
    secret::SecretHash,
};

use crate::{
    columns::record,
    db::{Db, args},
    error::Result,
    humans,
    idempotency::KeepResponse,
};

/// Subscriptions of one account; above it the one that was refreshed longest ago goes. A human
/// cannot see which of its browsers are dead, so none has to be deleted to make room.
pub const PER_ACCOUNT_MAX: u32 = 20;

/// A subscription to be kept.
#[derive(Debug, Clone)]
pub struct NewSubscription {
    /// SHA-256 of its endpoint: a browser is known by that.
    pub hash: SecretHash,
    /// Whose it is.
    pub human: HumanId,
    /// The session that asked; the subscription ends with it.
    pub session: SessionId,
    /// Endpoint and keys, sealed.
    pub sealed: String,
    /// When the browser will drop it, if it says so.
    pub expires_at: Option<Timestamp>,
}

/// What keeping it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Whether the account did not have it before.
    pub is_new: bool,
    /// Since when the account has it.
    pub created_at: Timestamp,
}

/// A subscription that may be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// SHA-256 of its endpoint.
    pub hash: SecretHash,
    /// Endpoint and keys, sealed.
    pub sealed: String,
}

record!(Subscription: hash, sealed);

/// Keeps a subscription, or refreshes it; one that another account had is this one's now, for the
/// browser is in this human's hands. `None` when the session has ended.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn keep(
    db: &Db,
    new: NewSubscription,
    now: Timestamp,
    answer: KeepResponse<Kept>,
) -> Result<Option<Kept>> {
    db.transaction_with(new.human, (new, now, answer), |tx, (new, now, answer)| {
        Box::pin(async move {
            // The account first, so that the count below holds; then the session: whoever ends it
            // waits for this, or has ended it.
            if !humans::lock_open(tx, new.human).await? {
                return Ok(None);
            }
            let open = tx
                .execute(
                    "update sessions set seen_at = seen_at
                     where id = $1 and human = $2 and expires_at > $3",
                    args![new.session, new.human, *now],
                )
                .await?;
            if open == 0 {
                return Ok(None);
            }
            let before: Option<Timestamp> = tx
                .value(
                    "select created_at from push_subscriptions where hash = $1 and human = $2",
                    args![new.hash, new.human],
                )
                .await?;
            let created_at = before.unwrap_or(*now);
            tx.execute(
                "insert into push_subscriptions
                     (hash, human, session, sealed, created_at, updated_at, expires_at)
                 values ($1, $2, $3, $4, $5, $6, $7)
                 on conflict (hash) do update set human = excluded.human,
                     session = excluded.session, sealed = excluded.sealed,
                     created_at = excluded.created_at, updated_at = excluded.updated_at,
                     expires_at = excluded.expires_at",
                args![
                    new.hash,
                    new.human,
                    new.session,
                    &new.sealed,
                    created_at,
                    *now,
                    new.expires_at
                ],
            )
            .await?;
            tx.execute(
                "delete from push_subscriptions where human = $1 and hash <> $2 and hash not in
                     (select hash from push_subscriptions where human = $1 and hash <> $2
                      order by updated_at desc, hash desc limit $3)",
                args![new.human, new.hash, PER_ACCOUNT_MAX - 1],
            )
            .await?;
            let kept = Kept { is_new: before.is_none(), created_at };
            answer.put(tx, &kept).await?;
            Ok(Some(kept))
        })
    })
    .await
}

/// The subscriptions of a human whose sessions are open: at most [`PER_ACCOUNT_MAX`].
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn of_human(db: &Db, human: HumanId, now: Timestamp) -> Result<Vec<Subscription>> {
    db.all(
        "select p.hash, p.sealed from push_subscriptions p join sessions s on s.id = p.session
         where p.human = $1 and s.human = p.human and s.expires_at > $2
           and (p.expires_at is null or p.expires_at > $2)
         order by p.updated_at desc, p.hash desc limit $3",
        args![human, now, PER_ACCOUNT_MAX],
    )
    .await
}

/// Deletes a human's subscription; a second time changes nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn delete(db: &Db, human: HumanId, hash: SecretHash) -> Result<()> {
    db.execute("delete from push_subscriptions where hash = $1 and human = $2", args![hash, human])
        .await?;
    Ok(())
}

/// Deletes a subscription that its push service does not know any more, unless the browser has
/// refreshed it meanwhile.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn drop_dead(db: &Db, dead: &Subscription) -> Result<()> {
    db.execute(
        "delete from push_subscriptions where hash = $1 and sealed = $2",
        args![dead.hash, &dead.sealed],
    )
    .await?;
    Ok(())
}

//! Closing an account: in one transaction nobody can act for it any more, and what was known of
//! the person is gone. Its record stays, without name and address, because rows and versions name
//! it as their author. Its apps leave one by one, afterwards.

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId},
};

use crate::{
    db::{Db, args},
    decode,
    error::Result,
    humans::Human,
};

/// Closes an open account whose address is `email`; `None` when there is no such account.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn close(
    db: &Db,
    human: HumanId,
    email: Option<String>,
    now: Timestamp,
) -> Result<Option<Human>> {
    db.transaction((human, email, now), |tx, (human, email, now)| {
        Box::pin(async move {
            let closed = tx
                .optional(
                    "update humans
                     set closed_at = $3, updated_at = $3, email = null, email_verified_at = null,
                         name = null, marketing_consent = 0
                     where id = $1 and closed_at is null
                       and (email = $2 or (email is null and $2 is null))
                     returning id, email, email_verified_at, name, marketing_consent, created_at,
                               updated_at, closed_at",
                    args![*human, email.as_deref(), *now],
                )
                .await?;
            let Some(closed) = closed else {
                tx.abandon();
                return Ok(None);
            };
            if let Some(email) = email {
                tx.execute("delete from links where email = $1", args![email.as_str()]).await?;
            }
            for sql in [
                "update agent_keys set state = 2 where state <> 2 and agent in
                     (select id from agents where owner = $1)",
                "delete from claims where human = $1",
                "delete from devices where human = $1",
                "delete from session_grants where human = $1",
                "delete from participants where human = $1",
                "delete from push_subscriptions where human = $1",
                "delete from sessions where human = $1",
                "delete from identities where human = $1",
                "delete from favorites where human = $1",
                "delete from views where human = $1",
                "delete from signup_sources where human = $1",
            ] {
                tx.execute(sql, args![*human]).await?;
            }
            Human::decode(closed).map(Some)
        })
    })
    .await
}

/// Apps of closed accounts that nobody has taken down yet.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn orphans(db: &Db, limit: u32) -> Result<Vec<AppId>> {
    let ids: Vec<(Vec<u8>,)> = db
        .all(
            "select a.id from apps a join humans h on h.id = a.owner
             where h.closed_at is not null
               and (a.status = 0 or (a.status = 2 and a.purge_at is null))
             order by a.id limit $1",
            args![limit],
        )
        .await?;
    ids.iter().map(|(id,)| decode::id("apps.id", id)).collect()
}

//! Closing an account: in one transaction nobody can act for it any more, and what was known of
//! the person is gone. Its record stays, without name and address, because rows and versions name
//! it as their author. It leaves its organizations at once. Its apps, and its place in the apps of
//! others, go one by one, afterwards.

use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId, OrgId},
};

use crate::{
    db::{Db, args, by_id},
    error::Result,
    humans::{Human, human_columns},
    orgs::{self, Org},
};

/// How closing an account ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closing {
    /// It is closed.
    Closed {
        /// What is left of its record.
        human: Box<Human>,
        /// The organizations that it was in, as they are without it.
        left: Vec<Org>,
    },
    /// There is no open account with this id and address.
    NoSuchAccount,
    /// It is the last admin of this organization, which others are in. Nothing was changed.
    LastAdmin(OrgId),
}

/// Closes an open account whose address is `email`, all or nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn close(
    db: &Db,
    human: HumanId,
    email: Option<String>,
    now: Timestamp,
) -> Result<Closing> {
    db.transaction((human, email, now), |tx, (human, email, now)| {
        Box::pin(async move {
            // An address that the account has not proven is somebody else's, and so are the links to it.
            let proven = "select email from humans where id = $1 and email_verified_at is not null";
            let proven: Option<String> = tx.value(proven, args![*human]).await?;
            let closed = tx
                .optional(
                    concat!(
                        "update humans
                         set closed_at = $3, updated_at = $3, email = null,
                             email_verified_at = null, name = null, marketing_consent = 0
                         where id = $1 and closed_at is null
                           and (email = $2 or (email is null and $2 is null))
                         returning ",
                        human_columns!()
                    ),
                    args![*human, email.as_deref(), *now],
                )
                .await?;
            let Some(closed) = closed else {
                tx.abandon();
                return Ok(Closing::NoSuchAccount);
            };
            let left = match orgs::leave_all(tx, *human, *now).await? {
                Ok(left) => left,
                Err(org) => {
                    tx.abandon();
                    return Ok(Closing::LastAdmin(org));
                }
            };
            if let Some(email) = proven {
                tx.execute("delete from links where email = $1", args![email]).await?;
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
            Ok(Closing::Closed { human: Box::new(closed), left })
        })
    })
    .await
}

/// Apps of closed accounts that nobody has taken down yet, and those accounts, in the order of the
/// apps' ids, behind `after`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn orphans(db: &Db, after: Option<AppId>, limit: u32) -> Result<Vec<(AppId, HumanId)>> {
    db.all(
        // `cross join` has SQLite begin with the accounts: few of all are closed.
        "select a.id, a.owner from humans h cross join apps a
         where h.closed_at is not null and a.owner = h.id and a.id > $1
           and (a.status = 0 or (a.status = 2 and a.purge_at is null))
         order by a.id limit $2",
        args![by_id(after), limit],
    )
    .await
}

/// Places that closed accounts still have in apps that can be changed, apps first, behind `after`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn memberships(
    db: &Db,
    after: Option<(AppId, HumanId)>,
    limit: u32,
) -> Result<Vec<(AppId, HumanId)>> {
    let (app, human) = after.unzip();
    db.all(
        "select m.app_id, m.human
         from humans h cross join members m
         join apps a on a.id = m.app_id and a.status = 0
         where h.closed_at is not null and m.human = h.id and m.removed_at is null
           and (m.app_id, m.human) > ($1, $2)
         order by m.app_id, m.human limit $3",
        args![by_id(app), by_id(human), limit],
    )
    .await
}

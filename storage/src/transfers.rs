//! Offers of an app's ownership to an address. One that is accepted ends in the commit that gives
//! the app to its new owner, in the writer; here is everything before that.

use rookery_domain::{
    Timestamp,
    app::AppStatus,
    credentials::CredentialStatus,
    id::{AppId, HumanId, OrgId, TransferId},
};

use crate::{
    columns::record,
    db::{Db, Tx, args, newest_first},
    error::Result,
    idempotency::KeepResponse,
};

/// A pending offer.
#[derive(Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Its id.
    pub id: TransferId,
    /// The app.
    pub app: AppId,
    /// The address that was named, in normal form.
    pub email: String,
    /// The account that offers: the owner, or an admin of the app's organization.
    pub offered_by: HumanId,
    /// When.
    pub created_at: Timestamp,
}

rookery_domain::shown!(Transfer: id, app, offered_by, created_at);

record!(Transfer: id, app, email, offered_by, created_at);

/// What of an app goes over to whoever takes it, and goes on working in others' hands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferContents {
    /// Members, but for the one that it is offered to: an owner is no member.
    pub members: u64,
    /// Grant links that have not ended.
    pub grants: u64,
    /// Service credentials that are not revoked.
    pub credentials: u64,
    /// Custom domains, those that are not proven yet too.
    pub domains: u64,
}

/// What goes over with an app at `now` to whoever has proven this address, or will.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn along(db: &Db, app: AppId, email: &str, now: Timestamp) -> Result<TransferContents> {
    let (members, grants, credentials, domains) = db
        .one(
            "select
                 (select count(*) from members where app_id = $1 and removed_at is null
                      and human not in (
                          select id from humans where email = $4
                              and email_verified_at is not null and closed_at is null
                          union all
                          select human from placeholders where email = $4)),
                 (select count(*) from grants where app_id = $1 and revoked_at is null
                      and (expires_at is null or expires_at > $2)),
                 (select count(*) from credentials where app_id = $1 and status <> $3),
                 (select count(*) from domains where app_id = $1)",
            args![app, now, CredentialStatus::Revoked, email],
        )
        .await?;
    Ok(TransferContents { members, grants, credentials, domains })
}

/// How an offer ended. Only `Offered` has changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferOutcome {
    /// It is pending.
    Offered,
    /// Another one is.
    Pending,
    /// The app has another owner now, or is being destroyed.
    Moved,
}

/// Offers an app that `owner` owns.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn offer(
    db: &Db,
    transfer: Transfer,
    owner: HumanId,
    keep: KeepResponse<Transfer>,
) -> Result<OfferOutcome> {
    db.transaction((transfer, owner, keep), |tx, (transfer, owner, keep)| {
        Box::pin(async move {
            // First the place among the offers: whoever is about to accept one holds it, and the
            // look at the owner must come after that.
            let offered = tx
                .execute(
                    "insert into transfers (id, app_id, email, offered_by, created_at)
                     values ($1, $2, $3, $4, $5) on conflict (app_id) do nothing",
                    args![
                        transfer.id,
                        transfer.app,
                        transfer.email.as_str(),
                        transfer.offered_by,
                        transfer.created_at,
                    ],
                )
                .await?;
            if offered == 0 {
                return Ok(OfferOutcome::Pending);
            }
            let stays = tx
                .exists(
                    "select 1 from apps where id = $1 and owner = $2 and status <> $3",
                    args![transfer.app, *owner, AppStatus::Purging],
                )
                .await?;
            if !stays {
                tx.abandon();
                return Ok(OfferOutcome::Moved);
            }
            keep.put(tx, transfer).await?;
            Ok(OfferOutcome::Offered)
        })
    })
    .await
}

/// The pending offer of an app.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn of_app(db: &Db, app: AppId) -> Result<Option<Transfer>> {
    db.optional(
        "select id, app_id, email, offered_by, created_at from transfers where app_id = $1",
        args![app],
    )
    .await
}

/// The pending offer with this id.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_id(db: &Db, id: TransferId) -> Result<Option<Transfer>> {
    db.optional(
        "select id, app_id, email, offered_by, created_at from transfers where id = $1",
        args![id],
    )
    .await
}

/// Pending offers of live apps to an address, the newest first, behind the one at `after`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn to_address(
    db: &Db,
    email: &str,
    after: Option<(Timestamp, TransferId)>,
    limit: u32,
) -> Result<Vec<Transfer>> {
    let (at, id) = newest_first(after);
    db.all(
        "select t.id, t.app_id, t.email, t.offered_by, t.created_at
         from transfers t join apps a on a.id = t.app_id
         where t.email = $1 and (t.created_at < $2 or (t.created_at = $2 and t.id < $3))
             and a.status = $4
         order by t.created_at desc, t.id desc limit $5",
        args![email, at, id, AppStatus::Live, limit],
    )
    .await
}

/// Withdraws the pending offer of an app that is `owner`'s, if there is one; `false` when it is somebody
/// else's by now.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn withdraw(db: &Db, app: AppId, owner: HumanId) -> Result<bool> {
    let withdrawn = db
        .execute(
            "delete from transfers
             where app_id = $1 and exists (select 1 from apps where id = $1 and owner = $2)",
            args![app, owner],
        )
        .await?;
    if withdrawn > 0 {
        return Ok(true);
    }
    // An acceptance may have been first.
    db.exists("select 1 from apps where id = $1 and owner = $2", args![app, owner]).await
}

/// Ends an offer by its id; `false` when it is gone already.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn end(db: &Db, id: TransferId) -> Result<bool> {
    Ok(db.execute("delete from transfers where id = $1", args![id]).await? == 1)
}

/// Ends what `human` offered when it was an admin of `org` before: an offer ends with the right to
/// make it, and does not begin anew with that right.
pub(crate) async fn end_former(tx: &mut Tx, org: OrgId, human: HumanId) -> Result<()> {
    tx.execute(
        "delete from transfers
         where app_id in (select id from apps where org_id = $1 and owner <> $2)
           and offered_by = $2",
        args![org, human],
    )
    .await?;
    Ok(())
}

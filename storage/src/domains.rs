//! Custom domains: bindings to apps, and which binding holds a name. A name is held by whoever has
//! proven control over it; any number of apps may try.

use rookery_domain::{
    Timestamp,
    app::AppStatus,
    domains::{DOMAINS_PER_APP_MAX, DomainName},
    id::{AppId, DomainId, HumanId},
};

use crate::{
    columns::{Column, Read, ReadColumns, record},
    db::{Db, Tx, args},
    error::Result,
    humans,
    idempotency::KeepResponse,
};

/// A custom domain of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// Its id.
    pub id: DomainId,
    /// The app.
    pub app: AppId,
    /// The name.
    pub name: DomainName,
    /// What the TXT record has to hold; drawn anew for each binding, and public.
    pub token: String,
    /// The edge provider's own name for it.
    pub edge_id: Option<String>,
    /// When it was bound.
    pub created_at: Timestamp,
    /// When control was proven.
    pub proven_at: Option<Timestamp>,
    /// Whether requests for it arrive, as the edge provider said last.
    pub serves: bool,
}

record!(Domain: id, app, name, token, edge_id, created_at, proven_at, serves);

impl Column for DomainName {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        columns.text(at).map(Self::stored)
    }
}

/// How an attempt to bind a domain ended. Only `Bound` has changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindOutcome {
    /// It is bound, and has to be proven.
    Bound,
    /// It is this app's already.
    Exists,
    /// Another app has proven that it is its.
    Taken,
    /// The app has as many as an app may have.
    AppFull,
    /// The account has as many as an account may have.
    AccountFull,
    /// The app is gone, being destroyed, or somebody else's by now.
    Gone,
}

/// Binds a domain to its app, of an account that may have `account_max`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn bind(
    db: &Db,
    domain: Domain,
    owner: HumanId,
    account_max: u64,
    keep: KeepResponse<Domain>,
) -> Result<BindOutcome> {
    db.transaction((domain, owner, account_max, keep), |tx, (domain, owner, account_max, keep)| {
        Box::pin(async move {
            if !lock_owner(tx, domain.app, *owner).await? {
                return Ok(BindOutcome::Gone);
            }
            let held_by: Option<AppId> = tx
                .value(
                    "select d.app_id from domain_names n join domains d on d.id = n.domain_id
                         join apps a on a.id = d.app_id join humans h on h.id = a.owner
                     where n.name = $1
                         and (a.status <> $2 and h.closed_at is null or a.id = $3)",
                    args![domain.name.as_str(), AppStatus::Closed, domain.app],
                )
                .await?;
            if let Some(app) = held_by {
                let is_own = app == domain.app;
                return Ok(if is_own { BindOutcome::Exists } else { BindOutcome::Taken });
            }
            let bound = tx
                .execute(
                    "insert into domains (id, app_id, name, token, edge_id, created_at, proven_at)
                     values ($1, $2, $3, $4, null, $5, null)
                     on conflict (app_id, name) do nothing",
                    args![
                        domain.id,
                        domain.app,
                        domain.name.as_str(),
                        domain.token.as_str(),
                        domain.created_at,
                    ],
                )
                .await?;
            if bound == 0 {
                return Ok(BindOutcome::Exists);
            }
            if let Some(full) = too_many(tx, domain.app, *owner, *account_max).await? {
                tx.abandon();
                return Ok(full);
            }
            keep.put(tx, domain).await?;
            Ok(BindOutcome::Bound)
        })
    })
    .await
}

/// Locks the account that owns an app, if it is open, and the app; `false` when either is gone, as for
/// [`lock_app`].
async fn lock_owner(tx: &mut Tx, app: AppId, owner: HumanId) -> Result<bool> {
    Ok(humans::lock_open(tx, owner).await? && lock_app(tx, app, owner).await?)
}

/// Locks an app that is `owner`'s: whoever gives it away waits, and whoever destroys it, so that nothing
/// is left of it. `false` when it is gone, being destroyed, or somebody else's by now.
async fn lock_app(tx: &mut Tx, app: AppId, owner: HumanId) -> Result<bool> {
    let there = tx
        .execute(
            "update apps set status = status where id = $1 and owner = $2 and status <> $3",
            args![app, owner, AppStatus::Purging],
        )
        .await?;
    Ok(there > 0)
}

/// Which bound the domains are beyond, the new one among them.
async fn too_many(
    tx: &mut Tx,
    app: AppId,
    owner: HumanId,
    account_max: u64,
) -> Result<Option<BindOutcome>> {
    let (of_app,): (u64,) =
        tx.one("select count(*) from domains where app_id = $1", args![app]).await?;
    let (of_account,): (u64,) = tx
        .one(
            "select count(*) from domains d join apps a on a.id = d.app_id where a.owner = $1",
            args![owner],
        )
        .await?;
    Ok(if of_app > u64::from(DOMAINS_PER_APP_MAX) {
        Some(BindOutcome::AppFull)
    } else {
        (of_account > account_max).then_some(BindOutcome::AccountFull)
    })
}

/// The domains that a change has left to each app which it concerns, the oldest first.
pub type Left = Vec<(AppId, Vec<Domain>)>;

/// Notes that control over a domain of `app` is proven. An app that is closed, or whose account is, loses the
/// name: nobody could take it away from there. `None` when another app was first, or the binding or its app
/// is gone.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn prove(
    db: &Db,
    app: AppId,
    id: DomainId,
    name: DomainName,
    now: Timestamp,
) -> Result<Option<Left>> {
    db.transaction((app, id, name, now), |tx, (app, id, name, now)| {
        Box::pin(async move {
            // Whoever destroys the app waits for this, so that it leaves no name that nobody holds.
            let there = tx
                .execute(
                    "update apps set status = status where id = $1 and status <> $2",
                    args![*app, AppStatus::Purging],
                )
                .await?;
            if there == 0 {
                return Ok(None);
            }
            let lost = take_from_closed(tx, name).await?;
            let held = tx
                .execute(
                    "insert into domain_names (name, domain_id) values ($1, $2)
                     on conflict (name) do nothing",
                    args![name.as_str(), *id],
                )
                .await?;
            let noted = tx
                .execute(
                    "update domains set proven_at = $2 where id = $1 and proven_at is null",
                    args![*id, *now],
                )
                .await?;
            if held == 0 || noted == 0 {
                tx.abandon();
                return Ok(None);
            }
            let mut left = Left::new();
            for app in lost.into_iter().chain([*app]) {
                left.push((app, changed(tx, app).await?));
            }
            Ok(Some(left))
        })
    })
    .await
}

/// Unbinds a name from the closed app that has it, if one does: which.
async fn take_from_closed(tx: &mut Tx, name: &DomainName) -> Result<Option<AppId>> {
    let found: Option<(DomainId, AppId)> = tx
        .optional(
            "select d.id, d.app_id from domain_names n join domains d on d.id = n.domain_id
                 join apps a on a.id = d.app_id join humans h on h.id = a.owner
             where n.name = $1 and (a.status = $2 or h.closed_at is not null)",
            args![name.as_str(), AppStatus::Closed],
        )
        .await?;
    let Some((id, app)) = found else { return Ok(None) };
    if let Some(edge_id) = unbind(tx, id).await? {
        leave(tx, &edge_id).await?;
    }
    Ok(Some(app))
}

/// Deletes a binding, if it is there; what the edge provider calls it, if that has a name for it.
async fn unbind(tx: &mut Tx, id: DomainId) -> Result<Option<String>> {
    tx.execute("delete from domain_names where domain_id = $1", args![id]).await?;
    let edge_id = tx.value("delete from domains where id = $1 returning edge_id", args![id]);
    Ok(edge_id.await?.flatten())
}

/// Notes the edge provider's own name for a domain. If the domain was removed meanwhile, or its app is
/// being destroyed, the provider still has to forget that name.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn set_edge(db: &Db, id: DomainId, edge_id: String) -> Result<()> {
    db.transaction((id, edge_id), |tx, (id, edge_id)| {
        Box::pin(async move {
            // Whoever destroys the app waits for this, and tells of the names that it finds then.
            let stays = tx
                .execute(
                    "update apps set status = status where status <> $2
                         and id = (select app_id from domains where id = $1)",
                    args![*id, AppStatus::Purging],
                )
                .await?;
            let set = "update domains set edge_id = $2 where id = $1";
            if stays == 0 || tx.execute(set, args![*id, edge_id.as_str()]).await? == 0 {
                leave(tx, edge_id).await?;
            }
            Ok(())
        })
    })
    .await
}

/// Notes whether requests for a proven domain of `app` arrive; all domains of the app as they are
/// then. `None` when that was known, or the binding is gone.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn set_serves(
    db: &Db,
    app: AppId,
    id: DomainId,
    serves: bool,
) -> Result<Option<Vec<Domain>>> {
    db.transaction((app, id, i64::from(serves)), |tx, (app, id, serves)| {
        Box::pin(async move {
            let set = "update domains set serves = $2
                       where id = $1 and proven_at is not null and serves <> $2";
            match tx.execute(set, args![*id, *serves]).await? {
                0 => Ok(None),
                _ => changed(tx, *app).await.map(Some),
            }
        })
    })
    .await
}

/// The domains of an app, the oldest first.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn of_app(db: &Db, app: AppId) -> Result<Vec<Domain>> {
    db.all(OF_APP, args![app]).await
}

const OF_APP: &str = "select id, app_id, name, token, edge_id, created_at, proven_at, serves
     from domains where app_id = $1 order by created_at, id";

/// The domains of an app in the transaction that has changed them.
async fn changed(tx: &mut Tx, app: AppId) -> Result<Vec<Domain>> {
    tx.all(OF_APP, args![app]).await
}

/// All domains whose control is proven, each app's oldest first. One that cannot be read is left out and
/// logged.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn proven(db: &Db) -> Result<Vec<Domain>> {
    let found: Vec<Read<Domain>> = db
        .all(
            "select d.id, d.app_id, d.name, d.token, d.edge_id, d.created_at, d.proven_at,
                d.serves
         from domain_names n join domains d on d.id = n.domain_id order by d.created_at, d.id",
            args![],
        )
        .await?;
    let readable = found.into_iter().filter_map(|domain| {
        domain.inspect_err(|why| tracing::error!(why, "a stored domain cannot be read")).ok()
    });
    Ok(readable.collect())
}

/// Removes a domain, if it is still there; the domains that its app has left. What the edge provider
/// calls it has been forgotten there; what it came to be called since, still has to be. `None`, and
/// nothing is removed, when the app is not `owner`'s any more.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn remove(db: &Db, domain: Domain, owner: HumanId) -> Result<Option<Vec<Domain>>> {
    db.transaction((domain, owner), |tx, (domain, owner)| {
        Box::pin(async move {
            if !lock_app(tx, domain.app, *owner).await? {
                return Ok(None);
            }
            if let Some(edge_id) = unbind(tx, domain.id).await?
                && domain.edge_id.as_ref() != Some(&edge_id)
            {
                leave(tx, &edge_id).await?;
            }
            changed(tx, domain.app).await.map(Some)
        })
    })
    .await
}

/// Notes that the edge provider has a name for a domain that is gone, or about to be.
async fn leave(tx: &mut Tx, edge_id: &str) -> Result<u64> {
    tx.execute(
        "insert into edge_leftovers (edge_id) values ($1) on conflict (edge_id) do nothing",
        args![edge_id],
    )
    .await
}

/// The edge provider's names for domains that are gone, which it still has to forget. One that
/// another binding has taken over meanwhile is none. In order, behind `after`, at most `limit`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn leftovers(db: &Db, after: &str, limit: u32) -> Result<Vec<String>> {
    db.execute(
        "delete from edge_leftovers where edge_id in
             (select edge_id from domains where edge_id is not null)",
        args![],
    )
    .await?;
    db.column(
        "select edge_id from edge_leftovers where edge_id > $1 order by edge_id limit $2",
        args![after, limit],
    )
    .await
}

/// Notes that the edge provider has forgotten a name.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forgotten(db: &Db, edge_id: &str) -> Result<()> {
    db.execute("delete from edge_leftovers where edge_id = $1", args![edge_id]).await?;
    Ok(())
}

//! Organizations and who is in them. Each change is decided in its transaction, under the lock of
//! the organization's row: two admins who demote each other at once come one after the other.

mod members;

use rookery_domain::{
    Timestamp,
    id::{HumanId, OrgId},
    orgs::OrgRole,
};

use crate::{
    columns::record,
    db::{Db, Tx, args},
    error::Result,
    humans,
    idempotency::KeepResponse,
};

pub use members::{NewMember, OrgMember, add_member, remove_member, set_role};
pub(crate) use members::{leave_all, load as load_members};

/// An organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Org {
    /// Its id.
    pub id: OrgId,
    /// Its name.
    pub name: String,
    /// The account that is billed for it.
    pub billing: HumanId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its record changed last.
    pub updated_at: Timestamp,
}

record!(Org: id, name, billing, created_at, updated_at);

/// Why a change of an organization was refused. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrgRefusal {
    /// Whoever asked is no admin any more.
    NotAdmin,
    /// It would leave no admin.
    LastAdmin,
    /// There is no such member.
    NoSuchMember,
    /// There is no such open account.
    NoSuchAccount,
    /// The account is a member already.
    IsMember,
    /// A bound is reached.
    Full,
}

/// An organization to be made.
#[derive(Debug, Clone)]
pub struct NewOrg {
    /// Its id.
    pub id: OrgId,
    /// Its name.
    pub name: String,
    /// Its first admin, and the account that is billed for it.
    pub founder: HumanId,
    /// Organizations that an account can found, whoever is billed for them later: what others leave
    /// to it takes nothing from it.
    pub orgs_max: u64,
}

/// Makes an organization.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn create(
    db: &Db,
    new: NewOrg,
    now: Timestamp,
    keep: KeepResponse<(Org, OrgMember)>,
) -> Result<Result<(Org, OrgMember), OrgRefusal>> {
    db.transaction_with(new.founder, (new, now, keep), |tx, (new, now, keep)| {
        Box::pin(async move {
            let (NewOrg { id, name, founder, orgs_max }, now) = (new, *now);
            let (id, founder) = (*id, *founder);
            if !humans::lock_open(tx, founder).await? {
                return Ok(refused(tx, OrgRefusal::NoSuchAccount));
            }
            let (orgs,): (u64,) =
                tx.one("select count(*) from orgs where founder = $1", args![founder]).await?;
            if orgs >= *orgs_max {
                return Ok(refused(tx, OrgRefusal::Full));
            }
            tx.execute(
                "insert into orgs (id, name, founder, billing, created_at, updated_at)
                 values ($1, $2, $3, $3, $4, $4)",
                args![id, name.as_str(), founder, now],
            )
            .await?;
            let org =
                Org { id, name: name.clone(), billing: founder, created_at: now, updated_at: now };
            let member =
                OrgMember { org: id, human: founder, role: OrgRole::Admin, created_at: now };
            members::insert(tx, member).await?;
            let made = (org, member);
            keep.put(tx, &made).await?;
            Ok(Ok(made))
        })
    })
    .await
}

/// Renames an organization, as its admin `by`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn rename(
    db: &Db,
    id: OrgId,
    by: HumanId,
    name: String,
    now: Timestamp,
) -> Result<Result<Org, OrgRefusal>> {
    db.transaction((id, by, name, now), |tx, (id, by, name, now)| {
        Box::pin(async move {
            lock(tx, *id).await?;
            if !members::is_admin(tx, *id, *by).await? {
                return Ok(refused(tx, OrgRefusal::NotAdmin));
            }
            tx.one(
                "update orgs set name = $2, updated_at = $3 where id = $1
                 returning id, name, billing, created_at, updated_at",
                args![*id, name.as_str(), *now],
            )
            .await
            .map(Ok)
        })
    })
    .await
}

fn refused<T>(tx: &mut Tx, refusal: OrgRefusal) -> Result<T, OrgRefusal> {
    tx.abandon();
    Err(refusal)
}

/// Takes the row lock that whatever changes an organization takes first.
async fn lock(tx: &mut Tx, org: OrgId) -> Result<()> {
    // `for update` is not in the portable subset; an update that changes nothing locks as well.
    tx.execute("update orgs set name = name where id = $1", args![org]).await?;
    Ok(())
}

async fn by_id(tx: &mut Tx, org: OrgId) -> Result<Org> {
    tx.one("select id, name, billing, created_at, updated_at from orgs where id = $1", args![org])
        .await
}

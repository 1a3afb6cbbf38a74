//! Who is in an organization. Whoever was removed stays on record, and counts as nobody.

use rookery_domain::{
    Timestamp,
    id::{HumanId, OrgId},
    orgs::OrgRole,
};

use super::{Org, OrgRefusal, by_id, lock, refused};
use crate::{
    columns::record,
    db::{Db, Tx, args},
    directory::{PAGE, pages},
    error::Result,
    idempotency::KeepResponse,
    transfers,
};

/// Somebody in an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrgMember {
    /// The organization.
    pub org: OrgId,
    /// The member.
    pub human: HumanId,
    /// What it is there.
    pub role: OrgRole,
    /// When it was added.
    pub created_at: Timestamp,
}

record!(OrgMember: org, human, role, created_at);

/// Somebody to be added.
#[derive(Clone)]
pub struct NewMember {
    /// The organization.
    pub org: OrgId,
    /// The admin that adds it.
    pub by: HumanId,
    /// The address that its account has proven.
    pub email: String,
    /// What it will be.
    pub role: OrgRole,
    /// Members that the organization may have.
    pub members_max: u64,
}

rookery_domain::shown!(NewMember: org, by, role, members_max);

/// Adds an account to an organization.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn add_member(
    db: &Db,
    new: NewMember,
    now: Timestamp,
    keep: KeepResponse<OrgMember>,
) -> Result<Result<OrgMember, OrgRefusal>> {
    db.transaction((new, now, keep), |tx, (new, now, keep)| {
        Box::pin(async move {
            lock(tx, new.org).await?;
            if !is_admin(tx, new.org, new.by).await? {
                return Ok(refused(tx, OrgRefusal::NotAdmin));
            }
            let human: Option<HumanId> = tx
                .value(
                    "select id from humans
                     where email = $1 and email_verified_at is not null and closed_at is null",
                    args![new.email.as_str()],
                )
                .await?;
            let Some(human) = human else {
                return Ok(refused(tx, OrgRefusal::NoSuchAccount));
            };
            if member(tx, new.org, human).await?.is_some() {
                return Ok(refused(tx, OrgRefusal::IsMember));
            }
            let (members,): (u64,) = tx
                .one(
                    "select count(*) from org_members where org_id = $1 and removed_at is null",
                    args![new.org],
                )
                .await?;
            if members >= new.members_max {
                return Ok(refused(tx, OrgRefusal::Full));
            }
            let added = OrgMember { org: new.org, human, role: new.role, created_at: *now };
            insert(tx, added).await?;
            keep.put(tx, &added).await?;
            Ok(Ok(added))
        })
    })
    .await
}

/// Sets what a member is, as the admin `by`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn set_role(
    db: &Db,
    org: OrgId,
    by: HumanId,
    human: HumanId,
    role: OrgRole,
) -> Result<Result<OrgMember, OrgRefusal>> {
    db.transaction((org, by, human, role), |tx, (org, by, human, role)| {
        Box::pin(async move {
            let (org, by, human, role) = (*org, *by, *human, *role);
            lock(tx, org).await?;
            let Some(before) = member(tx, org, human).await? else {
                return Ok(refused(tx, OrgRefusal::NoSuchMember));
            };
            if before.role == OrgRole::Admin
                && role != OrgRole::Admin
                && !has_other_admin(tx, org, human).await?
            {
                return Ok(refused(tx, OrgRefusal::LastAdmin));
            }
            if !is_admin(tx, org, by).await? {
                return Ok(refused(tx, OrgRefusal::NotAdmin));
            }
            if before.role != OrgRole::Admin && role == OrgRole::Admin {
                transfers::end_former(tx, org, human).await?;
            }
            tx.execute(
                "update org_members set role = $3 where org_id = $1 and human = $2",
                args![org, human, role],
            )
            .await?;
            Ok(Ok(OrgMember { role, ..before }))
        })
    })
    .await
}

/// Removes a member, as the admin `by`; the organization as it is then, whose billing account
/// passes to the longest-standing admin when it was the removed one. `None` when the member was
/// removed before.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn remove_member(
    db: &Db,
    org: OrgId,
    by: HumanId,
    human: HumanId,
    now: Timestamp,
) -> Result<Result<Option<Org>, OrgRefusal>> {
    db.transaction((org, by, human, now), |tx, (org, by, human, now)| {
        Box::pin(async move {
            let (org, by, human, now) = (*org, *by, *human, *now);
            lock(tx, org).await?;
            let Some(before) = member(tx, org, human).await? else {
                let sql = "select 1 from org_members where org_id = $1 and human = $2";
                let was_member = tx.exists(sql, args![org, human]).await?;
                return Ok(if was_member {
                    Ok(None)
                } else {
                    refused(tx, OrgRefusal::NoSuchMember)
                });
            };
            if before.role == OrgRole::Admin && !has_other_admin(tx, org, human).await? {
                return Ok(refused(tx, OrgRefusal::LastAdmin));
            }
            if !is_admin(tx, org, by).await? {
                return Ok(refused(tx, OrgRefusal::NotAdmin));
            }
            take_out(tx, org, human, now).await.map(|org| Ok(Some(org)))
        })
    })
    .await
}

/// Takes an account that is being closed out of every organization; each as it is then. An
/// organization whose only member it was is nobody's from then on. Where others would be left
/// without an admin, that organization is the refusal, and the transaction must be abandoned.
pub(crate) async fn leave_all(
    tx: &mut Tx,
    human: HumanId,
    now: Timestamp,
) -> Result<std::result::Result<Vec<Org>, OrgId>> {
    // In one order for everybody, so that two who leave never wait in a ring.
    let joined: Vec<OrgId> = tx
        .column(
            "select org_id from org_members where human = $1 and removed_at is null
             order by org_id",
            args![human],
        )
        .await?;
    let mut left = Vec::with_capacity(joined.len());
    for org in joined {
        lock(tx, org).await?;
        let Some(before) = member(tx, org, human).await? else { continue };
        let is_needed = before.role == OrgRole::Admin && !has_other_admin(tx, org, human).await?;
        if is_needed && has_others(tx, org, human).await? {
            return Ok(Err(org));
        }
        left.push(take_out(tx, org, human, now).await?);
    }
    Ok(Ok(left))
}

/// Shows everybody who is in an organization to `visit`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub(crate) async fn load(db: &Db, visit: impl FnMut(OrgMember) + Send) -> Result<()> {
    pages(
        db,
        "select m.org_id, m.human, m.role, m.created_at
         from org_members m join humans h on h.id = m.human
         where m.removed_at is null and h.closed_at is null
           and (m.org_id > $1 or (m.org_id = $1 and m.human > $2))
         order by m.org_id, m.human limit $3",
        |[org, human]| args![org, human, PAGE],
        visit,
    )
    .await
}

async fn member(tx: &mut Tx, org: OrgId, human: HumanId) -> Result<Option<OrgMember>> {
    tx.optional(
        "select org_id, human, role, created_at from org_members
         where org_id = $1 and human = $2 and removed_at is null",
        args![org, human],
    )
    .await
}

pub(super) async fn is_admin(tx: &mut Tx, org: OrgId, human: HumanId) -> Result<bool> {
    Ok(member(tx, org, human).await?.is_some_and(|member| member.role == OrgRole::Admin))
}

/// Whether somebody else, with an open account, is an admin too.
async fn has_other_admin(tx: &mut Tx, org: OrgId, human: HumanId) -> Result<bool> {
    tx.exists(
        "select 1 from org_members m join humans h on h.id = m.human
         where m.org_id = $1 and m.human <> $2 and m.role = 1 and m.removed_at is null
           and h.closed_at is null limit 1",
        args![org, human],
    )
    .await
}

/// Whether somebody else with an open account is in the organization.
async fn has_others(tx: &mut Tx, org: OrgId, human: HumanId) -> Result<bool> {
    tx.exists(
        "select 1 from org_members m join humans h on h.id = m.human
         where m.org_id = $1 and m.human <> $2 and m.removed_at is null
           and h.closed_at is null limit 1",
        args![org, human],
    )
    .await
}

/// Removes a member; its organization as it is then. When it was the billing account, the
/// longest-standing admin is from then on.
async fn take_out(tx: &mut Tx, org: OrgId, human: HumanId, now: Timestamp) -> Result<Org> {
    tx.execute(
        "update org_members set removed_at = $3 where org_id = $1 and human = $2",
        args![org, human, now],
    )
    .await?;
    tx.execute(
        "update orgs set updated_at = $3, billing = coalesce(
             (select m.human from org_members m join humans h on h.id = m.human
              where m.org_id = $1 and m.role = 1 and m.removed_at is null
                and h.closed_at is null
              order by m.created_at, m.human limit 1), billing)
         where id = $1 and billing = $2",
        args![org, human, now],
    )
    .await?;
    by_id(tx, org).await
}

/// Makes somebody a member, who may have been one before.
pub(super) async fn insert(tx: &mut Tx, member: OrgMember) -> Result<()> {
    let OrgMember { org, human, role, created_at } = member;
    if role == OrgRole::Admin {
        transfers::end_former(tx, org, human).await?;
    }
    tx.execute(
        "insert into org_members (org_id, human, role, created_at) values ($1, $2, $3, $4)
         on conflict (org_id, human) do update
         set role = excluded.role, created_at = excluded.created_at, removed_at = null",
        args![org, human, role, created_at],
    )
    .await?;
    Ok(())
}

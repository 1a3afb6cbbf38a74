//! Organizations: made, renamed, and who is in them. Each change passes through the actor, one at a
//! time; the table of admins that apps ask is changed with memory, before the reply. What is not here:
//! how they stand in memory (`org_book`), and what an admin may do in an app.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    email::Email,
    id::{HumanId, OrgId},
    orgs::{MEMBERS_PER_ORG_MAX, ORGS_PER_ACCOUNT_MAX, OrgName, OrgRole},
};
use rookery_storage::{
    idempotency::KeepResponse,
    orgs::{self, NewMember, NewOrg, Org, OrgMember, OrgRefusal},
};
use serde_json::json;

use super::{Directory, account::no_such_account, core::Core, memory::Memory, mutation::Failure};

/// A place in the list of a human's organizations.
pub type OrgPosition = (Timestamp, OrgId);
/// A place in the list of an organization's members.
pub type OrgMemberPosition = (Timestamp, HumanId);

/// An organization as one of its members sees it.
#[derive(Debug, Clone)]
pub struct OrgRecord {
    /// The organization.
    pub org: Arc<Org>,
    /// What the member is there.
    pub role: OrgRole,
    /// How many are in it.
    pub members: usize,
    /// The name of the billing account, as others are shown it.
    pub billing_name: Option<String>,
}

/// That an organization has another billing account, because the one before has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillingPassed {
    /// The organization.
    pub org: OrgId,
    /// What it is called.
    pub name: String,
    /// The account that is billed from now on.
    pub to: HumanId,
}

/// Somebody in an organization, as the other members see it.
#[derive(Debug, Clone)]
pub struct OrgMemberRecord {
    /// The membership.
    pub member: OrgMember,
    /// The member's address.
    pub email: Option<String>,
    /// The member's name, as others are shown it.
    pub name: Option<String>,
}

fn no_such_org() -> Error {
    Error::new(ErrorCode::NotFound, "no such organization")
}

fn no_such_member() -> Error {
    Error::new(ErrorCode::NotFound, "no such member of the organization")
}

impl Directory {
    /// Makes an organization; `founder` is its first admin and its billing account.
    ///
    /// # Errors
    /// `account_quota_exceeded`; `unauthorized`, when the account was closed; `unavailable`,
    /// `internal`.
    pub async fn create_org(
        &self,
        founder: HumanId,
        name: OrgName,
        keep: KeepResponse<OrgRecord>,
    ) -> Result<OrgRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let (id, name) = (OrgId::new(), name.as_str().to_owned());
            let new = NewOrg { id, name, founder, orgs_max: ORGS_PER_ACCOUNT_MAX };
            let billing_name = core
                .read(|memory| memory.human(founder).map(|human| Directory::display_name(human)))?;
            let keep = keep.of(move |(org, member): &(Org, OrgMember)| OrgRecord {
                org: Arc::new(org.clone()),
                role: member.role,
                members: 1,
                billing_name: billing_name.clone(),
            });
            let made = orgs::create(&core.db, new, core.now(), keep).await?;
            let (org, member) = made.map_err(|why| match why {
                OrgRefusal::Full => too_many_orgs(),
                OrgRefusal::NoSuchAccount => no_such_account(),
                why => refused(why),
            })?;
            core.write(|memory| {
                memory.orgs.put(org);
                memory.orgs.put_member(member);
            });
            core.org_roles.set(id, founder, Some(OrgRole::Admin));
            Ok(core.org_record(founder, id)?)
        })
        .await
    }

    /// An organization that `human` is in.
    ///
    /// # Errors
    /// `not_found`, `unavailable`.
    pub fn org(&self, human: HumanId, org: OrgId) -> Result<OrgRecord> {
        self.core.org_record(human, org)
    }

    /// Checks that `human` administers an organization.
    ///
    /// # Errors
    /// `not_found` for a stranger, `forbidden` for a member; `unavailable`.
    pub fn check_org_admin(&self, human: HumanId, org: OrgId) -> Result<()> {
        self.core.org_roles.check_admin(org, Some(human))
    }

    /// What an organization is called, for who may know it; `None` where there is none.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn org_name(&self, org: OrgId) -> Result<Option<String>> {
        self.core.read(|memory| memory.orgs.name(org).map(str::to_owned))
    }

    /// At most `limit` organizations that a human is in, the newest first, behind `after`.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn orgs_of(
        &self,
        human: HumanId,
        after: Option<OrgPosition>,
        limit: usize,
    ) -> Result<Vec<OrgRecord>> {
        self.core.read(|memory| {
            let seen = memory.orgs.of(human, after).take(limit);
            seen.filter_map(|org| OrgRecord::read(memory, human, org)).collect()
        })
    }

    /// At most `limit` members of an organization in the order in which they came, behind `after`.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn org_members(
        &self,
        org: OrgId,
        after: Option<OrgMemberPosition>,
        limit: usize,
    ) -> Result<Vec<OrgMemberRecord>> {
        self.core.read(|memory| {
            let members = memory.orgs.members(org, after).take(limit);
            members.map(|member| OrgMemberRecord::read(memory, member)).collect()
        })
    }

    /// The admins of an organization in the order in which they came into it, at most `limit`.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub fn org_admins(&self, org: OrgId, limit: usize) -> Result<Vec<HumanId>> {
        self.core.read(|memory| {
            let members = memory.orgs.members(org, None);
            let admins = members.filter(|member| member.role == OrgRole::Admin).take(limit);
            admins.map(|member| member.human).collect()
        })
    }

    /// Renames an organization, as its admin `by`.
    ///
    /// # Errors
    /// `conflict`, when `by` is no admin any more; `unavailable`, `internal`.
    pub async fn rename_org(&self, org: OrgId, by: HumanId, name: OrgName) -> Result<OrgRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let name = name.as_str().to_owned();
            let renamed = orgs::rename(&core.db, org, by, name, core.now()).await?;
            let renamed = renamed.map_err(refused)?;
            core.write(|memory| memory.orgs.put(renamed));
            Ok(core.org_record(by, org)?)
        })
        .await
    }

    /// Adds the account that has proven `email` to an organization, as its admin `by`.
    ///
    /// # Errors
    /// `not_found`, when no account has; `conflict`, when it is a member, the organization is
    /// full, or `by` is no admin any more; `unavailable`, `internal`.
    pub async fn add_org_member(
        &self,
        org: OrgId,
        by: HumanId,
        email: Email,
        role: OrgRole,
        keep: KeepResponse<OrgMemberRecord>,
    ) -> Result<OrgMemberRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let email = email.as_str().to_owned();
            let reading = Arc::clone(&core);
            let keep = keep.of(move |member: &OrgMember| {
                reading.peek(|memory| OrgMemberRecord::read(memory, *member))
            });
            let new = NewMember { org, by, email, role, members_max: MEMBERS_PER_ORG_MAX };
            let added = orgs::add_member(&core.db, new, core.now(), keep).await?;
            core.apply_member(added.map_err(refused)?)
        })
        .await
    }

    /// Sets what a member of an organization is, as its admin `by`.
    ///
    /// # Errors
    /// `not_found`; `conflict`, when it is the last admin, or `by` is none any more;
    /// `unavailable`, `internal`.
    pub async fn set_org_role(
        &self,
        org: OrgId,
        by: HumanId,
        human: HumanId,
        role: OrgRole,
    ) -> Result<OrgMemberRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let changed = orgs::set_role(&core.db, org, by, human, role).await?;
            core.apply_member(changed.map_err(refused)?)
        })
        .await
    }

    /// Removes a member of an organization, as its admin `by`; who is billed for it from then on, where
    /// that was the member. A second time changes nothing.
    ///
    /// # Errors
    /// As [`Self::set_org_role`].
    pub async fn remove_org_member(
        &self,
        org: OrgId,
        by: HumanId,
        human: HumanId,
    ) -> Result<Option<BillingPassed>> {
        self.mutate(async move |core: Arc<Core>| {
            let removed = orgs::remove_member(&core.db, org, by, human, core.now()).await?;
            Ok(removed.map_err(refused)?.and_then(|left| core.apply_departure(human, left)))
        })
        .await
    }
}

impl Core {
    fn org_record(&self, human: HumanId, org: OrgId) -> Result<OrgRecord> {
        self.read(|memory| OrgRecord::read(memory, human, org))?.ok_or_else(no_such_org)
    }

    /// Takes into memory that `human` is in an organization no more, and who is billed for it instead.
    pub(super) fn apply_departure(&self, human: HumanId, left: Org) -> Option<BillingPassed> {
        let Org { id: org, billing: to, .. } = left;
        let name = left.name.clone();
        let before = self.write(|memory| {
            let before = memory.orgs.billing(org);
            memory.orgs.remove_member(org, human);
            memory.orgs.put(left);
            before
        });
        self.org_roles.set(org, human, None);
        (before == Some(human) && to != human).then_some(BillingPassed { org, name, to })
    }

    /// Takes a committed membership into memory.
    fn apply_member(&self, member: OrgMember) -> Result<OrgMemberRecord, Failure> {
        let record = self.write(|memory| {
            memory.orgs.put_member(member);
            OrgMemberRecord::read(memory, member)
        });
        self.org_roles.set(member.org, member.human, Some(member.role));
        Ok(record)
    }
}

impl OrgRecord {
    fn read(memory: &Memory, human: HumanId, org: OrgId) -> Option<Self> {
        let (org, member, members) = memory.orgs.seen_by(human, org)?;
        let billing_name = memory.human(org.billing).map(|human| Directory::display_name(human));
        Some(Self { org: Arc::clone(org), role: member.role, members, billing_name })
    }
}

impl OrgMemberRecord {
    fn read(memory: &Memory, member: OrgMember) -> Self {
        let human = memory.human(member.human);
        Self {
            member,
            email: human.and_then(|human| human.proven_email().map(str::to_owned)),
            name: human.map(|human| Directory::display_name(human)),
        }
    }
}

/// Whoever closes its account would leave others alone.
pub(super) fn last_admin_of(org: OrgId) -> Error {
    let message = format!(
        "you are the last admin of {org}, which others are in: make one of them an admin first"
    );
    Error::new(ErrorCode::Conflict, message).with_details(json!({"org_id": org}))
}

/// What a refusal of storage is answered.
fn refused(why: OrgRefusal) -> Error {
    let conflict = |message: &str| Error::new(ErrorCode::Conflict, message);
    match why {
        OrgRefusal::NotAdmin => {
            conflict("your place in the organization has changed meanwhile: you are no admin")
        }
        OrgRefusal::LastAdmin => {
            conflict("this is the organization's last admin: make somebody else one first")
        }
        OrgRefusal::NoSuchMember => no_such_member(),
        OrgRefusal::NoSuchAccount => {
            Error::new(ErrorCode::NotFound, "no account has proven this address: `email`")
        }
        OrgRefusal::IsMember => conflict("the account is a member already"),
        OrgRefusal::Full => {
            let message =
                format!("the organization has {MEMBERS_PER_ORG_MAX} members, which is its limit");
            Error::new(ErrorCode::Conflict, message)
        }
    }
}

const ORGS_HINT: &str =
    "Give one that you need no longer another name, and use it anew: PATCH /v1/orgs/:id.";

fn too_many_orgs() -> Error {
    let max = ORGS_PER_ACCOUNT_MAX;
    let message = format!("the account has made {max} organizations, which is its limit");
    Error::new(ErrorCode::AccountQuotaExceeded, message)
        .with_hint(ORGS_HINT)
        .with_details(json!({"dimension": "organizations", "limit": max}))
}

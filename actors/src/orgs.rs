//! Who is what in which organization, now: one table that the directory writes and apps ask at
//! every request and at every publication, so that a demoted admin is no owner any more on the
//! very next one. What is not here: organizations themselves, and how members come to be.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use rookery_domain::{
    Error, ErrorCode, Result,
    app::AppRecord,
    id::{HumanId, OrgId},
    orgs::OrgRole,
};
use tokio::sync::{Notify, futures::Notified};

/// The table, as cheap to clone as a pointer.
#[derive(Clone, Default)]
pub struct OrgRoles(Arc<Table>);

/// The role of each member of each organization.
pub(crate) type Roles = HashMap<(OrgId, HumanId), OrgRole>;

#[derive(Default)]
struct Table {
    /// `None` before the directory has loaded it, and while it is in doubt.
    roles: RwLock<Option<Roles>>,
    /// Told whenever somebody stops being an admin.
    lost: Notify,
}

impl OrgRoles {
    /// Whether `account` acts as the owner of an app: it owns it, or administers the organization
    /// that it belongs to.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded and the answer depends on them.
    pub(crate) fn acts_as_owner(
        &self,
        record: &AppRecord,
        account: Option<HumanId>,
    ) -> Result<bool> {
        match (account, record.org) {
            (Some(account), _) if account == record.owner => Ok(true),
            (Some(account), Some(org)) => self.is_admin(org, account),
            _ => Ok(false),
        }
    }

    /// Whether `human` administers `org`.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub(crate) fn is_admin(&self, org: OrgId, human: HumanId) -> Result<bool> {
        Ok(self.role(org, human)? == Some(OrgRole::Admin))
    }

    /// Checks that an account administers an organization that a request names.
    ///
    /// # Errors
    /// `not_found` for a stranger, who does not learn whether it exists; `forbidden` for a member;
    /// `unavailable`, while accounts are being loaded.
    pub(crate) fn check_admin(&self, org: OrgId, account: Option<HumanId>) -> Result<()> {
        let role = account.map(|human| self.role(org, human)).transpose()?.flatten();
        match role {
            Some(OrgRole::Admin) => Ok(()),
            Some(OrgRole::Member) => Err(Error::only_for("admins of the organization")),
            None => Err(Error::new(ErrorCode::NotFound, "no such organization")),
        }
    }

    fn role(&self, org: OrgId, human: HumanId) -> Result<Option<OrgRole>> {
        let roles = self.0.roles.read();
        let roles =
            roles.as_ref().ok_or_else(|| Error::unavailable("accounts are being loaded"))?;
        Ok(roles.get(&(org, human)).copied())
    }

    /// Completes when somebody stops being an admin after this call.
    pub(crate) fn next_loss(&self) -> Notified<'_> {
        self.0.lost.notified()
    }

    /// Records what was committed: what `human` is in `org` from now on.
    pub(crate) fn set(&self, org: OrgId, human: HumanId, role: Option<OrgRole>) {
        let before = {
            let mut roles = self.0.roles.write();
            let Some(roles) = roles.as_mut() else { return };
            match role {
                Some(role) => roles.insert((org, human), role),
                None => roles.remove(&(org, human)),
            }
        };
        if before == Some(OrgRole::Admin) && role != before {
            self.0.lost.notify_waiters();
        }
    }

    /// Nothing is known until [`Self::replace`].
    pub(crate) fn doubt(&self) {
        *self.0.roles.write() = None;
    }

    /// These are all the members there are.
    pub(crate) fn replace(&self, all: Roles) {
        *self.0.roles.write() = Some(all);
        self.0.lost.notify_waiters();
    }
}

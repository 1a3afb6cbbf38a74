//! Who administers which organization, now: one table that the directory writes and apps ask at
//! every request and at every publication, so that a demoted admin is no owner any more on the
//! very next one. What is not here: organizations themselves, and how admins come to be.

use std::{collections::HashSet, sync::Arc};

use parking_lot::RwLock;
use rookery_domain::{
    Error, Result,
    app::AppRecord,
    id::{HumanId, OrgId},
};
use tokio::sync::{Notify, futures::Notified};

/// The table, as cheap to clone as a pointer.
#[derive(Clone, Default)]
pub struct OrgAdmins(Arc<Table>);

#[derive(Default)]
struct Table {
    /// `None` before the directory has loaded it, and while it is in doubt.
    admins: RwLock<Option<HashSet<(OrgId, HumanId)>>>,
    /// Told whenever somebody stops being an admin.
    lost: Notify,
}

impl OrgAdmins {
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
        let admins = self.0.admins.read();
        let admins = admins.as_ref();
        let admins = admins.ok_or_else(|| Error::unavailable("accounts are being loaded"))?;
        Ok(admins.contains(&(org, human)))
    }

    /// Completes when somebody stops being an admin after this call.
    pub(crate) fn next_loss(&self) -> Notified<'_> {
        self.0.lost.notified()
    }

    /// Records what was committed.
    pub(crate) fn set(&self, org: OrgId, human: HumanId, is_admin: bool) {
        let lost = {
            let mut admins = self.0.admins.write();
            let Some(admins) = admins.as_mut() else { return };
            if is_admin {
                admins.insert((org, human));
            }
            !is_admin && admins.remove(&(org, human))
        };
        if lost {
            self.0.lost.notify_waiters();
        }
    }

    /// Nothing is known until [`Self::replace`].
    pub(crate) fn doubt(&self) {
        *self.0.admins.write() = None;
    }

    /// These are all the admins there are.
    pub(crate) fn replace(&self, all: HashSet<(OrgId, HumanId)>) {
        *self.0.admins.write() = Some(all);
        self.0.lost.notify_waiters();
    }
}

//! What a caller is in this app right now: resolved anew for every request and at every
//! publication, so that a change of permissions holds at once, also for those who wait.

use rookery_domain::{
    Error, ErrorCode, Result,
    access::{Standing, Tier},
    app::{AppRecord, AppStatus},
    id::HumanId,
    manifest::Visibility,
    principal::Caller,
};

use crate::{
    orgs::OrgAdmins,
    registry::{AppHandle, Apps},
};

impl Apps {
    /// Whether `account` acts as the owner of the app with this record, now. Wakes nothing.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded and the answer depends on them.
    pub fn acts_as_owner(&self, record: &AppRecord, account: HumanId) -> Result<bool> {
        self.inner.env.orgs.acts_as_owner(record, Some(account))
    }
}

impl AppHandle {
    /// How close `caller` is to the app by its record. Wakes nothing.
    ///
    /// # Errors
    /// `unauthorized` for an outsider of a private app, or of a shared one without the share token
    /// in force; `app_not_found` for an agent of somebody else.
    pub fn tier(&self, caller: &Caller) -> Result<Tier> {
        standing(&self.record(), caller, &self.env().orgs).map(|standing| standing.tier)
    }
}

/// Resolves `caller` against the app's record and the admins of its organization.
///
/// # Errors
/// `unavailable` while the admins are not known; `unauthorized` for an outsider of a private app, or of a shared one without the share token in
/// force; `app_not_found` for an agent of somebody else.
pub(crate) fn standing(record: &AppRecord, caller: &Caller, orgs: &OrgAdmins) -> Result<Standing> {
    let tier = |tier| Standing::new(caller.principal(), tier);
    if *caller == Caller::System || orgs.acts_as_owner(record, caller.account())? {
        return Ok(tier(Tier::Owner));
    }
    let share = match caller {
        Caller::Agent { .. } => return Err(Error::app_not_found()),
        Caller::Human { share, .. } | Caller::Anonymous { share, .. } => share.as_ref(),
        Caller::Grant { .. }
        | Caller::Preview { .. }
        | Caller::Credential { .. }
        | Caller::System => None,
    };
    let admitted = match record.visibility {
        Visibility::Public => true,
        // The hash of a secret: comparing it tells nothing about the secret.
        Visibility::Link => share
            .zip(record.share_hash.as_ref())
            .is_some_and(|(came_by, in_force)| in_force.starts_with(came_by)),
        Visibility::Private => false,
    };
    if admitted {
        Ok(tier(Tier::Visitor))
    } else {
        Err(Error::new(ErrorCode::Unauthorized, "this app is not open to you"))
    }
}

/// Checks that the app takes part in the world at all, as far as writes are concerned.
///
/// # Errors
/// `soft_deleted`, `app_closed`, `app_not_found`.
pub(crate) fn writable(record: &AppRecord) -> Result<()> {
    match record.status {
        AppStatus::Live => Ok(()),
        AppStatus::Deleted => {
            Err(Error::new(ErrorCode::SoftDeleted, "this app is in the trash: restore it first"))
        }
        AppStatus::Closed => Err(Error::new(ErrorCode::AppClosed, "this app is closed")),
        AppStatus::Purging => Err(Error::app_not_found()),
    }
}

/// Checks that the app can be read: a closed one by its owner only.
///
/// # Errors
/// `soft_deleted`, `app_closed`, `app_not_found`.
pub(crate) fn readable(record: &AppRecord, standing: &Standing) -> Result<()> {
    match record.status {
        AppStatus::Closed if standing.tier == Tier::Owner => Ok(()),
        _ => writable(record),
    }
}

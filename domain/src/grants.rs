//! Grant links: whoever opens one is a visitor with a custom role, until the link is revoked or
//! expires. How many may open it is bounded too.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Principal, Timestamp, id::GrantId, secret::SecretHash, time::DAY_S};

/// Grant links of one app that are not revoked.
pub const GRANTS_PER_APP_MAX: usize = 20_000;
/// Uses that a link may be made for at most.
pub const GRANT_USES_MAX: u32 = 1_000_000;
/// Most seconds that a link may be good for: a year.
pub const GRANT_TTL_S_MAX: i64 = 365 * DAY_S;

/// A grant link.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// SHA-256 of its token.
    pub hash: SecretHash,
    /// The custom role that its holders have.
    pub role: Arc<str>,
    /// How many visitors it may make; `None` for any number.
    pub max_uses: Option<u32>,
    /// How many it has made.
    pub uses: u32,
    /// When it stops opening anything, also for those who came by it.
    pub expires_at: Option<Timestamp>,
    /// Who made it.
    pub created_by: Principal,
    /// When.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What can be done with a grant link now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantState {
    /// It lets visitors in.
    Active,
    /// It lets nobody in any more; who came by it stays.
    UsedUp,
    /// It opens nothing.
    Expired,
    /// It opens nothing while the manifest in force does not declare its role.
    Undeclared,
    /// It opens nothing, because the owner said so.
    Revoked,
}

crate::all::all_of!(GrantState: Active UsedUp Expired Undeclared Revoked);

impl GrantState {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::UsedUp => "used_up",
            Self::Expired => "expired",
            Self::Undeclared => "undeclared",
            Self::Revoked => "revoked",
        }
    }
}

/// `grant_invalid`: no link with this token opens anything. Whoever only tries tokens is not told
/// which of the reasons it is.
#[must_use]
pub fn not_good() -> Error {
    Error::new(ErrorCode::GrantInvalid, "this grant link is not good, or not any more")
}

impl Grant {
    /// What can be done with it now.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> GrantState {
        if self.revoked_at.is_some() {
            GrantState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            GrantState::Expired
        } else if self.max_uses.is_some_and(|max| self.uses >= max) {
            GrantState::UsedUp
        } else {
            GrantState::Active
        }
    }

    /// The same, where it is known whether the manifest in force declares its role.
    #[must_use]
    pub fn state_under(&self, declared: bool, now: Timestamp) -> GrantState {
        match self.state(now) {
            GrantState::Active | GrantState::UsedUp if !declared => GrantState::Undeclared,
            state => state,
        }
    }

    /// Whether those who came by it still have its role, if the manifest declares it.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        matches!(self.state(now), GrantState::Active | GrantState::UsedUp)
    }
}

crate::shown!(Grant: id, role, uses);

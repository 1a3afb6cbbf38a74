//! Organizations: accounts that share apps. Here are the words and the bounds; who is in which one
//! is the directory's to know, and what an admin may do in an app is decided by the app.

use serde::{Deserialize, Serialize};

use crate::{Result, agent_name::AgentName};

/// Organizations that one account can found, whoever is billed for them later.
pub const ORGS_PER_ACCOUNT_MAX: u64 = 100;
/// Members of one organization.
pub const MEMBERS_PER_ORG_MAX: u64 = 1_000;

/// What a member is in an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrgRole {
    /// Changes the organization, and acts as the owner of its apps.
    Admin,
    /// Sees the organization and its members. Its apps are a stranger's to them.
    Member,
}

crate::all::all_of!(OrgRole: Admin Member);

impl OrgRole {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }
}

/// An organization's name: one line, trimmed, 1 to 100 characters, by the rules of an agent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgName(AgentName);

impl OrgName {
    /// Reads the member `name` of a request.
    ///
    /// # Errors
    /// `invalid_request`.
    pub fn parse(text: &str) -> Result<Self> {
        AgentName::parse(text).map(Self)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

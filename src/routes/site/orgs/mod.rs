//! `/orgs`: the human's organizations. All of them, and the form that makes one (`list`); one with
//! its members and apps, and what the forms of that page do (`one`). Which organization an app is
//! in is the app's setting (`app::settings`).

pub mod list;
pub mod one;

use rookery_domain::{id::OrgId, orgs::OrgRole};
use serde::Deserialize;

use super::words::{At, Count};

/// An organization, as one of its members sees it.
#[derive(Debug, Deserialize)]
pub struct Org {
    /// Its id.
    pub id: OrgId,
    /// Its name.
    pub name: String,
    /// What the human is there.
    pub role: OrgRole,
    /// How many are in it.
    pub member_count: Count,
    /// The account that is billed for it.
    pub billing_account: Billed,
    /// When it was made.
    pub created_at: At,
}

/// The account that is billed for an organization.
#[derive(Debug, Deserialize)]
pub struct Billed {
    /// Its name, as others are shown it.
    pub name: Option<String>,
}

impl Org {
    /// Whether the human administers it.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.role == OrgRole::Admin
    }

    /// What the human is there, in words.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match self.role {
            OrgRole::Admin => "You are an admin",
            OrgRole::Member => "You are a member",
        }
    }
}

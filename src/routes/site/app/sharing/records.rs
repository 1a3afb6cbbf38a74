//! What the page of sharing reads of the API's records.

use rookery_domain::{
    access::{Operation, Tier},
    credentials::{CredentialStatus, Mode, Scope},
    grants::GrantState,
};
use serde::Deserialize;

use crate::{
    pages::visible::visible,
    routes::site::{
        app::data::record::Who,
        words::{At, Count},
    },
};

/// Somebody in the app.
#[derive(Deserialize)]
pub struct Member {
    /// The human.
    pub human_id: String,
    /// Its address.
    pub email: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// What they are in the app.
    pub role: Tier,
    /// The role of the manifest.
    pub custom_role: Option<String>,
    /// Whether the manifest declares it.
    pub custom_role_declared: bool,
}

impl Member {
    /// What they are in the app, apart from a role of the manifest.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match self.role {
            Tier::Owner => "Owner",
            Tier::Member => "Member",
            Tier::Visitor => "Visitor",
        }
    }

    /// What to call them.
    #[must_use]
    pub fn label(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.or(self.email.as_deref()).unwrap_or("Without a name")
    }
}

/// A role of the manifest.
#[derive(Deserialize)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// What people are shown.
    pub title: Option<String>,
}

impl Role {
    /// What people are shown.
    #[must_use]
    pub fn label(&self) -> String {
        visible(self.title.as_deref().unwrap_or(&self.name))
    }
}

/// A grant link.
#[derive(Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// Whose role its visitors have.
    pub role: String,
    /// What it does now.
    pub state: GrantState,
    /// Visitors that it may make.
    pub max_uses: Option<Count>,
    /// Visitors that it has made.
    pub uses: Count,
    /// Who made it.
    pub created_by: Who,
    /// The same in words.
    #[serde(skip)]
    pub maker: String,
    /// When it was made.
    pub created_at: At,
    /// When it ends.
    pub expires_at: Option<At>,
}

impl Grant {
    /// Whether it still lets somebody in, in words.
    #[must_use]
    pub const fn says(&self) -> &'static str {
        match self.state {
            GrantState::Active => "In force",
            GrantState::UsedUp => "Used up",
            GrantState::Expired => "Over",
            GrantState::Undeclared => "Opens nothing: the role is not declared any more",
            GrantState::Revoked => "Revoked",
        }
    }
}

/// A preview link.
#[derive(Deserialize)]
pub struct Preview {
    /// Its id.
    pub id: String,
    /// Who made it.
    pub created_by: Who,
    /// The same in words.
    #[serde(skip)]
    pub maker: String,
    /// When it was made.
    pub created_at: At,
    /// When it ends.
    pub expires_at: At,
}

/// A service credential.
#[derive(Deserialize)]
pub struct Credential {
    /// Its id.
    pub id: String,
    /// What humans call it.
    pub name: Option<String>,
    /// The beginning of its token.
    pub prefix: String,
    /// Whether it works.
    pub status: CredentialStatus,
    /// Whether it reaches collections that it does not name.
    pub mode: Mode,
    /// The collections that it names.
    pub collections: Vec<Rights>,
    /// What it may do in the others.
    pub operations: Vec<Operation>,
    /// On which rows.
    pub scope: Scope,
    /// Who made it.
    pub created_by: Who,
    /// The same in words.
    #[serde(skip)]
    pub maker: String,
    /// When it was made.
    pub created_at: At,
    /// Until when the token before works.
    #[serde(default)]
    pub previous_token_expires_at: Option<At>,
}

/// What a credential may do in a collection.
#[derive(Deserialize)]
pub struct Rights {
    /// The collection.
    pub name: String,
    /// What.
    pub operations: Vec<Operation>,
    /// On which rows.
    pub scope: Scope,
}

impl Credential {
    /// Whether it works, in words.
    #[must_use]
    pub const fn says(&self) -> &'static str {
        match self.status {
            CredentialStatus::Active => "In force",
            CredentialStatus::Paused => "Paused",
            CredentialStatus::Revoked => "Revoked",
        }
    }

    /// What its owner may do to it besides: the action, and what its button says.
    #[must_use]
    pub const fn step(&self) -> Option<(&'static str, &'static str)> {
        match self.status {
            CredentialStatus::Active => Some(("pause-credential", "Pause")),
            CredentialStatus::Paused => Some(("resume-credential", "Resume")),
            CredentialStatus::Revoked => None,
        }
    }

    /// What to call it: by the beginning of its token, where it has no name.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.prefix)
    }

    /// What it may do, in words.
    #[must_use]
    pub fn may(&self) -> String {
        let rights = |of: &str, operations: &[Operation], scope| {
            let names: Vec<_> = operations.iter().map(|operation| operation.as_str()).collect();
            let own = match scope {
                Scope::Own => ", own rows only",
                Scope::All => "",
            };
            format!("{of}: {}{own}", names.join(", "))
        };
        let named = self.collections.iter();
        let mut parts: Vec<String> =
            named.map(|one| rights(&one.name, &one.operations, one.scope)).collect();
        match self.mode {
            Mode::Explicit => {}
            Mode::Following => {
                let rest = if parts.is_empty() { "every collection" } else { "every other" };
                parts.push(rights(rest, &self.operations, self.scope));
            }
        }
        parts.join("; ")
    }
}

/// A pending offer of the app.
#[derive(Deserialize)]
pub struct Offer {
    /// To whom.
    pub email: String,
    /// When.
    pub created_at: At,
}

/// What is shown this one time.
pub struct Once {
    /// What it is.
    pub title: &'static str,
    /// What to know about it.
    pub text: &'static str,
    /// The secret, unless it was shown before.
    pub secret: Option<String>,
}

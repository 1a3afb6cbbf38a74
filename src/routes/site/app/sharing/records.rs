//! What the page of sharing reads of the API's records.

use serde::Deserialize;

use crate::routes::site::{
    app::data::record::Who,
    words::{At, Count},
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
    /// `owner` or `member`.
    pub role: String,
    /// The role of the manifest.
    pub custom_role: Option<String>,
    /// Whether the manifest declares it.
    pub custom_role_declared: bool,
}

impl Member {
    /// What they are in the app, apart from a role of the manifest.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        if self.role == "owner" { "Owner" } else { "Member" }
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
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// A grant link.
#[derive(Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// Whose role its visitors have.
    pub role: String,
    /// `active`, `used_up`, `expired` or `undeclared`.
    pub state: String,
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
    pub fn says(&self) -> &str {
        match &*self.state {
            "active" => "In force",
            "used_up" => "Used up",
            "expired" => "Over",
            "undeclared" => "Opens nothing: the role is not declared any more",
            other => other,
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
    /// `active`, `paused` or `revoked`.
    pub status: String,
    /// `explicit` or `following`.
    pub mode: String,
    /// The collections that it names.
    pub collections: Vec<Rights>,
    /// What it may do in the others.
    pub operations: Vec<String>,
    /// `own` or `all`.
    pub scope: String,
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
    pub operations: Vec<String>,
    /// `own` or `all`.
    pub scope: String,
}

impl Credential {
    /// Whether it works, in words.
    #[must_use]
    pub fn says(&self) -> &str {
        match &*self.status {
            "active" => "In force",
            "paused" => "Paused",
            "revoked" => "Revoked",
            other => other,
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
        let own = |scope: &str| if scope == "own" { ", own rows only" } else { "" };
        let mut parts: Vec<String> = self
            .collections
            .iter()
            .map(|one| format!("{}: {}{}", one.name, one.operations.join(", "), own(&one.scope)))
            .collect();
        if self.mode == "following" {
            let rest = if parts.is_empty() { "every collection" } else { "every other" };
            parts.push(format!("{rest}: {}{}", self.operations.join(", "), own(&self.scope)));
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

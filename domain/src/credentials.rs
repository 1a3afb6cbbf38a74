//! Service credentials: what one enumerates, in the words of the API, and the tokens it has. What
//! the enumeration means for a row is decided in `access`.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Principal, Result, Timestamp,
    access::{Allowlist, CollectionGrant, Operation},
    id::CredentialId,
    secret::{HashHalf, SecretHash},
    time::DAY_S,
};

/// Credentials of one app that are not revoked.
pub const CREDENTIALS_PER_APP_MAX: usize = 1_000;
/// Tokens of one credential that work at the same time, while a rotation overlaps.
pub const TOKENS_PER_CREDENTIAL_MAX: usize = 10;
/// Seconds that the old token of a rotation goes on working, unless its owner says otherwise.
pub const OVERLAP_S_DEFAULT: i64 = 3_600;
/// Seconds that it may go on working at most.
pub const OVERLAP_S_MAX: i64 = 7 * DAY_S;

/// Whether a credential works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialStatus {
    /// It does.
    Active,
    /// Not until it is resumed.
    Paused,
    /// Never again.
    Revoked,
}

crate::all::all_of!(CredentialStatus: Active Paused Revoked);

impl CredentialStatus {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Revoked => "revoked",
        }
    }
}

/// Whether a credential reaches collections that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It never does.
    #[default]
    Explicit,
    /// It does, and so it reaches those that are added later.
    Following,
}

crate::all::all_of!(Mode: Explicit Following);

/// Which rows of a collection a credential's operations are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Every row that the owner reaches.
    #[default]
    All,
    /// Only rows that the credential created.
    Own,
}

crate::all::all_of!(Scope: All Own);

/// What a credential may do in one collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionRights {
    /// The collection.
    pub name: Arc<str>,
    /// What it may do there.
    pub operations: Vec<Operation>,
    /// On which rows.
    #[serde(default)]
    pub scope: Scope,
}

/// What a credential enumerates, as records show it and storage keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Whether it reaches collections that it does not name.
    pub mode: Mode,
    /// The collections it names.
    pub collections: Vec<CollectionRights>,
    /// With `following`: what it may do in every other collection.
    pub operations: Vec<Operation>,
    /// With `following`: on which rows.
    pub scope: Scope,
}

impl Rights {
    /// Checks what the types do not say. Whether the app declares the collections is the app's to
    /// know.
    ///
    /// # Errors
    /// `invalid_request`, naming the member.
    pub fn check(&self) -> Result<()> {
        let mut names = std::collections::BTreeSet::new();
        for (at, rights) in self.collections.iter().enumerate() {
            if !names.insert(&rights.name) {
                let name = &rights.name;
                return Err(Error::invalid(format!("`collections[{at}]`: names {name:?} again")));
            }
            check_operations(&rights.operations, &format!("collections[{at}].operations"))?;
        }
        match self.mode {
            Mode::Explicit if self.collections.is_empty() => {
                Err(Error::invalid("`collections`: must name at least one collection"))
            }
            Mode::Explicit => Ok(()),
            Mode::Following => check_operations(&self.operations, "operations"),
        }
    }

    /// What it means for decisions.
    #[must_use]
    pub fn allowlist(&self) -> Allowlist {
        let grant =
            |operations: &[Operation], scope| CollectionGrant::new(operations, scope == Scope::Own);
        let named: BTreeMap<_, _> = self
            .collections
            .iter()
            .map(|rights| (rights.name.clone(), grant(&rights.operations, rights.scope)))
            .collect();
        let following = (self.mode == Mode::Following).then(|| grant(&self.operations, self.scope));
        Allowlist { named, following }
    }
}

fn check_operations(operations: &[Operation], member: &str) -> Result<()> {
    if operations.is_empty() {
        return Err(Error::invalid(format!("`{member}`: must name at least one operation")));
    }
    for (at, operation) in operations.iter().enumerate() {
        if operations[..at].contains(operation) {
            let name = operation.as_str();
            return Err(Error::invalid(format!("`{member}`: names {name:?} again")));
        }
    }
    Ok(())
}

/// One token of a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialToken {
    /// SHA-256 of it.
    pub hash: SecretHash,
    /// Its listable beginning.
    pub prefix: Arc<str>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working, once it was rotated out.
    pub expires_at: Option<Timestamp>,
}

impl CredentialToken {
    /// Whether it works now.
    #[must_use]
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| end > now)
    }
}

crate::shown!(CredentialToken: prefix);

/// A service credential of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// What humans call it.
    pub name: Option<Arc<str>>,
    /// The listable beginning of the token in force.
    pub prefix: Arc<str>,
    /// What it enumerates.
    pub rights: Arc<Rights>,
    /// The same, for decisions.
    pub allowlist: Arc<Allowlist>,
    /// Whether it works.
    pub status: CredentialStatus,
    /// Who made it.
    pub created_by: Principal,
    /// When.
    pub created_at: Timestamp,
    /// When its status or token changed last.
    pub updated_at: Timestamp,
    /// Its tokens, oldest first; the last one is the one in force.
    pub tokens: Vec<CredentialToken>,
}

impl Credential {
    /// Whether a token whose hash begins with `half` works now.
    #[must_use]
    pub fn admits(&self, half: HashHalf, now: Timestamp) -> bool {
        let fits = |token: &CredentialToken| token.hash.half() == half && token.is_good(now);
        self.status == CredentialStatus::Active && self.tokens.iter().any(fits)
    }

    /// When the token before the one in force ends, if one was rotated out.
    #[must_use]
    pub fn previous_ends_at(&self) -> Option<Timestamp> {
        self.tokens.iter().rev().nth(1)?.expires_at
    }

    /// When the token whose hash begins with `half` ends, if it was rotated out.
    #[must_use]
    pub fn token_ends_at(&self, half: HashHalf) -> Option<Timestamp> {
        self.tokens.iter().find(|token| token.hash.half() == half)?.expires_at
    }
}

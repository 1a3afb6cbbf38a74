//! What a caller is in one app, after the app's newest state has resolved it. What is not here:
//! how it is resolved (members and grants are the app's state), and minting credentials.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Subject;
use crate::{Principal, row::Row};

/// How close a caller stands to an app; each tier includes the ones below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Whoever can reach the app at all.
    #[serde(rename = "anyone")]
    Visitor,
    /// A member.
    Member,
    /// The owner human, an agent of it, or a service credential (which is the owner, cut down).
    Owner,
}

crate::all::all_of!(Tier: Visitor Member Owner);

impl Tier {
    /// The name in records, which is the subject's of permission lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visitor => "anyone",
            Self::Member => "member",
            Self::Owner => "owner",
        }
    }
}

/// A caller in one app. Only the app's actor makes it, from its newest state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How records name the caller; row-scoped subjects compare it.
    pub principal: Principal,
    /// Owner, member or visitor.
    pub tier: Tier,
    /// Its custom role: a member's, or the one of the grant link it came by.
    pub role: Option<Arc<str>>,
    /// A preview holder reads and counts, and nothing else.
    pub read_only: bool,
    /// A service credential's own bounds, which apply before the lists.
    pub allowlist: Option<Arc<Allowlist>>,
}

impl Standing {
    /// A caller of `tier` without custom role, preview or credential.
    #[must_use]
    pub const fn new(principal: Principal, tier: Tier) -> Self {
        Self { principal, tier, role: None, read_only: false, allowlist: None }
    }

    /// With a custom role.
    #[must_use]
    pub fn with_role(mut self, role: Arc<str>) -> Self {
        self.role = Some(role);
        self
    }

    /// Whether restore, purge and the trash are open to this caller (part 4.3). A service
    /// credential enumerates collection operations, and these are none of them.
    #[must_use]
    pub const fn is_owner(&self) -> bool {
        matches!(self.tier, Tier::Owner) && self.allowlist.is_none()
    }

    fn holds_role(&self, role: &str) -> bool {
        self.role.as_deref() == Some(role)
    }

    /// The rows on which it satisfies `subject`; `None` where it satisfies it on none.
    pub(super) fn reach(&self, subject: &Subject) -> Option<Reach> {
        const CREATED: Reach = Reach::Own { created: true, edited: false };
        match subject {
            Subject::Owner => (self.tier == Tier::Owner).then_some(Reach::Every),
            Subject::Member => (self.tier >= Tier::Member).then_some(Reach::Every),
            Subject::Anyone => Some(Reach::Every),
            Subject::Role(role) => self.holds_role(role).then_some(Reach::Every),
            Subject::Creator => Some(CREATED),
            Subject::Editor { .. } => Some(Reach::Own { created: false, edited: true }),
            Subject::RoleCreator(role) => self.holds_role(role).then_some(CREATED),
            Subject::RoleOwn(role) => {
                self.holds_role(role).then_some(Reach::Own { created: true, edited: true })
            }
        }
    }
}

/// How far one subject carries a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To every row.
    Every,
    /// To the rows it created, or wrote last, or both.
    Own { created: bool, edited: bool },
}

/// Who created a row and who wrote it last: all that a decision on a row looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authorship {
    /// Who created it.
    pub creator: Principal,
    /// Who wrote it last.
    pub editor: Principal,
}

impl From<&Row> for Authorship {
    fn from(row: &Row) -> Self {
        Self { creator: row.creator, editor: row.editor }
    }
}

/// What a service credential can be allowed to do in a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Operation {
    /// Get, list, follow.
    Read = 1,
    /// Create, and upsert without a match.
    Create = 2,
    /// Update, and upsert with a match.
    Update = 4,
    /// Delete.
    Delete = 8,
    /// Count.
    Count = 16,
}

crate::all::all_of!(Operation: Read Create Update Delete Count);

impl Operation {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Count => "count",
        }
    }
}

/// What a credential may do in one collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollectionGrant {
    operations: u8,
    own: bool,
}

impl CollectionGrant {
    /// These operations, on `own` rows (those the credential created) or on all.
    #[must_use]
    pub fn new(operations: &[Operation], own: bool) -> Self {
        Self { operations: operations.iter().fold(0, |set, op| set | *op as u8), own }
    }

    /// Whether it enumerates `operation`.
    #[must_use]
    pub const fn allows(self, operation: Operation) -> bool {
        self.operations & operation as u8 != 0
    }

    /// Whether it is cut down to rows that the credential created.
    #[must_use]
    pub const fn own(self) -> bool {
        self.own
    }
}

/// What a service credential enumerates (part 5, rule 7).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowlist {
    /// Collections it names.
    pub named: BTreeMap<Arc<str>, CollectionGrant>,
    /// Mode `following`: what it may do in every other collection, later ones included. `None`
    /// is mode `explicit`, which never reaches a collection it does not name.
    pub following: Option<CollectionGrant>,
}

impl Allowlist {
    /// What it may do in `collection`.
    #[must_use]
    pub fn grant(&self, collection: &str) -> Option<CollectionGrant> {
        self.named.get(collection).copied().or(self.following)
    }
}

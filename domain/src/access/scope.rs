//! Which rows of a collection a caller reads, as one value: lists and the feed ask it once and
//! then test row by row; cursors are bound to its fingerprint.

use super::{Authorship, CollectionGrant, Operation, Standing, standing::Reach};
use crate::{
    Principal,
    access::SubjectList,
    manifest::{Collection, Manifest},
};

/// The rows that a caller reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowScope {
    /// All of them.
    All,
    /// None of them.
    None,
    /// Those of which it is the creator or the editor.
    Scoped(OwnRows),
}

/// A predicate over a row's creator and editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnRows {
    who: Principal,
    created: bool,
    edited: bool,
    /// A credential of scope `own`: on top of the rest, only rows that it created.
    created_only: bool,
}

impl OwnRows {
    /// Whether rows that it created are among them.
    pub(super) const fn created(&self) -> bool {
        self.created
    }

    /// Whether rows that it wrote last are among them.
    pub(super) const fn edited(&self) -> bool {
        self.edited
    }
}

impl RowScope {
    /// Whether it holds for a row.
    #[must_use]
    pub fn admits(&self, row: Authorship) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Scoped(own) => {
                (own.created && row.creator == own.who || own.edited && row.editor == own.who)
                    && (!own.created_only || row.creator == own.who)
            }
        }
    }

    /// What `list` opens to `standing`, before any credential's bounds.
    #[must_use]
    pub fn of_list(standing: &Standing, list: &SubjectList) -> Self {
        let (mut created, mut edited) = (false, false);
        for subject in list.iter() {
            match standing.reach(subject) {
                Some(Reach::Every) => return Self::All,
                Some(Reach::Own { created: c, edited: e }) => {
                    created |= c;
                    edited |= e;
                }
                None => {}
            }
        }
        if !created && !edited {
            return Self::None;
        }
        let who = standing.principal;
        Self::Scoped(OwnRows { who, created, edited, created_only: false })
    }

    /// Cut down to rows that `who` created.
    #[must_use]
    pub(super) const fn created_by(self, who: Principal) -> Self {
        match self {
            Self::All => {
                Self::Scoped(OwnRows { who, created: true, edited: false, created_only: true })
            }
            Self::None => Self::None,
            Self::Scoped(own) => Self::Scoped(OwnRows { created_only: true, ..own }),
        }
    }

    /// The rows of `collection` that `standing` reads, a credential's bounds included. It answers
    /// what to show (feed, disclosure); a refusal in words is `Access::list`.
    #[must_use]
    pub fn readable(standing: &Standing, collection: &Collection) -> Self {
        let scope = Self::of_list(standing, &collection.permissions.read);
        match standing.allowlist.as_deref().map(|list| list.grant(&collection.name)) {
            None => scope,
            Some(Some(grant)) if grant.allows(Operation::Read) => scope.bounded(grant, standing),
            Some(_) => Self::None,
        }
    }

    /// A stable number of it: a list's cursors are bound to it.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::default();
        self.write(&mut hash);
        hash.0
    }

    fn write(&self, hash: &mut Fnv) {
        match self {
            Self::All => hash.write(&[0xff, 1]),
            Self::None => hash.write(&[0xff, 2]),
            Self::Scoped(own) => {
                let bits = u8::from(own.created)
                    | u8::from(own.edited) << 1
                    | u8::from(own.created_only) << 2;
                hash.write(&[0xff, 3, bits, own.who.kind as u8]);
                hash.write(&own.who.id);
            }
        }
    }

    pub(super) const fn bounded(self, grant: CollectionGrant, standing: &Standing) -> Self {
        if grant.own() { self.created_by(standing.principal) } else { self }
    }
}

/// A stable number of everything `standing` reads in an app: feed cursors and ETags carry it, so
/// that what was handed out under other rights no longer fits. Two callers who read the same share
/// it unless a scope depends on who they are. A collection of which one reads nothing is no part
/// of it, so it can come and go; and the owner, who hears of everything, has one number always.
#[must_use]
pub fn read_rights(standing: &Standing, manifest: &Manifest) -> u64 {
    let mut hash = Fnv::default();
    // Events about members and grants are the owner's, so the tier is part of the rights.
    hash.write(&[standing.tier as u8, u8::from(standing.is_owner())]);
    if standing.is_owner() {
        return hash.0;
    }
    for (name, collection) in &manifest.collections {
        let scope = RowScope::readable(standing, collection);
        if scope != RowScope::None {
            hash.write(name.as_bytes());
            scope.write(&mut hash);
        }
    }
    hash.0
}

/// FNV-1a, 64 bits: the same in every build and on every machine, which std's hasher is not.
/// Nobody gains by a collision: rights are decided anew on every request.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

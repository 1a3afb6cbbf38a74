//! An app as everybody else sees it: an immutable snapshot, published after a commit.
//!
//! Reads take the newest root and are done; they never meet the actor. The actor's own working
//! copy is a root too, one that is ahead by what is not durable yet.

use std::{collections::BTreeMap, sync::Arc};

use rookery_domain::{
    Error, ErrorCode, Timestamp,
    access::Standing,
    app::{AppRecord, AppStatus},
    grants::{Grant, GrantState},
    manifest::{Collection, Manifest},
    secret::SecretHash,
};
use rookery_storage::{apps::CollectionCounts, commit::Totals};

use super::{access::AccessTables, rows::Rows, tail::Tail};

/// Memory of an app without rows and manifest: actor, mailbox, slot.
const APP_BYTES: u64 = 16 << 10;
/// Memory of a row beyond key and data: the record, its places in vector and index.
const ROW_BYTES: u64 = 256;
/// Memory of what is remembered of a row that is not live.
const TOMB_BYTES: u64 = 64;

/// Which group of an app's changes is the last that a state includes. Some change no row and have no
/// event, so that a seq does not tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupNumber {
    /// The incarnation that made it. A later one has loaded what is durable of all before it.
    pub(crate) incarnation: u64,
    /// Its number there, from 1; 0 is what the incarnation began with.
    pub(crate) group: u64,
}

impl GroupNumber {
    /// The one after it.
    pub(crate) const fn next(self) -> Self {
        Self { group: self.group + 1, ..self }
    }
}

/// One app at one point of its history. Cloning shares everything.
#[derive(Clone)]
pub struct Root {
    /// The last group that it includes; of the actor's own copy the one that is open.
    pub group: GroupNumber,
    /// The number of the newest event it includes.
    pub seq: u64,
    /// The app's record.
    pub record: Arc<AppRecord>,
    /// The manifest in force.
    pub manifest: Arc<Manifest>,
    /// About how many bytes the manifest and its compiled schemas take.
    pub(crate) declared_bytes: u64,
    /// What it holds.
    pub totals: Totals,
    /// Rows kept but not served, by collection; declared ones and removed ones. None is empty.
    pub(crate) withheld: Arc<BTreeMap<Arc<str>, Withheld>>,
    /// About how many purged rows' keys are remembered.
    pub(crate) purged: u64,
    pub(crate) collections: Vec<CollectionState>,
    /// Who may do what besides the owner.
    pub(crate) access: Arc<AccessTables>,
    pub(crate) tail: Tail,
}

/// What the owner does about a row that may be detached.
const DETACHED: &str = "Check the key with a list. This collection also has detached rows, which no list shows: a version whose schema they fit serves them again, and a purge by key destroys one.";

/// Rows of an app that count towards its account's limit.
pub(crate) fn counted_rows(record: &AppRecord, totals: Totals) -> u64 {
    match record.status {
        AppStatus::Live | AppStatus::Closed => totals.rows(),
        AppStatus::Deleted | AppStatus::Purging => 0,
    }
}

/// A declared collection and its rows.
#[derive(Clone)]
pub(crate) struct CollectionState {
    pub(crate) decl: Arc<Collection>,
    pub(crate) rows: Rows,
}

/// How many rows of a collection are kept but not served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// Rows in the trash.
    pub(crate) trashed: u64,
    /// Rows that a forced deploy detached.
    pub(crate) detached: u64,
}

impl Root {
    /// Rows that count towards its account's limit: none while it is in the trash.
    pub(crate) fn counted_rows(&self) -> u64 {
        counted_rows(&self.record, self.totals)
    }

    /// Puts rows that came since the last publication into order.
    pub(crate) fn sort_pending(&mut self) {
        self.collections.iter_mut().for_each(|state| state.rows.sort_pending());
    }

    /// Where the collection `name` stands, if the manifest declares it.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.collections.binary_search_by(|state| (*state.decl.name).cmp(name)).ok()
    }

    pub(crate) fn collection(&self, name: &str) -> Option<&CollectionState> {
        self.index_of(name).map(|i| &self.collections[i])
    }

    /// About how many bytes this app holds in memory: its actor, its manifest with the compiled schemas,
    /// its rows with their places in the indexes, what is remembered of rows that are not live, and the
    /// tail of the feed. A schema that several apps share counts in each of them.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let Totals { live, trashed, detached, bytes, .. } = self.totals;
        // Bytes are counted over all rows, but only live ones are in memory: their share is taken.
        let data = bytes.checked_mul(live).map_or(bytes, |n| n / self.totals.rows().max(1));
        APP_BYTES
            + self.declared_bytes
            + data
            + ROW_BYTES * live
            + TOMB_BYTES * (trashed + detached + self.purged)
            + self.tail.bytes() as u64
            + self.access.resident_bytes()
    }

    /// Whether any grant link gives its holders a role now.
    pub(crate) fn has_live_grants(&self, now: Timestamp) -> bool {
        self.access.has_live_grants(now)
    }

    /// The grant link whose token has this hash, if it lets a visitor in now.
    pub(crate) fn open_grant(&self, token: &SecretHash, now: Timestamp) -> Option<&Arc<Grant>> {
        self.access.grant_by_token(token).filter(|grant| {
            grant.state(now) == GrantState::Active && self.manifest.declares_role(&grant.role)
        })
    }

    /// Live rows of a declared collection.
    #[must_use]
    pub fn live_rows(&self, collection: &str) -> Option<u64> {
        self.collection(collection).map(|state| state.rows.len() as u64)
    }

    /// How many rows of a collection, declared or not, are kept but not served.
    pub(crate) fn withheld(&self, collection: &str) -> Withheld {
        self.withheld.get(collection).copied().unwrap_or_default()
    }

    /// `error`, or where it says that there is no row and the collection has rows that only its owner
    /// is told of, with what the owner does about those.
    pub(crate) fn beside_detached(
        &self,
        error: Error,
        standing: &Standing,
        collection: &str,
    ) -> Error {
        let is_absent = error.code == ErrorCode::RowNotFound;
        if is_absent && standing.is_owner() && self.withheld(collection).detached > 0 {
            return error.with_hint(DETACHED);
        }
        error
    }

    /// What the app's record lists of each collection, the declared ones and those that are removed
    /// and still have rows.
    pub(crate) fn collection_counts(&self) -> impl Iterator<Item = CollectionCounts> {
        let counts = move |name: &Arc<str>, live| {
            let Withheld { trashed, detached } = self.withheld(name);
            CollectionCounts { name: name.clone(), live, trashed, detached }
        };
        let declared = self.collections.iter();
        let declared = declared.map(move |state| counts(&state.decl.name, state.rows.len() as u64));
        let removed = self.withheld.keys().filter(|name| self.index_of(name).is_none());
        declared.chain(removed.map(move |name| counts(name, 0)))
    }
}

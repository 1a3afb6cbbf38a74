//! What an actor keeps for itself: the part of its state that no reader needs. How it changes is
//! in [`working`](super::working).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    budget::BudgetCounters, id::AppId, manifest, schema::CompiledSchema, timezone::Zone,
};
use rookery_storage::commit::RowState;

use super::{
    deploy::EventSchemas,
    recent_responses::RecentResponses,
    root::CollectionState,
    rows::{Digest, DigestMap},
    spent::Spent,
    unique,
    working::Undo,
};

/// The part of the state that is not published.
pub(crate) struct Private {
    /// Beside the root's collections, in the same order.
    pub(crate) collections: Vec<PrivateCollection>,
    /// Keys whose row is not live, by collection (also of collections no longer declared).
    pub(crate) tombs: HashMap<Arc<str>, DigestMap<Tomb>>,
    /// At least the highest version of the purged rows whose keys are forgotten.
    pub(crate) version_floor: u32,
    pub(crate) events: EventSchemas,
    pub(crate) budgets: BudgetCounters,
    /// The app's timezone: days of budgets begin at its midnight.
    pub(crate) zone: Zone,
    pub(crate) spent: Spent,
    pub(crate) responses: RecentResponses,
}

/// Keys of purged rows that are remembered. What is beyond is folded into one number, as retention
/// does in storage: an app that purges all the time and never rests would carry them for ever.
pub(crate) const PURGED_MAX: u64 = 10_000;

impl Private {
    /// About how many bytes a manifest with this text and the compiled schemas in force take in memory.
    pub(crate) fn declared_bytes(&self, manifest_text: &str) -> u64 {
        let of_rows = self.collections.iter().filter_map(|of| of.schema.as_ref());
        let of_events = self.events.values().filter_map(Option::as_ref);
        let mut schemas: Vec<_> = of_rows.chain(of_events).collect();
        schemas.sort_unstable_by_key(|schema| Arc::as_ptr(schema));
        schemas.dedup_by_key(|schema| Arc::as_ptr(schema));
        let compiled: usize = schemas.iter().map(|schema| schema.weight_bytes()).sum();
        (manifest::weight_bytes(manifest_text) + compiled) as u64
    }

    /// Forgets the keys of purged rows where they are more than [`PURGED_MAX`], and keeps the
    /// highest of their versions; how many are remembered. A key that an uncommitted step speaks of
    /// stays: the step may be taken back.
    pub(crate) fn fold_purged(&mut self, uncommitted: &[Undo]) -> u64 {
        let is_purged = |tomb: &Tomb| tomb.kind == TombKind::Purged;
        let tombs = self.tombs.values().flat_map(DigestMap::values);
        let purged = tombs.filter(|tomb| is_purged(tomb)).count() as u64;
        if purged <= PURGED_MAX {
            return purged;
        }
        let open: HashSet<(&str, Digest)> = uncommitted
            .iter()
            .filter_map(|step| match step {
                Undo::Tomb { collection, key, .. } => Some((&**collection, *key)),
                _ => None,
            })
            .collect();
        let (mut kept, mut floor) = (0, self.version_floor);
        for (collection, tombs) in &mut self.tombs {
            tombs.retain(|key, tomb| {
                let stays = !is_purged(tomb) || open.contains(&(&**collection, *key));
                if !stays {
                    floor = floor.max(tomb.version);
                } else if is_purged(tomb) {
                    kept += 1;
                }
                stays
            });
        }
        self.tombs.retain(|_, tombs| !tombs.is_empty());
        self.tombs.values_mut().for_each(DigestMap::shrink_to_fit);
        self.version_floor = floor;
        kept
    }
}

/// What is private of one collection.
#[derive(Clone, Default)]
pub(crate) struct PrivateCollection {
    pub(crate) schema: Option<Arc<CompiledSchema>>,
    /// For each unique field, in declared order: normal form to the key of the row that holds it.
    /// None until a write asks, where few rows were loaded: most of what wakes an app only reads.
    pub(crate) unique: Option<Vec<DigestMap<Digest>>>,
}

impl PrivateCollection {
    /// The unique indexes of the collection whose rows are in `state`. The first call of an incarnation makes
    /// them, so it must come before a row changes: the journal takes changes back in them as well.
    pub(crate) fn unique_of(
        &mut self,
        app: AppId,
        state: &CollectionState,
    ) -> &mut [DigestMap<Digest>] {
        let CollectionState { decl, rows } = state;
        self.unique.get_or_insert_with(|| {
            let (indexes, shared) = unique::index_of(&decl.unique, rows);
            if let Some(field) = shared {
                tracing::warn!(
                    app.id = %app,
                    row.collection = &*decl.name,
                    field = &**field,
                    "two rows share a value of a unique field"
                );
            }
            indexes
        })
    }
}

/// What is remembered of a key whose row is not live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tomb {
    pub(crate) version: u32,
    pub(crate) kind: TombKind,
    /// Bytes of its key and data, 0 once purged.
    pub(crate) bytes: u32,
}

/// Why a key's row is not live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TombKind {
    Trashed,
    Purged,
    Detached,
    /// It cannot be read: set aside, but its key is taken and it counts as live.
    Poison,
}

impl TombKind {
    /// That of a row in this state, unless it is live.
    pub(crate) const fn of(state: RowState) -> Option<Self> {
        match state {
            RowState::Trashed(_) => Some(Self::Trashed),
            RowState::Purged(_) => Some(Self::Purged),
            RowState::Detached => Some(Self::Detached),
            RowState::Live => None,
        }
    }
}

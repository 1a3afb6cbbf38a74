//! An actor's working state: the root it will publish next, what it keeps for itself, and the
//! open group. Every change of what cannot be restored by taking an older root again is written
//! to a journal, so that an atomic batch and an aborted commit leave nothing behind.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    Principal, Timestamp,
    budget::{BudgetCounters, Reservation},
    event::{Event, EventType, RowChange},
    row::Row,
    schema::CompiledSchema,
    timezone::Zone,
    unique::UniqueKey,
};
use rookery_storage::commit::{RowState, RowWrite};
use serde_json::Value;

use super::{
    answers::Answers,
    deploy::EventSchemas,
    group::Open,
    root::{Root, Withheld},
    rows::{Digest, DigestMap},
    spent::Spent,
};
use crate::accounts::{Account, CountedRows};

/// What an actor knows and is about to make durable.
pub(crate) struct Working {
    /// The next root: the published one and everything decided since.
    pub(crate) root: Root,
    /// What no reader needs.
    pub(crate) private: Private,
    /// What is decided and not yet with the writer.
    pub(crate) open: Open,
    /// The account the rows count towards.
    pub(crate) counted: Arc<CountedRows>,
    /// The latest time given to anything: rows of one app never share a creation time.
    pub(crate) last_at: Timestamp,
}

/// The part of the state that is not published.
pub(crate) struct Private {
    /// Beside the root's collections, in the same order.
    pub(crate) shelves: Vec<PrivateShelf>,
    /// Keys whose row is not live, by collection (also of collections no longer declared).
    pub(crate) tombs: HashMap<Arc<str>, DigestMap<Tomb>>,
    /// At least the highest version of the purged rows whose keys are forgotten.
    pub(crate) version_floor: u32,
    pub(crate) events: EventSchemas,
    pub(crate) budgets: BudgetCounters,
    /// The app's timezone: days of budgets begin at its midnight.
    pub(crate) zone: Zone,
    pub(crate) spent: Spent,
    pub(crate) answers: Answers,
}

/// Keys of purged rows that are remembered. What is beyond is folded into one number, as retention
/// does in storage: an app that purges all the time and never rests would carry them for ever.
pub(crate) const PURGED_MAX: u64 = 10_000;

impl Private {
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
pub(crate) struct PrivateShelf {
    pub(crate) schema: Option<Arc<CompiledSchema>>,
    /// For each unique field, in declared order: normal form to the key of the row that holds it.
    pub(crate) unique: Vec<DigestMap<Digest>>,
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

/// One step back.
pub(crate) enum Undo {
    Unique {
        shelf: usize,
        field: usize,
        form: Digest,
        before: Option<Digest>,
    },
    Tomb {
        collection: Arc<str>,
        key: Digest,
        before: Option<Tomb>,
    },
    Spent([u8; 32]),
    Answer([u8; 32]),
    Budget(Reservation),
    Rows(i64),
    /// The account that counted the app's rows before.
    Account(Arc<Account>),
    Shelves(Box<(Vec<PrivateShelf>, EventSchemas)>),
}

/// A point that an atomic operation can return to.
pub(crate) struct Mark {
    root: Root,
    open: super::group::OpenMark,
}

/// A row together with its data as a value, where the collection needs one to be looked into.
pub(crate) struct Sighted<'a> {
    pub(crate) row: Arc<Row>,
    pub(crate) value: Option<&'a Value>,
}

impl Working {
    /// The present, later than everything this app has been told before.
    pub(crate) fn stamp(&mut self, now: Timestamp) -> Timestamp {
        self.last_at = Timestamp(now.0.max(self.last_at.0 + 1));
        self.last_at
    }

    /// A point to return to.
    pub(crate) fn mark(&self) -> Mark {
        Mark { root: self.root.clone(), open: self.open.mark() }
    }

    /// Returns to `mark`, as if nothing had been decided since.
    pub(crate) fn return_to(&mut self, mark: Mark) {
        let steps = self.open.truncate(&mark.open);
        self.root = mark.root;
        self.undo(steps);
    }

    /// Takes the steps back, the latest first.
    pub(crate) fn undo(&mut self, steps: Vec<Undo>) {
        for step in steps.into_iter().rev() {
            match step {
                Undo::Unique { shelf, field, form, before } => {
                    let index = &mut self.private.shelves[shelf].unique[field];
                    match before {
                        Some(key) => index.insert(form, key),
                        None => index.remove(&form),
                    };
                }
                Undo::Tomb { collection, key, before } => {
                    let tombs = self.private.tombs.entry(collection).or_default();
                    match before {
                        Some(tomb) => tombs.insert(key, tomb),
                        None => tombs.remove(&key),
                    };
                }
                Undo::Spent(id) => {
                    self.private.spent.remove(&id);
                }
                Undo::Answer(scope) => self.private.answers.forget(&scope),
                Undo::Budget(spent) => self.private.budgets.give_back(&spent),
                Undo::Rows(delta) => self.counted.add(-delta),
                Undo::Account(before) => self.counted.move_back(before),
                Undo::Shelves(before) => {
                    (self.private.shelves, self.private.events) = *before;
                }
            }
        }
    }

    /// What is remembered of `key` when no live row stands there.
    pub(crate) fn tomb(&self, collection: &str, key: Digest) -> Option<Tomb> {
        self.private.tombs.get(collection)?.get(&key).copied()
    }

    /// The key digest of the live row that holds `form` in a unique field.
    pub(crate) fn holder(&self, shelf: usize, field: usize, form: &UniqueKey) -> Option<Digest> {
        self.private.shelves[shelf].unique[field].get(&Digest::of(form.as_str())).copied()
    }

    /// Makes `after` the live row at its key and emits `kind`. `before` is the live row that
    /// stood there, with its value where the collection has unique fields.
    #[expect(clippy::too_many_arguments, reason = "one place where a row comes to stand")]
    pub(crate) fn put(
        &mut self,
        shelf: usize,
        before: Option<&Sighted<'_>>,
        after: &Sighted<'_>,
        kind: EventType,
        by: Principal,
        at: Timestamp,
        silent: bool,
    ) {
        let collection = self.root.collections[shelf].decl.name.clone();
        let key = Digest::of(after.row.key());
        if let Some(before) = before {
            self.count_gone(&before.row);
            self.index(shelf, before, None);
        } else {
            self.drop_tomb(&collection, key);
        }
        self.count_live(&after.row);
        self.index(shelf, after, Some(key));
        self.root.collections[shelf].rows.put(after.row.clone());
        self.open.write_row(RowWrite {
            collection: collection.clone(),
            row: after.row.clone(),
            state: RowState::Live,
        });
        let previous_editor =
            before.map(|before| before.row.editor).filter(|previous| *previous != after.row.editor);
        let change = RowChange { collection, row: after.row.clone(), previous_editor };
        self.emit(kind, by, at, Some(change), None, silent);
    }

    /// Takes the live row `before` away: `left` is what is written in its place.
    pub(crate) fn take(
        &mut self,
        shelf: usize,
        before: &Sighted<'_>,
        left: Arc<Row>,
        state: RowState,
    ) {
        self.count_gone(&before.row);
        self.index(shelf, before, None);
        self.root.collections[shelf].rows.remove(before.row.key());
        let collection = self.root.collections[shelf].decl.name.clone();
        self.bury(&collection, left, state);
    }

    /// Counts a row that is live from now on.
    pub(crate) fn count_live(&mut self, row: &Row) {
        self.root.totals.live += 1;
        self.root.totals.bytes += row.stored_bytes();
    }

    /// Counts a row that is live no more.
    pub(crate) fn count_gone(&mut self, row: &Row) {
        self.root.totals.live -= 1;
        self.root.totals.bytes -= row.stored_bytes();
    }

    /// Remembers that no live row stands at the key of `left`, and writes so.
    pub(crate) fn bury(&mut self, collection: &Arc<str>, left: Arc<Row>, state: RowState) {
        let key = Digest::of(left.key());
        let Some(kind) = TombKind::of(state) else { return };
        let bytes = if kind == TombKind::Purged { 0 } else { left.stored_bytes() };
        match kind {
            TombKind::Trashed => self.count_trashed(collection, 1),
            TombKind::Detached => self.count_detached(collection, 1),
            TombKind::Purged => self.root.purged += 1,
            TombKind::Poison => {}
        }
        *self.bytes_of(kind) += bytes;
        let tomb = Tomb { version: left.version, kind, bytes: bytes as u32 };
        let before = self.private.tombs.entry(collection.clone()).or_default().insert(key, tomb);
        self.open.journal.push(Undo::Tomb { collection: collection.clone(), key, before });
        self.open.write_row(RowWrite { collection: collection.clone(), row: left, state });
    }

    /// Forgets what is remembered of a key, because a row comes to stand there or it is purged.
    pub(crate) fn drop_tomb(&mut self, collection: &Arc<str>, key: Digest) {
        let Some(tomb) = self.private.tombs.get_mut(collection).and_then(|t| t.remove(&key)) else {
            return;
        };
        match tomb.kind {
            TombKind::Trashed => self.count_trashed(collection, -1),
            TombKind::Detached => self.count_detached(collection, -1),
            TombKind::Poison => self.root.totals.live -= 1,
            TombKind::Purged => self.root.purged = self.root.purged.saturating_sub(1),
        }
        *self.bytes_of(tomb.kind) -= u64::from(tomb.bytes);
        self.open.journal.push(Undo::Tomb {
            collection: collection.clone(),
            key,
            before: Some(tomb),
        });
    }

    /// The sum that the bytes of such a row are in.
    const fn bytes_of(&mut self, kind: TombKind) -> &mut u64 {
        match kind {
            TombKind::Trashed => &mut self.root.totals.trashed_bytes,
            TombKind::Purged | TombKind::Detached | TombKind::Poison => &mut self.root.totals.bytes,
        }
    }

    fn count_trashed(&mut self, collection: &Arc<str>, delta: i64) {
        let totals = &mut self.root.totals;
        totals.trashed = totals.trashed.saturating_add_signed(delta);
        self.count_withheld(collection, |counts| {
            counts.trashed = counts.trashed.saturating_add_signed(delta);
        });
    }

    fn count_detached(&mut self, collection: &Arc<str>, delta: i64) {
        let totals = &mut self.root.totals;
        totals.detached = totals.detached.saturating_add_signed(delta);
        self.count_withheld(collection, |counts| {
            counts.detached = counts.detached.saturating_add_signed(delta);
        });
    }

    fn count_withheld(&mut self, collection: &Arc<str>, change: impl FnOnce(&mut Withheld)) {
        let all = Arc::make_mut(&mut self.root.withheld);
        let counts = all.entry(collection.clone()).or_default();
        change(counts);
        if *counts == Withheld::default() {
            all.remove(collection);
        }
    }

    /// Enters a row into its unique indexes (`holder` given) or takes it out of them.
    fn index(&mut self, shelf: usize, row: &Sighted<'_>, holder: Option<Digest>) {
        let decl = self.root.collections[shelf].decl.clone();
        let Some(value) = row.value else { return };
        for (field, name) in decl.unique.iter().enumerate() {
            let Some(form) = UniqueKey::of_field(value, name) else { continue };
            let form = Digest::of(form.as_str());
            let index = &mut self.private.shelves[shelf].unique[field];
            let before = match holder {
                Some(key) => index.insert(form, key),
                None => index.remove(&form),
            };
            self.open.journal.push(Undo::Unique { shelf, field, form, before });
        }
    }

    /// Writes the next event of the feed.
    pub(crate) fn emit(
        &mut self,
        kind: EventType,
        by: Principal,
        at: Timestamp,
        change: Option<RowChange>,
        data: Option<Box<str>>,
        silent: bool,
    ) -> Arc<Event> {
        self.root.seq += 1;
        let event = Arc::new(Event { seq: self.root.seq, kind, at, by, change, data, silent });
        self.root.tail.push(event.clone());
        self.open.write_event(event.clone());
        event
    }
}

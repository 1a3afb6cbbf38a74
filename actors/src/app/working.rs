//! An actor's working state: the root it will publish next, what it keeps for itself, and the
//! open group. Every change of what cannot be restored by taking an older root again is written
//! to a journal, so that an atomic batch and an aborted commit leave nothing behind.

use std::sync::Arc;

use rookery_domain::{
    Principal, Timestamp,
    budget::{BudgetCounters, Reservation},
    event::{Event, EventType, RowChange},
    row::Row,
    time::DAY_S,
};
use rookery_storage::commit::{RowState, RowWrite};

use super::{
    deploy::EventSchemas,
    group::Open,
    private::{Private, PrivateCollection, Tomb, TombKind},
    root::{Root, Withheld},
    rows::Digest,
    unique::Forms,
};
use crate::accounts::{Behind, CountedRows};

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
    /// The time that was given last: what follows comes after it.
    pub(crate) last_at: Timestamp,
    /// The latest time in the app's history, also when the clock was ahead then.
    pub(crate) latest: Timestamp,
}

/// One step back.
pub(crate) enum Undo {
    Unique {
        ix: usize,
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
    Response([u8; 32]),
    Budget(Reservation),
    /// The counters before the timezone changed: in a later day they begin anew.
    Budgets(Box<BudgetCounters>),
    /// Rows that were reserved, some of them in the place of others that were leaving.
    Rows {
        reserved: i64,
        replaced: i64,
    },
    /// Rows that go, once that is durable.
    Leaving(i64),
    /// The app's rows count for another account.
    Account,
    Collections(Box<(Vec<PrivateCollection>, EventSchemas)>),
}

/// A point that an atomic operation can return to.
pub(crate) struct Mark {
    root: Root,
    open: super::group::OpenMark,
}

/// What every event says beside what happened.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    /// Who did it.
    pub(crate) by: Principal,
    /// When; see [`Working::next_time`].
    pub(crate) at: Timestamp,
    /// Whether it fires no rule, because it was written in migration mode.
    pub(crate) silent: bool,
}

/// A row together with what it holds in the unique indexes.
pub(crate) struct Indexed {
    pub(crate) row: Arc<Row>,
    pub(crate) forms: Forms,
}

impl Working {
    /// The time of the next change: `now`, or just after the app's last change where the clock was set back
    /// a little meanwhile. Where it was set back further, times from before are taken for wrong, and `now`
    /// counts.
    pub(crate) fn next_time(&mut self, now: Timestamp) -> Timestamp {
        let follows = Timestamp(now.0.max(self.last_at.0 + 1));
        self.last_at = if self.last_at.is_ahead_of(now) { now } else { follows };
        self.latest = self.latest.max(self.last_at);
        self.last_at
    }

    /// Since when the app is in the trash that is given up `now`, and until when: `days` later. While
    /// the clock is slow this is the latest time that the app knows of, so that setting it right does
    /// not destroy anything.
    pub(crate) fn time_in_trash(&self, now: Timestamp, days: u32) -> (Timestamp, Timestamp) {
        let since = if self.latest.is_ahead_of(now) { self.latest } else { now };
        (since, since.plus_seconds(i64::from(days) * DAY_S))
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
                Undo::Unique { ix, field, form, before } => {
                    // Made before the step was, and not let go of while its collection is here.
                    let Some(indexes) = &mut self.private.collections[ix].unique else { continue };
                    let index = &mut indexes[field];
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
                Undo::Response(scope) => self.private.responses.forget(&scope),
                Undo::Budget(spent) => self.private.budgets.give_back(&spent),
                Undo::Budgets(before) => self.private.budgets = *before,
                Undo::Rows { reserved, replaced } => self.counted.take_back(reserved, replaced),
                Undo::Leaving(rows) => self.counted.leave(-rows),
                Undo::Account => self.counted.move_back(),
                Undo::Collections(before) => {
                    (self.private.collections, self.private.events) = *before;
                }
            }
        }
    }

    /// The group before the open one is durable: rows that left with it make room now.
    pub(crate) fn settle_rows(&self) {
        self.counted.settle(|| {
            let mut behind = Behind::default();
            for step in &self.open.journal {
                match step {
                    Undo::Leaving(rows) => behind.leaving += rows,
                    Undo::Account => behind.is_moving = true,
                    _ => {}
                }
            }
            behind
        });
    }

    /// What is remembered of `key` when no live row stands there.
    pub(crate) fn tomb(&self, collection: &str, key: Digest) -> Option<Tomb> {
        self.private.tombs.get(collection)?.get(&key).copied()
    }

    /// The key digest of the live row that holds `form` in a unique field.
    pub(crate) fn holder(&mut self, ix: usize, field: usize, form: Digest) -> Option<Digest> {
        let (app, rows) = (self.root.record.id, &self.root.collections[ix]);
        let indexes = self.private.collections[ix].unique_of(app, rows);
        indexes[field].get(&form).copied()
    }

    /// Makes `after` the live row at its key and emits `kind`. `before` is the live row that
    /// stood there.
    pub(crate) fn put(
        &mut self,
        ix: usize,
        before: Option<&Indexed>,
        after: &Indexed,
        kind: EventType,
        stamp: Stamp,
    ) {
        let collection = self.root.collections[ix].decl.name.clone();
        let key = Digest::of(after.row.key());
        if let Some(before) = before {
            self.count_gone(&before.row);
        } else {
            self.drop_tomb(&collection, key);
        }
        self.count_live(&after.row);
        let held = before.map(|before| &before.forms);
        self.index(ix, held, Some(&after.forms), key);
        self.root.collections[ix].rows.put(after.row.clone());
        self.open.write_row(RowWrite {
            collection: collection.clone(),
            row: after.row.clone(),
            state: RowState::Live,
        });
        let previous_editor =
            before.map(|before| before.row.editor).filter(|previous| *previous != after.row.editor);
        let change = RowChange { collection, row: after.row.clone(), previous_editor };
        self.emit_row(kind, stamp, change);
    }

    /// Takes the live row `before` away: `left` is what is written in its place.
    pub(crate) fn take(&mut self, ix: usize, before: &Indexed, left: Arc<Row>, state: RowState) {
        self.count_gone(&before.row);
        self.index(ix, Some(&before.forms), None, Digest::of(before.row.key()));
        self.root.collections[ix].rows.remove(before.row.key());
        let collection = self.root.collections[ix].decl.name.clone();
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
        // A row that cannot be read may have more bytes than it was counted with.
        let bytes = self.bytes_of(tomb.kind);
        *bytes = bytes.saturating_sub(u64::from(tomb.bytes));
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

    /// Brings the unique indexes from what the row at `key` held `before` to what it holds `after`.
    fn index(&mut self, ix: usize, before: Option<&Forms>, after: Option<&Forms>, key: Digest) {
        let (app, rows) = (self.root.record.id, &self.root.collections[ix]);
        let indexes = self.private.collections[ix].unique_of(app, rows);
        for (field, index) in indexes.iter_mut().enumerate() {
            let left = before.and_then(|forms| forms.of_field(field));
            let taken = after.and_then(|forms| forms.of_field(field));
            if left == taken {
                continue;
            }
            // One that was set aside as unreadable, and is read again, may share a value with another.
            if let Some(form) = left.filter(|form| index.get(form) == Some(&key)) {
                let before = index.remove(&form);
                self.open.journal.push(Undo::Unique { ix, field, form, before });
            }
            if let Some(form) = taken {
                let before = index.insert(form, key);
                self.open.journal.push(Undo::Unique { ix, field, form, before });
            }
        }
    }

    /// Writes the next event of the feed: one about a row.
    pub(crate) fn emit_row(&mut self, kind: EventType, stamp: Stamp, change: RowChange) {
        self.push_event(kind, stamp, Some(change), None);
    }

    /// Writes the next event of the feed: one about the app, or of the app's own making.
    pub(crate) fn emit(
        &mut self,
        kind: EventType,
        stamp: Stamp,
        data: Option<Box<str>>,
    ) -> Arc<Event> {
        self.push_event(kind, stamp, None, data)
    }

    fn push_event(
        &mut self,
        kind: EventType,
        stamp: Stamp,
        change: Option<RowChange>,
        data: Option<Box<str>>,
    ) -> Arc<Event> {
        self.root.seq += 1;
        let Stamp { by, at, silent } = stamp;
        let event = Arc::new(Event { seq: self.root.seq, kind, at, by, change, data, silent });
        self.root.tail.push(event.clone());
        self.open.write_event(event.clone());
        event
    }
}

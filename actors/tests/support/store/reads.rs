//! What the store in memory is read for: an app as it wakes, and rows that are not live.

use std::{cmp::Reverse, sync::Arc};

use rookery_actors::app::read::SeenRow;
use rookery_domain::{
    Principal,
    id::AppId,
    row::{Row, RowText},
};
use rookery_storage::{
    commit::RowState,
    load::{LoadedApp, LoadedRows, Tombstone},
    trash::{TrashCursor, TrashPage, TrashedRow},
};
use tokio::sync::Semaphore;

use super::{App, FakeStore, State};

impl FakeStore {
    /// Rows of `entries` that were purged at this version: `k0`, `k1` and so on.
    pub(crate) fn purged(&self, app: AppId, count: usize, version: u32, by: Principal) {
        let mut state = self.lock();
        let Some(app) = state.apps.get_mut(&app) else { return };
        let at = app.record.created_at;
        for n in 0..count {
            let key: Box<str> = format!("k{n}").into();
            let (creator, editor) = (by, by);
            let (created_at, updated_at) = (at, at);
            let text = RowText::new(&key, "");
            let row = Row { text, version, creator, editor, created_at, updated_at };
            app.rows.insert(("entries".into(), key), (Arc::new(row), RowState::Purged(at)));
        }
    }

    /// From now on each read of a trash waits for a permit of the answer.
    pub(crate) fn gate_trash(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.lock().trash_gate = Some(gate.clone());
        gate
    }

    /// From now on each read of detached rows waits for a permit of the answer.
    pub(crate) fn gate_detached(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        let mut state = self.lock();
        (state.detached_gate, state.detached_reads) = (Some(gate.clone()), 0);
        gate
    }

    /// Reads of detached rows that were begun since.
    pub(crate) fn detached_reads(&self) -> u64 {
        self.lock().detached_reads
    }

    /// Reads of a trash that were begun so far.
    pub(crate) fn trash_reads(&self) -> u64 {
        self.lock().trash_reads
    }
}

impl State {
    pub(super) fn trash(
        &self,
        app: AppId,
        collection: &str,
        after: Option<&TrashCursor>,
        limit: usize,
    ) -> TrashPage {
        let Some(app) = self.apps.get(&app) else {
            return TrashPage { rows: Vec::new(), next: None, seq: 0 };
        };
        let mut rows: Vec<TrashedRow> = app
            .rows
            .iter()
            .filter(|((of, _), _)| **of == *collection)
            .filter_map(|(_, (row, state))| match state {
                RowState::Trashed(at) => Some(TrashedRow { row: Row::clone(row), deleted_at: *at }),
                _ => None,
            })
            .filter(|row| after.is_none_or(|after| row.deleted_at < after.deleted_at))
            .collect();
        rows.sort_by_key(|row| Reverse(row.deleted_at));
        let is_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows
            .last()
            .filter(|_| is_more)
            .map(|last| TrashCursor { deleted_at: last.deleted_at, key: last.row.key().into() });
        TrashPage { rows, next, seq: app.head.last_seq }
    }
}

pub(super) fn trashed(row: &Arc<Row>, state: RowState) -> Option<SeenRow> {
    match state {
        RowState::Trashed(at) => Some(SeenRow { row: row.clone(), deleted_at: Some(at) }),
        _ => None,
    }
}

pub(super) fn load(app: &App) -> LoadedApp {
    let mut loaded = LoadedApp {
        record: app.record.clone(),
        head: app.head,
        manifest: app.manifest.clone(),
        rows: Vec::new(),
        tombstones: Vec::new(),
        poison: Vec::new(),
        budgets: Vec::new(),
        spent_challenges: Vec::new(),
        access: Default::default(),
        tail: app.events.iter().rev().take(128).rev().cloned().collect(),
    };
    for ((collection, key), (row, state)) in &app.rows {
        let collection = collection.clone();
        if *state == RowState::Live {
            let known = loaded.rows.last_mut().filter(|last| last.collection == collection);
            match known {
                Some(last) => last.rows.push(row.clone()),
                None => loaded.rows.push(LoadedRows { collection, rows: vec![row.clone()] }),
            }
        } else {
            let bytes = match state {
                RowState::Purged(_) => 0,
                _ => row.stored_bytes(),
            };
            let (key, version, state) = (key.clone(), row.version, *state);
            loaded.tombstones.push(Tombstone { collection, key, version, state, bytes });
        }
    }
    for LoadedRows { rows, .. } in &mut loaded.rows {
        rows.sort_by_key(|row| (row.created_at, Box::<str>::from(row.key())));
    }
    loaded
}

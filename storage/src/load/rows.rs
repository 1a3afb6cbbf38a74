//! The rows of a load: the queries, and what their columns become, for either database.

use std::sync::Arc;

use rookery_domain::row::Row;

use super::{LoadedRows, PoisonRow, Tombstone};
use crate::{
    codec,
    columns::{Read, ReadColumns},
    commit::RowState,
};

/// Rows that there is room for before they come.
const RESERVED_MAX: usize = 100_000;

/// Columns of `rows` as [`ReadRows::row`] takes them: those of a row with the data of a live one, and
/// in its place the size of another; then where that stands.
macro_rules! loaded_columns {
    () => {
        "key, version, case when state = 0 then data else \
         cast(coalesce(octet_length(key) + octet_length(data), 0) as text) end, \
         creator, editor, created_at, updated_at, collection, state, state_at"
    };
}

/// All rows. `$1` the app.
pub(super) const ALL: &str =
    concat!("select ", loaded_columns!(), " from rows where app_id = $1 order by collection, key");

/// The address before which so many others are. `$1` the app, `$2` how many.
pub(super) const MIDDLE: &str = "select collection, key from rows where app_id = $1 \
     order by collection, key limit 1 offset $2";

/// The rows before an address. `$1` the app, `$2` the collection, `$3` the key.
pub(super) const BEFORE: &str = concat!(
    "select ",
    loaded_columns!(),
    " from rows where app_id = $1 and (collection, key) < ($2, $3) order by collection, key"
);

/// The rows from an address on. `$1` the app, `$2` the collection, `$3` the key.
pub(super) const SINCE: &str = concat!(
    "select ",
    loaded_columns!(),
    " from rows where app_id = $1 and (collection, key) >= ($2, $3) order by collection, key"
);

/// Rows that have been read so far, in the order of collection and key.
#[derive(Debug)]
pub(super) struct ReadRows {
    /// How many there may be: a hint only, as a damaged count must not ask for all memory.
    expected: usize,
    /// The collection of the row before.
    collection: Arc<str>,
    live: Vec<LoadedRows>,
    /// Whether each collection's stand as they are listed.
    is_sorted: bool,
    tombstones: Vec<Tombstone>,
    poison: Vec<PoisonRow>,
}

impl ReadRows {
    /// None yet, of which so many may be live.
    pub(super) fn new(expected: u64) -> Self {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(RESERVED_MAX);
        Self {
            expected,
            collection: Arc::from(""),
            live: Vec::new(),
            is_sorted: true,
            tombstones: Vec::new(),
            poison: Vec::new(),
        }
    }

    /// The next row, or what is known of one that cannot be read.
    pub(super) fn row(&mut self, columns: &impl ReadColumns) {
        if let Err(reason) = self.read(columns) {
            let text = |at| columns.text_opt(at).ok().flatten().unwrap_or_default();
            let bytes = match columns.int(8) {
                Ok(0) => (text(0).len() + text(2).len()) as u64,
                _ => text(2).parse().unwrap_or_default(),
            };
            let poison = PoisonRow {
                collection: text(7).to_owned(),
                key: text(0).to_owned(),
                version: columns.get(1).unwrap_or_default(),
                bytes,
                reason,
            };
            self.poison.push(poison);
        }
    }

    fn read(&mut self, columns: &impl ReadColumns) -> Read<()> {
        let collection = columns.text(7)?;
        if *self.collection != *collection {
            self.collection = Arc::from(collection);
        }
        let state =
            RowState::from_code(columns.int(8)?, columns.get(9)?).ok_or("an unknown state")?;
        let collection = Arc::clone(&self.collection);
        if state == RowState::Live {
            let row = Arc::new(codec::shown_row(columns, 0)?);
            let before = self.of(collection);
            let is_behind = before.last().is_none_or(|last| last.place() < row.place());
            before.push(row);
            self.is_sorted &= is_behind;
        } else {
            let (key, version) = (columns.get(0)?, columns.get(1)?);
            let bytes = columns.text(2)?.parse().map_err(|_| "a size that is no number")?;
            self.tombstones.push(Tombstone { collection, key, version, state, bytes });
        }
        Ok(())
    }

    /// The live rows of a collection. They come one after another.
    fn of(&mut self, collection: Arc<str>) -> &mut Vec<Arc<Row>> {
        let known = &mut self.live;
        if known.last().is_none_or(|last| last.collection != collection) {
            // As if all that are left were of this one.
            let came: usize = known.iter().map(|before| before.rows.len()).sum();
            let rows = Vec::with_capacity(self.expected.saturating_sub(came));
            known.push(LoadedRows { collection, rows });
        }
        let last = known.len() - 1;
        &mut known[last].rows
    }

    /// The rows behind these, which somebody else has read.
    pub(super) fn append(&mut self, behind: Self) {
        self.is_sorted &= behind.is_sorted;
        for LoadedRows { collection, rows } in behind.live {
            let before = self.of(collection);
            let ends = before.last().zip(rows.first());
            let is_behind = ends.is_none_or(|(last, first)| last.place() < first.place());
            before.extend(rows);
            self.is_sorted &= is_behind;
        }
        self.tombstones.extend(behind.tombstones);
        self.poison.extend(behind.poison);
    }

    /// Puts live rows into the order in which they are listed.
    pub(super) fn sort(&mut self) {
        if !self.is_sorted {
            for of_collection in &mut self.live {
                of_collection.rows.sort_by(|a, b| a.place().cmp(&b.place()));
            }
            self.is_sorted = true;
        }
    }

    /// Live rows as they are listed, those that are not served, and those that cannot be read.
    pub(super) fn into_parts(mut self) -> (Vec<LoadedRows>, Vec<Tombstone>, Vec<PoisonRow>) {
        self.sort();
        (self.live, self.tombstones, self.poison)
    }
}

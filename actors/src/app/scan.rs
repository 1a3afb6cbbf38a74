//! One walk over a collection for one page of a list: which rows, in which order.
//!
//! What is not here: who may ask, cursors as clients hold them, and the text of the page.

use std::{cmp::Ordering, sync::Arc};

use rookery_domain::{
    Timestamp,
    access::{Authorship, RowScope},
    query::{RowQuery, SortKey},
    row::Row,
};

use super::{read::SeenRow, root::Shelf};

/// Rows above which a scan leaves the request's own thread.
const INLINE_SCAN_ROWS_MAX: usize = 2_000;
/// Bytes of the app's rows above which it does.
const INLINE_SCAN_BYTES_MAX: u64 = 256 << 10;

/// One walk over a collection.
pub(super) struct Scan {
    pub(super) shelf: Shelf,
    /// Of all rows of the app.
    pub(super) bytes: u64,
    pub(super) trash: Vec<SeenRow>,
    pub(super) scope: RowScope,
    pub(super) query: RowQuery,
    pub(super) after: Option<SortKey>,
    pub(super) limit: usize,
}

impl Scan {
    /// Whether it may take long.
    pub(super) fn is_long(&self) -> bool {
        let whole = self.query.has_filter()
            || self.query.creation_order().is_none()
            || self.scope != RowScope::All
            || !self.trash.is_empty();
        let rows = self.shelf.rows.len() + self.trash.len();
        whole && (rows > INLINE_SCAN_ROWS_MAX || self.bytes > INLINE_SCAN_BYTES_MAX)
    }

    /// The rows of the page, and whether there are more behind it.
    pub(super) fn run(self) -> (Vec<SeenRow>, bool) {
        match self.query.creation_order() {
            Some(newest_first) if self.trash.is_empty() => self.in_creation_order(newest_first),
            _ => self.sorted(),
        }
    }

    fn in_creation_order(&self, newest_first: bool) -> (Vec<SeenRow>, bool) {
        let rows = &self.shelf.rows;
        let after =
            self.after.as_ref().and_then(|after| Some((after.first_integer()?, after.key())));
        match (newest_first, after) {
            (false, None) => self.take(rows.iter()),
            (false, Some((at, key))) => self.take(rows.after((Timestamp(at), key))),
            (true, None) => self.take(rows.newest_first()),
            (true, Some((at, key))) => self.take(rows.newest_first_after((Timestamp(at), key))),
        }
    }

    fn take<'a>(&self, rows: impl Iterator<Item = &'a Arc<Row>>) -> (Vec<SeenRow>, bool) {
        let mut matching = rows
            .filter(|row| self.scope.admits(Authorship::from(&***row)) && self.query.matches(row));
        let page: Vec<_> = matching
            .by_ref()
            .take(self.limit)
            .map(|row| SeenRow { row: row.clone(), deleted_at: None })
            .collect();
        let more = page.len() == self.limit && matching.next().is_some();
        (page, more)
    }

    fn sorted(self) -> (Vec<SeenRow>, bool) {
        let live = self
            .shelf
            .rows
            .iter()
            .filter(|row| self.scope.admits(Authorship::from(&***row)))
            .map(|row| SeenRow { row: row.clone(), deleted_at: None });
        let mut places: Vec<(SortKey, SeenRow)> = live
            .chain(self.trash)
            .filter_map(|seen| Some((self.query.place(&seen.row)?, seen)))
            .filter(|(place, _)| {
                let behind = |after| self.query.compare(place, after) == Ordering::Greater;
                self.after.as_ref().is_none_or(behind)
            })
            .collect();
        let more = places.len() > self.limit;
        if more {
            places.select_nth_unstable_by(self.limit, |a, b| self.query.compare(&a.0, &b.0));
            places.truncate(self.limit);
        }
        places.sort_unstable_by(|a, b| self.query.compare(&a.0, &b.0));
        (places.into_iter().map(|(_, seen)| seen).collect(), more)
    }
}

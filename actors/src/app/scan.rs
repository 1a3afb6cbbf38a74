//! One walk over a collection for one page of a list: which rows, in which order.
//!
//! What is not here: who may ask, cursors as clients hold them, and the text of the page.

use std::{cmp::Ordering, sync::Arc};

use rookery_domain::{
    Result, Timestamp,
    access::{Authorship, RowScope},
    query::{PAGE_BYTES_MAX, RowQuery, SortKey},
    row::Row,
};

use super::{aside::Limit, read::SeenRow, root::CollectionState};

/// Rows above which a scan leaves the request's own thread.
pub(super) const INLINE_SCAN_ROWS_MAX: usize = 2_000;
/// Bytes of the app's rows above which a scan leaves the request's own thread.
const INLINE_SCAN_BYTES_MAX: u64 = 256 << 10;
/// Bytes to be compared, those of the app's rows times the tests and values of the filter, above which a
/// scan leaves the request's own thread.
const INLINE_SCAN_READ_BYTES_MAX: u64 = 1 << 20;

/// One walk over a collection.
pub(super) struct Scan {
    pub(super) collection: CollectionState,
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
        let rows = self.collection.rows.len() + self.trash.len();
        let read = self.bytes.saturating_mul(self.query.filter_nodes() as u64);
        let many = rows > INLINE_SCAN_ROWS_MAX
            || self.bytes > INLINE_SCAN_BYTES_MAX
            || read > INLINE_SCAN_READ_BYTES_MAX;
        whole && many
    }

    /// The rows of the page, and whether there are more behind it.
    ///
    /// # Errors
    /// `unavailable` when it takes too long.
    pub(super) fn run(self) -> Result<(Vec<SeenRow>, bool)> {
        match self.query.creation_order() {
            Some(newest_first) if self.trash.is_empty() => self.in_creation_order(newest_first),
            _ => self.sorted(),
        }
    }

    fn in_creation_order(&self, newest_first: bool) -> Result<(Vec<SeenRow>, bool)> {
        let rows = &self.collection.rows;
        let after =
            self.after.as_ref().and_then(|after| Some((after.first_integer()?, after.key())));
        match (newest_first, after) {
            (false, None) => self.take(rows.iter()),
            (false, Some((at, key))) => self.take(rows.after((Timestamp(at), key))),
            (true, None) => self.take(rows.newest_first()),
            (true, Some((at, key))) => self.take(rows.newest_first_after((Timestamp(at), key))),
        }
    }

    fn take<'a>(&self, rows: impl Iterator<Item = &'a Arc<Row>>) -> Result<(Vec<SeenRow>, bool)> {
        let time = self.time();
        let mut page = Vec::with_capacity(self.limit.min(self.collection.rows.len()));
        let mut bytes = 0;
        for row in rows.filter(|row| self.admits(row)) {
            if let Some(time) = time {
                time.check()?;
            }
            if !self.query.matches(row) {
                continue;
            }
            if page.len() == self.limit || bytes >= PAGE_BYTES_MAX {
                return Ok((page, true));
            }
            bytes += row.data().len();
            page.push(SeenRow { row: row.clone(), deleted_at: None });
        }
        Ok((page, false))
    }

    fn sorted(self) -> Result<(Vec<SeenRow>, bool)> {
        let time = self.time();
        let live = self.collection.rows.iter().filter(|row| self.admits(row));
        let live = live.map(|row| SeenRow { row: row.clone(), deleted_at: None });
        let mut places: Vec<(SortKey, SeenRow)> = Vec::new();
        for seen in live.chain(self.trash.iter().cloned()) {
            if let Some(time) = time {
                time.check()?;
            }
            let Some(place) = self.query.place(&seen.row) else { continue };
            let behind = |after| self.query.compare(&place, after) == Ordering::Greater;
            if self.after.as_ref().is_none_or(behind) {
                places.push((place, seen));
            }
        }
        let all = places.len();
        if all > self.limit {
            places.select_nth_unstable_by(self.limit, |a, b| self.query.compare(&a.0, &b.0));
            places.truncate(self.limit);
        }
        places.sort_unstable_by(|a, b| self.query.compare(&a.0, &b.0));
        let mut bytes = 0;
        let is_behind_end = |(_, seen): &(SortKey, SeenRow)| {
            let ends = bytes >= PAGE_BYTES_MAX;
            bytes += seen.row.data().len();
            ends
        };
        if let Some(end) = places.iter().position(is_behind_end) {
            places.truncate(end);
        }
        let more = places.len() < all;
        Ok((places.into_iter().map(|(_, seen)| seen).collect(), more))
    }

    /// How long it may take, if it may take long: a short one need not look at the clock.
    fn time(&self) -> Option<Limit> {
        self.is_long().then(Limit::of_scan)
    }

    fn admits(&self, row: &Row) -> bool {
        self.scope.admits(Authorship::from(row))
    }
}

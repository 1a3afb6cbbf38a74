//! What the workers ask for: pruning by retention, and emptying the trash.

use std::sync::Arc;

use rookery_domain::{manifest::Retention, retention, row::Row, time::STEP_BACK_S};
use rookery_storage::trash::{DuePlace, DueRow, TRASH_PAGE_MAX};

use super::Decision;
use crate::app::{private::TombKind, rows::Digest};

/// Rows that one sweep takes; the next one goes on. As many as a page of the trash has: what is beyond
/// would not come again before the next tour.
pub(crate) const SWEEP_ROWS_MAX: usize = TRASH_PAGE_MAX as usize;

impl Decision<'_> {
    /// Moves rows beyond their collection's bounds to the trash, the oldest first.
    pub(super) fn prune(&mut self) -> u64 {
        let mut pruned = 0;
        for ix in 0..self.working.root.collections.len() {
            let due = self.due(ix, SWEEP_ROWS_MAX - pruned);
            for row in &due {
                self.trash(ix, row);
            }
            pruned += due.len();
        }
        pruned as u64
    }

    /// At most `most` rows beyond the bounds, the oldest first. Where rows are too many, those with a
    /// creation in the future come before others: the clock was ahead when they were made, and what
    /// was made since is newer than they are.
    fn due(&self, ix: usize, most: usize) -> Vec<Arc<Row>> {
        let collection = &self.working.root.collections[ix];
        let (rows, now) = (&collection.rows, self.now);
        let bounds = retention::in_force(&collection.decl, &self.working.root.record.retention);
        let beyond = |bounds| {
            let created = rows.iter().map(|row| row.created_at);
            retention::rows_due(bounds, now, rows.len() as u64, created) as usize
        };
        let too_old = beyond(Retention { max_rows: None, ..bounds });
        let ahead = rows.later_than(now.plus_seconds(STEP_BACK_S));
        let oldest_first = rows.iter().take(too_old).chain(ahead).chain(rows.iter().skip(too_old));
        oldest_first.take(beyond(bounds).min(most)).cloned().collect()
    }

    /// Purges rows that have been in the trash long enough, where they still are.
    /// The collection need not be declared any more.
    pub(super) fn purge_trash(&mut self, rows: &[DueRow]) -> u64 {
        let mut purged = 0;
        for DueRow { place: DuePlace { collection, key, .. }, version } in
            rows.iter().take(SWEEP_ROWS_MAX)
        {
            let Some(tomb) = self.working.tomb(collection, Digest::of(key)) else { continue };
            if tomb.kind == TombKind::Trashed && tomb.version == *version {
                self.purge_tomb(&Arc::from(&**collection), key, tomb);
                purged += 1;
            }
        }
        purged
    }

    /// Purges rows that have been in the trash longest, in that order, while there is more in it
    /// than it has room for.
    pub(super) fn trim_trash(&mut self, oldest: &[DueRow]) -> u64 {
        let mut purged = 0;
        for row in oldest.iter().take(SWEEP_ROWS_MAX) {
            let (totals, limits) = (self.working.root.totals, &self.env.limits);
            if totals.trashed <= limits.trash_rows_max()
                && totals.trashed_bytes <= limits.trash_bytes_max()
            {
                break;
            }
            purged += self.purge_trash(std::slice::from_ref(row));
        }
        purged
    }
}

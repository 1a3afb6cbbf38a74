//! What the workers ask for: pruning by retention, and emptying the trash.

use std::sync::Arc;

use rookery_domain::{retention, row::Row};
use rookery_storage::trash::DueRow;

use super::Decision;
use crate::app::{private::TombKind, rows::Digest};

/// Rows that one sweep takes; the next one goes on.
pub(crate) const SWEEP_ROWS_MAX: usize = 500;

impl Decision<'_> {
    /// Moves rows beyond their collection's bounds to the trash, the oldest first.
    pub(super) fn prune(&mut self) -> u64 {
        let mut pruned = 0;
        for shelf in 0..self.working.root.collections.len() {
            for row in self.due(shelf).iter().take(SWEEP_ROWS_MAX - pruned) {
                self.trash(shelf, row);
                pruned += 1;
            }
        }
        pruned as u64
    }

    fn due(&self, shelf: usize) -> Vec<Arc<Row>> {
        let shelf = &self.working.root.collections[shelf];
        let bounds = retention::in_force(&shelf.decl, &self.working.root.record.retention);
        let created = shelf.rows.iter().map(|row| row.created_at);
        let impact = retention::prune_impact(bounds, self.now, shelf.rows.len() as u64, created);
        shelf.rows.iter().take(impact.rows as usize).cloned().collect()
    }

    /// Purges rows that have been in the trash long enough, where they still are.
    /// The collection need not be declared any more.
    pub(super) fn purge_trash(&mut self, rows: &[DueRow]) -> u64 {
        let mut purged = 0;
        for DueRow { collection, row, .. } in rows.iter().take(SWEEP_ROWS_MAX) {
            let Some(tomb) = self.working.tomb(collection, Digest::of(row.key())) else { continue };
            if tomb.kind == TombKind::Trashed && tomb.version == row.version {
                self.purge_tomb(&Arc::from(&**collection), row.key(), tomb);
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

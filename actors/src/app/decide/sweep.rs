//! What the workers ask for: pruning by retention, and emptying the trash.

use std::sync::Arc;

use rookery_domain::{retention, row::Row};

use super::Decision;
use crate::app::{rows::Digest, working::TombKind};

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
        let owner = self.working.root.record.retention.get(&*shelf.decl.name).copied();
        let bounds = retention::effective(shelf.decl.retention, owner.unwrap_or_default());
        let created = shelf.rows.iter().map(|row| row.created_at);
        let impact = retention::prune_impact(bounds, self.now, shelf.rows.len() as u64, created);
        shelf.rows.iter().take(impact.rows as usize).cloned().collect()
    }

    /// Purges rows that have been in the trash long enough, where they still are.
    /// The collection need not be declared any more.
    pub(super) fn purge_trash(&mut self, rows: &[(Box<str>, Box<str>, u32)]) -> u64 {
        let mut purged = 0;
        for (collection, key, version) in rows.iter().take(SWEEP_ROWS_MAX) {
            let Some(tomb) = self.working.tomb(collection, Digest::of(key)) else { continue };
            if tomb.kind == TombKind::Trashed && tomb.version == *version {
                self.purge_tomb(&Arc::from(&**collection), key, tomb);
                purged += 1;
            }
        }
        purged
    }
}

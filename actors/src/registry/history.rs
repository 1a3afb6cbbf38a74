//! What is kept of an app beside its rows, as far as the registry knows it between two looks of
//! retention. What is deleted, and when, is the retention worker's.

use std::sync::atomic::{AtomicU64, Ordering};

/// The history of one app: its events, and the responses stored for idempotency keys.
#[derive(Default)]
pub(crate) struct History {
    floor: AtomicU64,
    /// About how many bytes were added since [`Self::take_added`] was last true.
    added_bytes: AtomicU64,
}

impl History {
    /// Events up to this number are no longer kept.
    pub(crate) fn floor(&self) -> u64 {
        self.floor.load(Ordering::Acquire)
    }

    /// Notes that events up to `seq` are no longer kept.
    pub(crate) fn raise_floor(&self, seq: u64) {
        self.floor.fetch_max(seq, Ordering::AcqRel);
    }

    /// Counts what a commit added.
    pub(crate) fn add(&self, bytes: u64) {
        self.added_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether more than this many bytes were added since this was last true.
    pub(crate) fn take_added(&self, more_than: u64) -> bool {
        let added = self.added_bytes.load(Ordering::Relaxed);
        let is_more = added > more_than;
        if is_more {
            // Not to zero: what is added meanwhile counts next time.
            self.added_bytes.fetch_sub(added, Ordering::Relaxed);
        }
        is_more
    }
}

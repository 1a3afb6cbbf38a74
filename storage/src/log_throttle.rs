//! So many lines of a kind in the log each second, whatever happens; the next one tells how many were
//! left out. What is not here: the lines.
//!
//! It lives here because a full disk makes every commit write one, and the rooms above use it too.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// A bound on the lines of one kind.
#[derive(Debug)]
pub struct LogThrottle {
    start: Instant,
    per_second_max: u32,
    second: AtomicU64,
    written: AtomicU32,
    skipped: AtomicU64,
}

impl Default for LogThrottle {
    /// One a second.
    fn default() -> Self {
        Self::new(1)
    }
}

impl LogThrottle {
    /// At most so many in a second.
    #[must_use]
    pub fn new(per_second_max: u32) -> Self {
        Self {
            start: Instant::now(),
            per_second_max,
            second: AtomicU64::new(0),
            written: AtomicU32::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    /// Takes the room for a line in the second of `now`; false when there is none.
    pub fn has_room(&self, now: Instant) -> bool {
        let second = now.saturating_duration_since(self.start).as_secs();
        // Read before writing: nearly every line finds the second unchanged.
        if self.second.load(Relaxed) != second && self.second.swap(second, Relaxed) != second {
            self.written.store(0, Relaxed);
        }
        self.written.fetch_add(1, Relaxed) < self.per_second_max
    }

    /// Takes the room for a line now, if there is any: how many have been left out before it, where any
    /// were.
    pub fn take(&self) -> Option<Option<u64>> {
        if !self.has_room(Instant::now()) {
            self.skipped.fetch_add(1, Relaxed);
            return None;
        }
        let skipped = self.skipped.swap(0, Relaxed);
        Some((skipped > 0).then_some(skipped))
    }
}

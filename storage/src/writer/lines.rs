//! One line of a kind in the log each second: what a full disk makes every commit end with.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// The lines of one kind.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    at: Option<Instant>,
    skipped: u64,
}

impl Lines {
    /// Whether there is room for another line; it tells how many have been left out before it, where
    /// any were.
    pub(super) fn take(&self) -> Option<Option<u64>> {
        let mut last = self.0.lock();
        if last.at.is_some_and(|at| at.elapsed() < PAUSE) {
            last.skipped += 1;
            return None;
        }
        let skipped = std::mem::take(&mut last.skipped);
        last.at = Some(Instant::now());
        Some((skipped > 0).then_some(skipped))
    }
}

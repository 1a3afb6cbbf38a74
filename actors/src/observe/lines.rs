//! So many lines of a kind in the log each second, whatever happens. What is not here: the lines.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

/// The lines of the present second.
#[derive(Debug, Default)]
pub struct Lines {
    second: AtomicU64,
    written: AtomicU32,
}

impl Lines {
    /// Takes one of at most `most` in the second of `uptime`; false when there is none.
    pub fn take(&self, uptime: Duration, most: u32) -> bool {
        let second = uptime.as_secs();
        // Read before writing: nearly every line finds the second unchanged.
        if self.second.load(Ordering::Relaxed) != second
            && self.second.swap(second, Ordering::Relaxed) != second
        {
            self.written.store(0, Ordering::Relaxed);
        }
        self.written.fetch_add(1, Ordering::Relaxed) < most
    }
}

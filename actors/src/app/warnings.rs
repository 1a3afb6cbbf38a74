//! Warnings of what a failing database makes every commit of every app end with: so many a second, and
//! the next line tells how many were left out.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::observe::lines::Lines;

/// Lines in a second, of all apps together.
const LINES_MAX: u32 = 10;

/// Those of all apps.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    lines: Lines,
    skipped: AtomicU32,
}

impl Warnings {
    /// Whether there is room for another line; it tells how many have been left out before it, where
    /// any were.
    pub(super) fn take(&self, uptime: Duration) -> Option<Option<u32>> {
        if !self.lines.take(uptime, LINES_MAX) {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let skipped = self.skipped.swap(0, Ordering::Relaxed);
        Some((skipped > 0).then_some(skipped))
    }
}

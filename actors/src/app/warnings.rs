//! Warnings of what a failing database makes every commit of every app end with: so many a second, and
//! the next line tells how many were left out.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Lines in a second, of all apps together.
const LINES_MAX: u32 = 10;

static WARNINGS: Mutex<Warnings> = Mutex::new(Warnings { since: None, written: 0, skipped: 0 });

struct Warnings {
    /// When the present second began.
    since: Option<Instant>,
    written: u32,
    skipped: u64,
}

/// Whether there is room for another line; it tells how many have been left out before it, where
/// any were.
pub(super) fn take(now: Instant) -> Option<Option<u64>> {
    let mut warnings = WARNINGS.lock();
    if warnings.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
        warnings.since = Some(now);
        warnings.written = 0;
    }
    if warnings.written == LINES_MAX {
        warnings.skipped += 1;
        return None;
    }
    warnings.written += 1;
    let skipped = std::mem::take(&mut warnings.skipped);
    Some((skipped > 0).then_some(skipped))
}

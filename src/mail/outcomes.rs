//! How many mails left, and how many did not: what operators see of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of mails that an SMTP server took, or that were given up.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    sent: AtomicU64,
    failed: AtomicU64,
    failed_in_a_row: AtomicU64,
}

/// What they are now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mails {
    /// Taken by the server.
    pub sent: u64,
    /// Given up: after all tries, or as none that could be sent.
    pub failed: u64,
    /// Given up since one was taken.
    pub failed_in_a_row: u64,
}

impl Outcomes {
    /// Counts a mail that the server has taken.
    pub(super) fn sent(&self) {
        self.sent.fetch_add(1, Relaxed);
        self.failed_in_a_row.store(0, Relaxed);
    }

    /// Counts a mail that was given up.
    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
        self.failed_in_a_row.fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self) -> Mails {
        Mails {
            sent: self.sent.load(Relaxed),
            failed: self.failed.load(Relaxed),
            failed_in_a_row: self.failed_in_a_row.load(Relaxed),
        }
    }
}

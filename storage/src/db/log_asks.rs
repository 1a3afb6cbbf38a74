//! Asking for SQLite's log to be moved into the file, for those who commit beside the writer's lane. Without
//! them a log that large transactions filled would be moved by the next of them, under the write lock.

use std::{
    fs,
    path::Path,
    sync::mpsc::SyncSender,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// A log whose file is no longer is not worth a look.
const LOG_BYTES_MIN: u64 = 4 << 20;

/// Commits between two runs: each one that finds something syncs two files.
const ASK_EVERY_COMMITS: u32 = 16;

/// Time between two runs, however few the commits: one of them may be as large as all others.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Where to ask, while a lane works.
#[derive(Debug, Default)]
pub(crate) struct LogAsks(Mutex<Asks>);

#[derive(Debug, Default)]
struct Asks {
    whom: Option<SyncSender<()>>,
    last: Option<Instant>,
    /// Commits since then.
    commits: u32,
}

impl LogAsks {
    /// `whom` to ask, until what this gives is dropped.
    pub(crate) fn connect(&self, whom: SyncSender<()>) -> Connected<'_> {
        self.0.lock().whom = Some(whom);
        Connected(self)
    }

    /// To be called after a commit.
    pub(super) fn committed(&self, log: &Path) {
        if fs::metadata(log).is_ok_and(|log| log.len() >= LOG_BYTES_MIN) {
            self.0.lock().committed(Instant::now());
        }
    }
}

impl Asks {
    fn committed(&mut self, now: Instant) {
        self.commits += 1;
        let is_due = self.commits >= ASK_EVERY_COMMITS
            || self.last.is_none_or(|last| now.duration_since(last) >= ASK_EVERY);
        if is_due && let Some(whom) = &self.whom {
            // One that was asked before has yet to begin, or the lane ends.
            let _ = whom.try_send(());
            (self.last, self.commits) = (Some(now), 0);
        }
    }
}

/// That somebody moves the log who can be asked.
pub(crate) struct Connected<'asks>(&'asks LogAsks);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.0.lock().whom.take();
    }
}

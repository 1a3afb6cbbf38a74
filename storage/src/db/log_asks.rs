//! Asking for SQLite's log to be moved into the file, for those who commit beside the writer's lane. Without
//! them a log that large transactions filled would be moved by the next of them, under the write lock.

use std::{fs, path::Path, sync::mpsc::SyncSender};

use parking_lot::Mutex;

/// A log whose file is no longer is not worth a look.
const LOG_BYTES_MIN: u64 = 4 << 20;

/// Where to ask, while a lane works.
#[derive(Debug, Default)]
pub(crate) struct LogAsks(Mutex<Option<SyncSender<()>>>);

impl LogAsks {
    /// `ask` is where, until what this gives is dropped.
    pub(crate) fn connect(&self, ask: SyncSender<()>) -> Connected<'_> {
        *self.0.lock() = Some(ask);
        Connected(self)
    }

    /// To be called after a commit. A look at a log that was moved already costs next to nothing.
    pub(super) fn committed(&self, log: &Path) {
        if fs::metadata(log).is_ok_and(|log| log.len() >= LOG_BYTES_MIN)
            && let Some(ask) = &*self.0.lock()
        {
            // One that was asked before has yet to begin, or the lane ends.
            let _ = ask.try_send(());
        }
    }
}

/// That somebody moves the log who can be asked.
pub(crate) struct Connected<'asks>(&'asks LogAsks);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.0.lock().take();
    }
}

//! Moving what the log holds into the file, beside the commits.
//!
//! A passive checkpoint takes no writer's lock, so it runs on a thread and a connection of its own
//! while the lane commits: in the lane it would stop all writing for milliseconds. Because commits
//! go on meanwhile it never reaches the end of the log, and only a log that was moved whole begins
//! anew; so once the log is long the lane moves the short rest itself, right after such a run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
};

use rusqlite::Connection;

use super::super::Shared;
use crate::{
    db::SqliteDb,
    error::StorageError,
    faults::{Fault, Point},
};

/// Frames (pages) in the log from which on the lane has it begin anew: 8 MiB. A longer log makes
/// every read of a page slower, and holds space that a full disk would need.
const LOG_FRAMES_MAX: u64 = 2_048;

/// Bytes that a frame of the log adds to its page.
const FRAME_HEADER_BYTES: u64 = 24;

/// The thread that moves the log's content while the lane commits.
pub(super) struct Checkpointer {
    ask: SyncSender<()>,
    /// Frames that the log had at the end of the last run, all that there can be if it found no
    /// space to move them to; zero once the lane has looked.
    found: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// As much as its readers permit; the frames that the log had.
    Frames(u64),
    /// The disk is full: the log keeps what the file has no room for.
    NoSpace,
    /// Nothing, for now; the next run tries again.
    Nothing,
}

/// What the lane has to do itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Nothing.
    None,
    /// Move the rest: under the baton, so that the log ends.
    Rest,
}

impl Checkpointer {
    /// Starts the thread with a connection of its own.
    pub(super) fn start(
        connection: Connection,
        db: SqliteDb,
        shared: Arc<Shared>,
        page_bytes: u32,
    ) -> Result<Self, StorageError> {
        // One run may be asked for while another one is under way; more would find nothing to do.
        let (ask, asked) = sync_channel(1);
        let found = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&found);
        let started = thread::Builder::new()
            .name("rookery-log".into())
            .spawn(move || run(&connection, page_bytes, &db, &shared, &asked, &told));
        let thread = started.map_err(|error| {
            StorageError::Open(format!("the checkpoint thread cannot be started: {error}"))
        })?;
        Ok(Self { ask, found, thread })
    }

    /// Asks for a run.
    pub(super) fn ask(&self) -> Share {
        match self.ask.try_send(()) {
            Ok(()) | Err(TrySendError::Full(())) => Share::None,
            // The thread is gone: the log must not grow without bound.
            Err(TrySendError::Disconnected(())) => Share::Rest,
        }
    }

    /// To be looked at after each commit: a run has just ended and the log is long.
    pub(super) fn look(&self) -> Share {
        if self.found.load(Ordering::Relaxed) != 0
            && self.found.swap(0, Ordering::Relaxed) > LOG_FRAMES_MAX
        {
            return Share::Rest;
        }
        Share::None
    }

    /// Returns when the thread has ended.
    pub(super) fn stop(self) {
        drop(self.ask);
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

fn run(
    connection: &Connection,
    page_bytes: u32,
    db: &SqliteDb,
    shared: &Shared,
    asked: &Receiver<()>,
    found: &AtomicU64,
) {
    while asked.recv().is_ok() {
        match checkpoint(connection, page_bytes, shared) {
            Ok(Moved::Frames(frames)) => found.store(frames, Ordering::Relaxed),
            Ok(Moved::NoSpace) => found.store(u64::MAX, Ordering::Relaxed),
            Ok(Moved::Nothing) => {}
            Err(why) => {
                // What was acknowledged is in the log, which was synced by its commits.
                db.soundness().break_for(&why);
                return;
            }
        }
    }
}

/// Moves what no reader needs from the log to the file, as far as the log reaches when it begins;
/// the log keeps the rest.
///
/// # Errors
/// A text when the store is broken.
pub(super) fn checkpoint(
    connection: &Connection,
    page_bytes: u32,
    shared: &Shared,
) -> Result<Moved, String> {
    if shared.options.faults.hit(Point::AtCheckpoint) == Some(Fault::Full) {
        return Ok(Moved::NoSpace);
    }
    let moved = connection.query_row("pragma wal_checkpoint(passive)", [], |row| row.get(1));
    let frames: i64 = match moved {
        Ok(frames) => frames,
        Err(error) => match StorageError::of_rusqlite(&error) {
            StorageError::Broken(why) => return Err(why),
            other => {
                tracing::warn!(error = %other, "a checkpoint failed");
                return Ok(match other {
                    StorageError::Full => Moved::NoSpace,
                    _ => Moved::Nothing,
                });
            }
        },
    };
    // Negative: another run is under way, and will count it.
    let Ok(frames) = u64::try_from(frames) else { return Ok(Moved::Nothing) };
    let wal_bytes = frames * (u64::from(page_bytes) + FRAME_HEADER_BYTES);
    let before = shared.counters.checkpointed(wal_bytes);
    let alarm = shared.options.wal_alarm_bytes;
    if before <= alarm && wal_bytes > alarm {
        tracing::warn!(wal_bytes, "the log grows: a reader has held it for long");
    }
    Ok(Moved::Frames(frames))
}

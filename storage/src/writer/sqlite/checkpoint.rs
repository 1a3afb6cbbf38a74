//! Moving what the log holds into the file, beside the commits.
//!
//! A passive checkpoint takes no writer's lock, so it runs on a thread and a connection of its own while the
//! lane commits: in the lane it would stop all writing for milliseconds. Because commits go on meanwhile it
//! never reaches the end of the log, and only a log that was moved whole begins anew; so once the log is long
//! the lane moves the short rest itself, right after such a run: until it has, there is no other run, which
//! would be in its way. And once nothing came for a while it empties the log, which still holds what was
//! purged.

use std::{
    cell::Cell,
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::super::Shared;
use crate::{
    db::{BUSY_TIMEOUT, Connected, SqliteDb},
    error::StorageError,
    faults::{Fault, Point},
};

/// Commits between two runs of the checkpointer: each page that was written several times
/// meanwhile is moved once.
const CHECKPOINT_EVERY_COMMITS: u32 = 48;

/// Frames that the log grows by between two runs, however few the commits: 16 MiB, more than so many commits
/// of small groups write. A group may have as many bytes as a thousand others.
const CHECKPOINT_EVERY_FRAMES: u64 = 4_096;

/// Frames (pages) in the log from which on the lane has it begin anew: 8 MiB. A longer log makes
/// every read of a page slower, and holds space that a full disk would need.
const LOG_FRAMES_MAX: u64 = 2_048;

/// After a run that found a long log there is no other one for so long, unless the lane has looked: a lane
/// that commits does so many times meanwhile.
const LANE_LOOKS_WITHIN: Duration = Duration::from_secs(1);

/// Between two looks at a full disk while nobody writes: whoever watches readiness hears then that
/// space has returned.
const LOOKS_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Bytes that a frame of the log adds to its page.
const FRAME_HEADER_BYTES: u64 = 24;

thread_local! {
    /// Frames of the log after the last commit of this thread's connection, those of others included.
    static FRAMES: Cell<u64> = const { Cell::new(0) };
}

/// The log, as a connection moves it.
struct Log<'a> {
    connection: &'a Connection,
    page_bytes: u32,
    shared: &'a Shared,
}

/// The lane's part: when the checkpointer is asked, when the lane moves the rest itself, and whether
/// the disk has room for a commit.
pub(super) struct LogMaintenance<'lane> {
    checkpointer: Checkpointer,
    /// By the lane's own connection.
    log: Log<'lane>,
    /// Commits since the checkpointer was asked.
    commits: u32,
    /// Frames that the log had then.
    asked_at: u64,
    db: &'lane SqliteDb,
    /// Others can ask it, too.
    connected: Connected<'lane>,
    /// What came of the last move that the lane made itself.
    moved: Moved,
    /// The lane has to move what is left of a long log.
    owes_rest: bool,
}

impl<'lane> LogMaintenance<'lane> {
    /// Starts the checkpointer on the connection `beside`.
    pub(super) fn start(
        connection: &'lane Connection,
        beside: Connection,
        db: &'lane SqliteDb,
        shared: &'lane Arc<Shared>,
        page_bytes: u32,
    ) -> Result<Self, StorageError> {
        let checkpointer = Checkpointer::start(beside, db.clone(), Arc::clone(shared), page_bytes)?;
        let connected = db.log_asks().connect(checkpointer.ask.clone());
        FRAMES.set(0);
        connection.wal_hook(Some(|_, frames| {
            FRAMES.set(u64::try_from(frames).unwrap_or(0));
            Ok(())
        }));
        let log = Log { connection, page_bytes, shared };
        Ok(Self {
            checkpointer,
            log,
            commits: 0,
            asked_at: 0,
            db,
            connected,
            moved: Moved::Nothing,
            owes_rest: false,
        })
    }

    /// After how long without a commit there is something to do: the disk is looked at again while
    /// it is full, else the log is emptied.
    pub(super) fn looks_again_after(&self) -> Duration {
        let idle = self.log.shared.options.sqlite_log_idle;
        if self.moved == Moved::NoSpace { LOOKS_AGAIN_AFTER } else { idle }
    }

    /// To be called before each commit, under the write lock; whether the commit may be made.
    ///
    /// # Errors
    /// A text when the store is broken.
    pub(super) fn make_room(&mut self) -> Result<bool, String> {
        if self.moved == Moved::NoSpace {
            // Space that has returned is the file's first. Were it given to commits, the log would
            // grow into it, and then neither of the two could ever go on.
            self.move_by(PASSIVE)?;
        }
        Ok(self.moved != Moved::NoSpace)
    }

    /// To be called after each commit, under the same write lock. `is_full`: it was not made, because the
    /// disk is full.
    ///
    /// # Errors
    /// A text when the store is broken.
    pub(super) fn after_commit(&mut self, is_full: bool) -> Result<(), String> {
        self.commits += 1;
        let frames = FRAMES.get();
        if frames < self.asked_at {
            // The log began anew.
            self.asked_at = 0;
        }
        let is_due = self.commits >= CHECKPOINT_EVERY_COMMITS
            || frames - self.asked_at >= CHECKPOINT_EVERY_FRAMES;
        self.owes_rest |= self.checkpointer.look();
        // A run that is asked for now would be in the way of what the lane moves itself.
        if is_due && !self.owes_rest {
            (self.commits, self.asked_at) = (0, frames);
            self.owes_rest = self.checkpointer.ask();
        }
        // On a full disk the log may hold the space that is missing, and would hold it for as long as nothing
        // is committed.
        if (self.owes_rest || is_full) && self.moved != Moved::NoSpace {
            self.move_by(PASSIVE)?;
            // Where a run that somebody else asked for was in the way, after the next commit.
            self.owes_rest = self.moved == Moved::Busy;
        }
        Ok(())
    }

    /// Empties the log if anything was written to it, under the write lock. A reader that needs it now
    /// keeps it until the next time.
    ///
    /// # Errors
    /// A text when the store is broken.
    pub(super) fn empty(&mut self) -> Result<(), String> {
        let is_empty = fs::metadata(self.db.log_path()).is_ok_and(|log| log.len() == 0);
        if is_empty || self.moved == Moved::NoSpace {
            return Ok(());
        }
        // Whoever reads is not waited for: commits would wait, too.
        let connection = self.log.connection;
        let waits = |time| connection.busy_timeout(time).map_err(|error| error.to_string());
        waits(Duration::ZERO)?;
        self.move_by(TRUNCATE)?;
        waits(BUSY_TIMEOUT)
    }

    /// Ends the checkpointer, then moves what is left, under the write lock.
    ///
    /// # Errors
    /// A text when the store is broken.
    pub(super) fn end(self) -> Result<(), String> {
        let Self { checkpointer, connected, log, db, .. } = self;
        // It ends when nobody can ask it any more.
        drop(connected);
        checkpointer.stop();
        let write_lock = db.write_lock();
        let _held = write_lock.blocking_lock();
        log.checkpoint(PASSIVE).map(drop)
    }

    fn move_by(&mut self, how: &str) -> Result<(), String> {
        self.moved = self.log.checkpoint(how)?;
        self.log.shared.counters.has_room(self.moved != Moved::NoSpace);
        Ok(())
    }
}

/// The thread that moves the log's content while the lane commits.
struct Checkpointer {
    ask: SyncSender<()>,
    /// Frames that the log had at the end of the last run, all that there can be if it found no
    /// space to move them to; zero once the lane has looked.
    found: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// As much as its readers permit; the frames that the log had.
    Frames(u64),
    /// The disk is full: the log keeps what the file has no room for.
    NoSpace,
    /// Nothing: another run was under way.
    Busy,
    /// Nothing, for now; the next run tries again.
    Nothing,
}

impl Checkpointer {
    /// Starts the thread with a connection of its own.
    fn start(
        connection: Connection,
        db: SqliteDb,
        shared: Arc<Shared>,
        page_bytes: u32,
    ) -> Result<Self, StorageError> {
        // One run may be asked for while another one is under way; more would find nothing to do.
        let (ask, asked) = sync_channel(1);
        let found = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&found);
        let started = thread::Builder::new().name("rookery-log".into()).spawn(move || {
            let log = Log { connection: &connection, page_bytes, shared: &shared };
            run(&log, &db, &asked, &told);
        });
        let thread = started.map_err(|error| {
            StorageError::Open(format!("the checkpoint thread cannot be started: {error}"))
        })?;
        Ok(Self { ask, found, thread })
    }

    /// Asks for a run. True when the lane has to move the rest itself, so that the log ends: the
    /// thread is gone, and the log must not grow without bound.
    fn ask(&self) -> bool {
        matches!(self.ask.try_send(()), Err(TrySendError::Disconnected(())))
    }

    /// To be looked at after each commit. True as [`Self::ask`]: a run has just ended and the log is
    /// long.
    fn look(&self) -> bool {
        self.found.load(Ordering::Relaxed) != 0
            && self.found.swap(0, Ordering::Relaxed) > LOG_FRAMES_MAX
    }

    /// Returns when the thread has ended.
    fn stop(self) {
        drop(self.ask);
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

fn run(log: &Log<'_>, db: &SqliteDb, asked: &Receiver<()>, found: &AtomicU64) {
    let mut ended: Option<Instant> = None;
    while asked.recv().is_ok() {
        let is_lanes_turn = found.load(Ordering::Relaxed) > LOG_FRAMES_MAX
            && ended.is_some_and(|at| at.elapsed() < LANE_LOOKS_WITHIN);
        if is_lanes_turn {
            continue;
        }
        match log.checkpoint(PASSIVE) {
            Ok(Moved::Frames(frames)) => found.store(frames, Ordering::Relaxed),
            Ok(Moved::NoSpace) => found.store(u64::MAX, Ordering::Relaxed),
            Ok(Moved::Busy | Moved::Nothing) => {}
            Err(why) => {
                // What was acknowledged is in the log, which was synced by its commits.
                db.soundness().break_for(&why);
                return;
            }
        }
        ended = Some(Instant::now());
    }
}

/// Moves what no reader needs from the log to the file, as far as the log reaches when it begins;
/// the log keeps the rest.
const PASSIVE: &str = "pragma wal_checkpoint(passive)";

/// Moves all of it and leaves the log with a length of zero, or does as much as no reader is in the
/// way of.
const TRUNCATE: &str = "pragma wal_checkpoint(truncate)";

impl Log<'_> {
    /// Runs a checkpoint: [`PASSIVE`] or [`TRUNCATE`].
    ///
    /// # Errors
    /// A text when the store is broken.
    fn checkpoint(&self, how: &str) -> Result<Moved, String> {
        let Self { connection, page_bytes, shared } = *self;
        if shared.options.faults.hit(Point::AtCheckpoint) == Some(Fault::Full) {
            return Ok(Moved::NoSpace);
        }
        let moved = connection.query_row(how, [], |row| row.get(1));
        let frames: i64 = match moved {
            Ok(frames) => frames,
            Err(error) => match StorageError::of_rusqlite(&error) {
                StorageError::Broken(why) => return Err(why),
                other => {
                    if let Some(skipped) = shared.counters.checkpoint_lines.take() {
                        tracing::warn!(%error, skipped, "a checkpoint failed");
                    }
                    return Ok(match other {
                        StorageError::Full => Moved::NoSpace,
                        _ => Moved::Nothing,
                    });
                }
            },
        };
        // Negative: another run is under way, and will count it.
        let Ok(frames) = u64::try_from(frames) else { return Ok(Moved::Busy) };
        let wal_bytes = frames * (u64::from(page_bytes) + FRAME_HEADER_BYTES);
        let before = shared.counters.checkpointed(wal_bytes);
        let alarm = shared.options.wal_alarm_bytes;
        if before <= alarm && wal_bytes > alarm {
            tracing::warn!(wal_bytes, "the log grows: a reader has held it for long");
        }
        Ok(Moved::Frames(frames))
    }
}

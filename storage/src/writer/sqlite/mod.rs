//! The SQLite lane: one thread of the operating system with one connection.
//!
//! It waits without a timer. While a COMMIT waits for the disk the next groups gather by
//! themselves, and it takes all of them at once. It holds the baton from BEGIN to the end of the
//! checkpoint, so that a cold-path transaction never meets it inside SQLite.

mod app;
mod batch;
mod statements;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    thread,
};

use rusqlite::{Connection, OpenFlags};

use self::{batch::Session, statements::Statements};
use super::{
    Shared,
    queue::{LaneStatus, Queue},
};
use crate::{db::SqliteDb, error::StorageError, faults};

/// Commits between two checkpoints. Every 5 costs 5 ms at worst, every 50 costs 16 ms with a
/// third more throughput.
const CHECKPOINT_EVERY_COMMITS: u32 = 48;

/// Bytes that a frame of the log adds to its page.
const FRAME_HEADER_BYTES: u64 = 24;

/// Starts the lane's thread.
pub(super) fn start(db: SqliteDb, shared: Arc<Shared>, lane: usize) -> Result<(), StorageError> {
    let connection = open(&db, &shared)?;
    let started = thread::Builder::new().name("rookery-writer".into()).spawn({
        let shared = Arc::clone(&shared);
        move || {
            let queue = &shared.queues[lane];
            let run = AssertUnwindSafe(|| run(connection, &db, &shared, queue));
            let status = match catch_unwind(run) {
                Ok(Ok(())) => LaneStatus::Stopped,
                Ok(Err(Ended::Broken(why))) => {
                    tracing::error!(why, "the store is broken: nothing is written any more");
                    db.soundness().break_for(&why);
                    queue.break_store(&why);
                    return;
                }
                Ok(Err(Ended::Failed(why))) => LaneStatus::Dead(why),
                Err(_) => LaneStatus::Dead("the writer thread panicked".into()),
            };
            if let LaneStatus::Dead(why) = &status {
                tracing::error!(why, "the writer thread has died");
            }
            queue.status().send_replace(status);
        }
    });
    started.map(drop).map_err(|error| {
        StorageError::Open(format!("the writer thread cannot be started: {error}"))
    })
}

enum Ended {
    Broken(String),
    Failed(String),
}

fn open(db: &SqliteDb, shared: &Shared) -> Result<Connection, StorageError> {
    connect(db.path(), shared.options.sqlite_max_pages).map_err(|error| {
        StorageError::Open(format!("{} cannot be opened: {error}", db.path().display()))
    })
}

fn connect(path: &Path, max_pages: Option<u32>) -> rusqlite::Result<Connection> {
    // No mutex: the connection never leaves its thread.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(PRAGMAS)?;
    if !faults::syncs_each_commit() {
        connection.pragma_update(None, "synchronous", "normal")?;
    }
    if let Some(pages) = max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// Waits for a lock this long; with the baton only a backup or a foreign tool ever holds one.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// FULL: with NORMAL, simulated power cuts lost acknowledged writes. Checkpoints are the lane's
/// own, hence no automatic ones.
const PRAGMAS: &str = "pragma journal_mode = wal; pragma synchronous = full; \
     pragma wal_autocheckpoint = 0; pragma journal_size_limit = 67108864; \
     pragma foreign_keys = on; pragma trusted_schema = off; pragma cache_size = -32768; \
     pragma temp_store = memory;";

fn run(connection: Connection, db: &SqliteDb, shared: &Shared, queue: &Queue) -> Result<(), Ended> {
    let failed = |error: rusqlite::Error| Ended::Failed(error.to_string());
    let mut session = Session {
        connection: &connection,
        statements: Statements::prepare(&connection).map_err(failed)?,
        epoch: shared.epoch,
        faults: &shared.options.faults,
        counters: &shared.counters,
    };
    let page_bytes: u32 =
        connection.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    let page_bytes = u64::from(page_bytes);
    let baton = db.baton();
    let mut commits = 0;
    while queue.wait_on_thread() {
        let _baton = baton.blocking_lock();
        if let Some(why) = db.soundness().broken() {
            return Err(Ended::Broken(why));
        }
        let mut batch = queue.take(&shared.counters);
        if batch.entries.is_empty() {
            batch.finish();
            continue;
        }
        let result = session.commit(&mut batch);
        batch.finish();
        result.map_err(Ended::Broken)?;
        commits += 1;
        if commits >= CHECKPOINT_EVERY_COMMITS {
            commits = 0;
            checkpoint(&connection, page_bytes, shared).map_err(Ended::Broken)?;
        }
    }
    let _baton = baton.blocking_lock();
    checkpoint(&connection, page_bytes, shared).map_err(Ended::Broken)
}

/// Moves what no reader needs from the log to the file. `Err` only when the store is broken.
fn checkpoint(connection: &Connection, page_bytes: u64, shared: &Shared) -> Result<(), String> {
    let frames =
        connection.query_row("pragma wal_checkpoint(passive)", [], |row| row.get::<_, i64>(1));
    match frames {
        Ok(frames) => {
            let frames = u64::try_from(frames).unwrap_or(0);
            let wal_bytes = frames * (page_bytes + FRAME_HEADER_BYTES);
            let before = shared.counters.checkpointed(wal_bytes);
            let alarm = shared.options.wal_alarm_bytes;
            if before <= alarm && wal_bytes > alarm {
                tracing::warn!(wal_bytes, "the log grows: a reader has held it for long");
            }
            Ok(())
        }
        Err(error) => match StorageError::of_rusqlite(&error) {
            StorageError::Broken(why) => Err(why),
            // The log keeps everything; the next checkpoint tries again.
            other => {
                tracing::warn!(error = %other, "a checkpoint failed");
                Ok(())
            }
        },
    }
}

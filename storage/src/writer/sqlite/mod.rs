//! The SQLite lane: one thread of the operating system with one connection.
//!
//! Commits have no timer. While a COMMIT waits for the disk the next groups gather by themselves, and it
//! takes all small ones of them at once. It holds the write lock from BEGIN to COMMIT, so that a cold-path
//! transaction never meets it inside SQLite.

mod batch;
mod checkpoint;
mod statements;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use rusqlite::{Connection, Error::SqliteFailure, OpenFlags};

use self::{batch::Session, checkpoint::LogMaintenance, statements::Statements};
use super::{
    Shared,
    batch::Stage,
    queue::{LaneStatus, Queue, Waited},
};
use crate::{
    commit::Abort,
    db::{BUSY_TIMEOUT, JOURNAL_SIZE_LIMIT_BYTES, SqliteDb},
    error::StorageError,
    faults,
    vfs::log_vfs,
};

/// Starts the lane's thread.
pub(super) fn start(db: SqliteDb, shared: Arc<Shared>, lane: usize) -> Result<(), StorageError> {
    // One that is started again would open what is there now.
    if let Err(why) = db.check_files() {
        db.soundness().break_for(&why);
        return Err(StorageError::Broken(why));
    }
    let connection = open(&db, &shared)?;
    let beside = open(&db, &shared)?;
    let started = thread::Builder::new().name("rookery-writer".into()).spawn({
        let shared = Arc::clone(&shared);
        move || {
            let queue = &shared.queues[lane];
            let run = AssertUnwindSafe(|| run(connection, beside, &db, &shared, queue));
            let status = match catch_unwind(run) {
                Ok(Ok(())) => LaneStatus::Stopped,
                Ok(Err(Ended::Broken(why))) => {
                    db.soundness().break_for(&why);
                    queue.break_store(&shared.counters, &why);
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
    let vfs = log_vfs().map_err(|code| SqliteFailure(libsqlite3_sys::Error::new(code), None))?;
    let connection = Connection::open_with_flags_and_vfs(path, flags, vfs)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(PRAGMAS)?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_SIZE_LIMIT_BYTES)?;
    if !faults::syncs_each_commit() {
        connection.pragma_update(None, "synchronous", "normal")?;
    }
    if let Some(pages) = max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// FULL: with NORMAL, simulated power cuts lost acknowledged writes. Checkpoints are the lane's
/// own, hence no automatic ones. What is purged is overwritten in the file.
const PRAGMAS: &str = "pragma journal_mode = wal; pragma synchronous = full; \
     pragma wal_autocheckpoint = 0; \
     pragma foreign_keys = on; pragma trusted_schema = off; pragma cache_size = -8192; \
     pragma temp_store = memory; pragma secure_delete = on;";

/// Commits until it is told to end. `beside` is the checkpointer's connection.
fn run(
    connection: Connection,
    beside: Connection,
    db: &SqliteDb,
    shared: &Arc<Shared>,
    queue: &Queue,
) -> Result<(), Ended> {
    let failed = |error: rusqlite::Error| Ended::Failed(error.to_string());
    let mut session = Session {
        connection: &connection,
        db,
        statements: Statements::prepare(&connection).map_err(failed)?,
        epoch: shared.epoch,
        faults: &shared.options.faults,
        counters: &shared.counters,
    };
    let page_bytes: u32 =
        connection.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    let mut log = LogMaintenance::start(&connection, beside, db, shared, page_bytes)
        .map_err(|error| Ended::Failed(error.to_string()))?;
    let write_lock = db.write_lock();
    loop {
        let waited = queue.wait_on_thread(log.looks_again_after());
        if waited != Waited::Work {
            // Nobody writes, and whoever looks after the server should know all the same.
            db.check_files().map_err(Ended::Broken)?;
        }
        if waited == Waited::End {
            return log.end().map_err(Ended::Broken);
        }
        let _held = write_lock.blocking_lock();
        if let Some(why) = db.soundness().broken() {
            return Err(Ended::Broken(why));
        }
        let has_room = log.make_room().map_err(Ended::Broken)?;
        if waited == Waited::TimeUp {
            log.empty().map_err(Ended::Broken)?;
            continue;
        }
        let mut batch = queue.take(&shared.counters, Duration::MAX);
        if batch.entries.is_empty() {
            batch.finish();
            continue;
        }
        let result = if has_room {
            session.commit(&mut batch)
        } else {
            batch.stage = Stage::Aborted(Abort::Full);
            Ok(())
        };
        let is_full = batch.stage == Stage::Aborted(Abort::Full);
        if is_full && has_room {
            // The next commit may find room for less, or pages that are free in the file.
            shared.counters.found_no_room();
        }
        if let Err(why) = &result {
            // Before anybody hears of it: whoever reads next must not be told what the next start
            // may find otherwise.
            db.soundness().break_for(why);
        }
        batch.finish();
        result.map_err(Ended::Broken)?;
        log.after_commit(is_full).map_err(Ended::Broken)?;
    }
}

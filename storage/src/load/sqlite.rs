//! Loading from SQLite: by hand, on a blocking thread, with a connection from a small pool.
//!
//! Reading rows takes longest, so a second thread reads the second half of many, where there is a permit
//! for it. It has a snapshot of its own. No actor writes while its app is loaded, and pruning its history
//! moves its head: where both snapshots have one head, they show the same rows.

use rookery_domain::id::AppId;
use rusqlite::{Connection, OpenFlags, Transaction, params};
use tokio::{runtime::Handle, task::JoinHandle};

use super::{
    LoadOptions, LoadedApp,
    assemble::{self, Assembly, first_day},
    rows::{self, ReadRows},
};
use crate::{
    commit::Totals,
    db::SqliteDb,
    error::{Result, StorageError},
    offload::run_in,
};

/// Connections that are kept for the next loads, of which one takes two; more are opened when more apps
/// wake at once.
const IDLE_CONNECTIONS_MAX: usize = 8;

/// Rows from which on two threads share them: fewer are read before the second has begun.
const SHARED_ROWS_MIN: u64 = 200;

pub(super) async fn load(
    db: SqliteDb,
    app: AppId,
    options: LoadOptions,
) -> Result<Option<LoadedApp>> {
    let loading = db.clone();
    let load = move || with_snapshot(&db, |snapshot| load_from(snapshot, &db, app, options));
    let permit = loading.loading().permit(app).await;
    let permit = permit.map_err(|error| StorageError::Aborted(error.message))?;
    let ended = run_in(permit, load).await;
    ended.map_err(|error| StorageError::Refused(format!("a load ended early: {error}")))?
}

/// Reads in a transaction of a connection that is kept, but not used again after it failed.
fn with_snapshot<T>(db: &SqliteDb, read: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    let idle = match db.loaders().lock().as_mut() {
        Some(idle) => idle.pop(),
        None => return Err(StorageError::Aborted("the database is closed".into())),
    };
    let mut connection = match idle {
        Some(connection) => connection,
        None => open(db).map_err(|error| failed(&error))?,
    };
    // Rolled back when dropped: it has only read.
    let snapshot = connection.transaction().map_err(|error| failed(&error))?;
    let found = read(&snapshot)?;
    drop(snapshot);
    // Of a database that was closed meanwhile it is not kept.
    if let Some(idle) = db.loaders().lock().as_mut()
        && idle.len() < IDLE_CONNECTIONS_MAX
    {
        idle.push(connection);
    }
    Ok(found)
}

fn open(db: &SqliteDb) -> rusqlite::Result<Connection> {
    // Opened for writing, as a reader of a WAL needs, and forbidden to.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(db.path(), flags)?;
    connection.execute_batch(
        "pragma query_only = on; pragma trusted_schema = off; pragma cache_size = -2048;",
    )?;
    Ok(connection)
}

fn load_from(
    snapshot: &Transaction<'_>,
    db: &SqliteDb,
    app: AppId,
    options: LoadOptions,
) -> Result<Option<LoadedApp>> {
    let uuid = app.uuid();
    let id = &uuid.as_bytes()[..];

    let record = first(snapshot, assemble::RECORD, params![id], |row| Assembly::new(app, row))?;
    let Some(mut assembly) = record else { return Ok(None) };
    let version = assembly.version();
    first(snapshot, assemble::HEAD, params![id, version], |row| assembly.head(row))?
        .ok_or_else(assemble::without_head)?;
    let rows = read_rows(snapshot, db, &assembly)?;
    assembly.rows(rows);
    each(snapshot, assemble::BUDGETS, params![id, first_day(options)], |row| assembly.budget(row))?;
    each(snapshot, assemble::CHALLENGES, params![id, options.now.0], |row| {
        assembly.challenge(row)
    })?;
    each(snapshot, assemble::MEMBERS, params![id], |row| assembly.member(row))?;
    each(snapshot, assemble::GRANTS, params![id], |row| assembly.grant(row))?;
    each(snapshot, assemble::PREVIEWS, params![id], |row| assembly.preview(row))?;
    each(snapshot, assemble::CREDENTIALS, params![id], |row| assembly.credential(row))?;
    each(snapshot, assemble::TAIL, params![id, options.tail_events], |row| assembly.event(row))?;
    Ok(Some(assembly.finish()))
}

/// All rows of the app.
fn read_rows(snapshot: &Transaction<'_>, db: &SqliteDb, assembly: &Assembly) -> Result<ReadRows> {
    let (uuid, live) = (assembly.app().uuid(), assembly.written().totals.live);
    let id = &uuid.as_bytes()[..];
    let Some(shared) = Shared::begin(snapshot, db, assembly)? else {
        return read(snapshot, rows::ALL, params![id], live);
    };
    let (collection, key) = &shared.middle;
    let at = params![id, collection, key];
    let mut rows = read(snapshot, rows::BEFORE, at, live)?;
    let behind = match Handle::current().block_on(shared.second) {
        Ok(Ok(Some(behind))) => behind,
        // Whatever went wrong there may go right here.
        Ok(Ok(None) | Err(_)) | Err(_) => read(snapshot, rows::SINCE, at, live)?,
    };
    rows.append(behind);
    Ok(rows)
}

/// Rows that two threads read, each its half.
struct Shared {
    /// Where the second half begins: collection and key.
    middle: (String, String),
    /// The second half; nothing where the app stands differently in its snapshot.
    second: JoinHandle<Result<Option<ReadRows>>>,
}

impl Shared {
    /// Begins to read the second half, if there is much to read and a permit for it.
    fn begin(
        snapshot: &Transaction<'_>,
        db: &SqliteDb,
        assembly: &Assembly,
    ) -> Result<Option<Self>> {
        let (uuid, version, head) = (assembly.app().uuid(), assembly.version(), assembly.written());
        let Totals { live, trashed, detached, .. } = head.totals;
        let all = live.saturating_add(trashed).saturating_add(detached);
        let half = i64::try_from(all / 2).unwrap_or(i64::MAX);
        if all < SHARED_ROWS_MIN {
            return Ok(None);
        }
        let Some(permit) = db.loading().try_permit(assembly.app()) else { return Ok(None) };
        let id = &uuid.as_bytes()[..];
        // Where it cannot be read there is none.
        let middle = first(snapshot, rows::MIDDLE, params![id, half], |row| {
            Ok(row.get(0).and_then(|collection| Ok((collection, row.get(1)?))).ok())
        })?;
        let Some(middle): Option<(String, String)> = middle.flatten() else { return Ok(None) };
        let (db, since) = (db.clone(), middle.clone());
        let second = run_in(permit, move || {
            let id = &uuid.as_bytes()[..];
            with_snapshot(&db, |snapshot| {
                let there = first(snapshot, assemble::HEAD, params![id, version], |row| {
                    Ok(assemble::head(row).ok())
                })?;
                if there.flatten() != Some(head) {
                    return Ok(None);
                }
                let at = params![id, since.0, since.1];
                read(snapshot, rows::SINCE, at, live.div_ceil(2)).map(Some)
            })
        });
        Ok(Some(Self { middle, second }))
    }
}

/// Reads rows, of which so many may be live.
fn read(
    snapshot: &Transaction<'_>,
    sql: &str,
    parameters: &[&dyn rusqlite::ToSql],
    expected: u64,
) -> Result<ReadRows> {
    let mut rows = ReadRows::new(expected);
    each(snapshot, sql, parameters, |row| rows.row(row))?;
    // Each thread sorts its own.
    rows.sort();
    Ok(rows)
}

fn each(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn rusqlite::ToSql],
    mut read: impl FnMut(&rusqlite::Row<'_>),
) -> Result<()> {
    let mut statement = connection.prepare_cached(sql).map_err(|error| failed(&error))?;
    let mut rows = statement.query(parameters).map_err(|error| failed(&error))?;
    while let Some(row) = rows.next().map_err(|error| failed(&error))? {
        read(row);
    }
    Ok(())
}

fn first<T>(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn rusqlite::ToSql],
    read: impl FnOnce(&rusqlite::Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(|error| failed(&error))?;
    let mut rows = statement.query(parameters).map_err(|error| failed(&error))?;
    rows.next().map_err(|error| failed(&error))?.map(read).transpose()
}

fn failed(error: &rusqlite::Error) -> StorageError {
    StorageError::of_rusqlite(error).of_read()
}

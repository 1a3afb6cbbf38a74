//! Loading from SQLite: by hand, on a blocking thread, with a connection from a small pool.

use rookery_domain::id::AppId;
use rusqlite::{Connection, OpenFlags, params};

use super::{
    LoadOptions, LoadedApp,
    assemble::{self, Assembly, first_day},
};
use crate::{
    db::SqliteDb,
    error::{Result, StorageError},
};

/// Connections that are kept for the next loads; more are opened when more apps wake at once.
const IDLE_CONNECTIONS_MAX: usize = 4;

pub(super) async fn load(
    db: SqliteDb,
    app: AppId,
    options: LoadOptions,
) -> Result<Option<LoadedApp>> {
    let loading = db.clone();
    let load = move || {
        let idle = db.loaders().lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => open(&db).map_err(|error| failed(&error))?,
        };
        // A connection that failed is not used again.
        let loaded = snapshot(&mut connection, app, options)?;
        let mut loaders = db.loaders().lock();
        if loaders.len() < IDLE_CONNECTIONS_MAX {
            loaders.push(connection);
        }
        Ok(loaded)
    };
    let ended = loading.loading().run(load).await;
    ended.map_err(|error| StorageError::Refused(format!("a load ended early: {error}")))?
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

fn snapshot(
    connection: &mut Connection,
    app: AppId,
    options: LoadOptions,
) -> Result<Option<LoadedApp>> {
    // Rolled back when dropped: it has only read.
    let snapshot = connection.transaction().map_err(|error| failed(&error))?;
    let uuid = app.uuid();
    let id = &uuid.as_bytes()[..];

    let record = first(&snapshot, assemble::RECORD, params![id], |row| Assembly::new(app, row))?;
    let Some(mut assembly) = record else { return Ok(None) };
    let version = assembly.version();
    first(&snapshot, assemble::HEAD, params![id, version], |row| assembly.head(row))?
        .ok_or_else(assemble::without_head)?;
    each(&snapshot, assemble::ROWS, params![id], |row| {
        assembly.row(row);
        Ok(())
    })?;
    each(&snapshot, assemble::BUDGETS, params![id, first_day(options)], |row| {
        assembly.budget(row)
    })?;
    each(&snapshot, assemble::CHALLENGES, params![id, options.now.0], |row| {
        assembly.challenge(row)
    })?;
    each(&snapshot, assemble::MEMBERS, params![id], |row| {
        assembly.member(row);
        Ok(())
    })?;
    each(&snapshot, assemble::GRANTS, params![id], |row| {
        assembly.grant(row);
        Ok(())
    })?;
    each(&snapshot, assemble::PREVIEWS, params![id, options.now.0], |row| {
        assembly.preview(row);
        Ok(())
    })?;
    each(&snapshot, assemble::CREDENTIALS, params![id, options.now.0], |row| {
        assembly.credential(row);
        Ok(())
    })?;
    each(&snapshot, assemble::TAIL, params![id, options.tail_events], |row| {
        assembly.event(row);
        Ok(())
    })?;
    Ok(Some(assembly.finish()))
}

fn each(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn rusqlite::ToSql],
    mut read: impl FnMut(&rusqlite::Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(sql).map_err(|error| failed(&error))?;
    let mut rows = statement.query(parameters).map_err(|error| failed(&error))?;
    while let Some(row) = rows.next().map_err(|error| failed(&error))? {
        read(row)?;
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

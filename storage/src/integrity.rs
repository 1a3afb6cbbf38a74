//! Whether a database is whole: for backups, and for whoever opens what a crash has left.

use rusqlite::Connection;

use crate::{
    db::Db,
    error::{Result, StorageError},
};

/// Checks every page and index of an open SQLite database. PostgreSQL has tools of its own
/// (`pg_amcheck`); there is nothing to check here.
///
/// # Errors
/// [`StorageError::Corrupt`] with what is wrong, or [`StorageError::Broken`] when it cannot be read.
pub async fn check(db: &Db) -> Result<()> {
    let Db::Sqlite(db) = db else { return Ok(()) };
    let path = db.path().to_owned();
    let checked = tokio::task::spawn_blocking(move || {
        let connection = Connection::open(&path).map_err(broken)?;
        match damage(&connection).map_err(broken)? {
            Some(why) => Err(StorageError::Corrupt { what: "database", why }),
            None => Ok(()),
        }
    });
    checked.await.map_err(|error| StorageError::Broken(error.to_string()))?
}

/// What is wrong with a database, on one line.
pub(crate) fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let verdict: String =
        connection.query_row("pragma integrity_check(1)", [], |row| row.get(0))?;
    Ok((verdict != "ok").then(|| verdict.lines().collect::<Vec<_>>().join(" ")))
}

fn broken(error: rusqlite::Error) -> StorageError {
    StorageError::Broken(error.to_string())
}

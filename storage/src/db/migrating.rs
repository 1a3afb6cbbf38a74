//! Migrating at the start: said in the log, once for all that start together, and so that no older
//! server goes on writing what the new tables do not expect. What is not here: the migrations.

use std::{collections::HashSet, pin::pin, time::Duration};

use sqlx::{
    Connection as _, Executor as _, PgConnection, SqliteConnection,
    migrate::{Migrate, MigrateError, Migrator},
    query, query_as, query_scalar,
};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::{DRAW_EPOCH, SERVE, postgres::SESSION};
use crate::error::{Result, StorageError, plain};

/// Who waits longer than this for another process is told of it.
const WAIT_UNTOLD: Duration = Duration::from_secs(1);

/// What is done about migrations that a database lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// They are applied.
    Applied,
    /// The database is refused: the server that may run on it would be fenced.
    Refused,
}

/// Migrates a file. Its folder is this process's alone.
pub(super) async fn sqlite(connection: &mut SqliteConnection, migrations: &Migrator) -> Result<()> {
    let applied = Applied::read(connection, migrations).await?;
    applied.tell(run(connection, migrations)).await
}

/// Migrates a database in one transaction, so that a failure changes nothing. The lock that is held
/// meanwhile, by which nodes that start together migrate once, ends with the connection.
pub(super) async fn postgres(
    connection: &mut PgConnection,
    migrations: &Migrator,
    pending: Pending,
) -> Result<()> {
    lock(connection).await?;
    check_schema(connection).await?;
    let applied = Applied::read(connection, migrations).await?;
    if applied.is_complete {
        return run(connection, migrations).await;
    }
    if pending == Pending::Refused {
        return Err(StorageError::Open(format!(
            "the database is that of an older version of rookery (migration {}; this build has {}): \
             start the server of this version first, which migrates it",
            applied.newest, applied.known
        )));
    }
    let work = async {
        let mut tx = connection.begin().await.map_err(failed)?;
        run(&mut *tx, migrations).await?;
        if applied.newest > 0 {
            fence(&mut tx).await.map_err(failed)?;
        }
        tx.commit().await.map_err(failed)
    };
    applied.tell(work).await
}

/// What has been applied to a database.
struct Applied {
    newest: i64,
    known: i64,
    is_complete: bool,
}

impl Applied {
    async fn read<C: Migrate>(connection: &mut C, migrations: &Migrator) -> Result<Self> {
        let table = &migrations.table_name;
        connection.ensure_migrations_table(table).await.map_err(migration_error)?;
        let applied = connection.list_applied_migrations(table).await.map_err(migration_error)?;
        let is_ours = migrations.iter().next().is_none_or(|first| {
            applied.is_empty() || applied.iter().any(|it| it.checksum == first.checksum)
        });
        if !is_ours {
            return Err(StorageError::Open(format!(
                "the migrations in the database's table {table} are another program's: \
                 give rookery a database of its own"
            )));
        }
        let applied: HashSet<i64> = applied.iter().map(|migration| migration.version).collect();
        let newest = applied.iter().copied().max().unwrap_or(0);
        let known = self::newest(migrations);
        if newest > known {
            return Err(StorageError::Newer { found: newest, known });
        }
        let is_complete = migrations.iter().all(|one| applied.contains(&one.version));
        Ok(Self { newest, known, is_complete })
    }

    /// Does the rest, with a line before and after it where there are tables to be changed.
    async fn tell(&self, work: impl Future<Output = Result<()>>) -> Result<()> {
        // That a new database gets its tables is no news.
        if self.is_complete || self.newest == 0 {
            return work.await;
        }
        info!("migrating the database, from {} to {}", self.newest, self.known);
        let began = Instant::now();
        work.await?;
        info!("migrated in {:.1?}", began.elapsed());
        Ok(())
    }
}

async fn run<C: Migrate>(connection: &mut C, migrations: &Migrator) -> Result<()> {
    migrations.run_direct(None, connection, false).await.map_err(migration_error)
}

/// Waits for its turn, however long another process takes.
async fn lock(connection: &mut PgConnection) -> Result<()> {
    connection.execute("set lock_timeout = 0").await.map_err(failed)?;
    {
        let mut turn = pin!(connection.lock());
        let locked = match timeout(WAIT_UNTOLD, &mut turn).await {
            Ok(locked) => locked,
            Err(_) => {
                info!("waiting for another process, which migrates the database");
                turn.await
            }
        };
        locked.map_err(migration_error)?;
    }
    connection.execute(SESSION).await.map(drop).map_err(failed)
}

/// Refuses to make tables beside those that there are: a schema that is new in the search path, as one
/// that is called like the role, would hide them.
async fn check_schema(connection: &mut PgConnection) -> Result<()> {
    let schemas = "select current_schema()::text,
                          (select nspname::text
                           from pg_class join pg_namespace n on n.oid = relnamespace
                           where relname = 'app_head' and nspname <> current_schema()
                               and nspname = any(current_schemas(false)) limit 1),
                          to_regclass(quote_ident(current_schema()) || '.app_head') is not null";
    let (own, other, is_filled): (Option<String>, Option<String>, Option<bool>) =
        query_as(schemas).fetch_one(connection).await.map_err(failed)?;
    match (own, other) {
        (Some(own), Some(other)) if is_filled != Some(true) => Err(StorageError::Open(format!(
            "the database has rookery's tables in the schema \"{other}\", and new ones would be made \
             in \"{own}\", which comes first in the search path: set search_path to \"{other}\" for \
             this role, or rename \"{own}\""
        ))),
        (Some(own), Some(other)) => {
            warn!("rookery's tables in the schema {own} are used, not those in {other}");
            Ok(())
        }
        (None, _) => Err(StorageError::Open(
            "search_path names no schema of the database that this role may use, so there is none to \
             make tables in: set it for the role or the database, or by options[search_path] in the \
             address"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Ends the writing of every process that has started before: its statements are those of the tables
/// as they were. It draws an epoch as a start does, and notes it as one that serves, so that they see it.
/// The next start's is above it.
async fn fence(connection: &mut PgConnection) -> sqlx::Result<()> {
    let epoch: i64 = query_scalar(DRAW_EPOCH).fetch_one(&mut *connection).await?;
    query(SERVE).bind(epoch).execute(&mut *connection).await?;
    query("update app_head set epoch = $1").bind(epoch).execute(connection).await.map(drop)
}

/// Says in one line why the migrations did not run.
fn migration_error(error: MigrateError) -> StorageError {
    match error {
        MigrateError::Execute(error) => failed(error),
        MigrateError::ExecuteMigration(error, version) => {
            cannot(format_args!("migration {version}: {}", why(&error)))
        }
        other => cannot(other),
    }
}

fn failed(error: sqlx::Error) -> StorageError {
    cannot(why(&error))
}

fn cannot(why: impl std::fmt::Display) -> StorageError {
    StorageError::Open(format!("the database cannot be migrated: {why}"))
}

fn why(error: &sqlx::Error) -> String {
    match error.as_database_error().and_then(|error| error.code()).as_deref() {
        // lock_not_available, deadlock_detected.
        Some("55P03" | "40P01") => {
            "something else uses what is to be changed: stop the server that still runs on this \
             database, or wait for the end of a dump or of an open transaction"
                .into()
        }
        _ => plain(error),
    }
}

/// The newest migration among these.
pub(super) fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

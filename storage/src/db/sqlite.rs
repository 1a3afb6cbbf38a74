//! SQLite: one file, one process, one writer at a time.
//!
//! Whoever writes holds the *write lock*: the writer thread for each group transaction, and the one
//! cold-path connection here. It is fair, so neither starves the other. Two write connections
//! that compete through SQLite's busy handler instead were measured at p99 130 ms.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::OpenFlags;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection,
    SqlitePool,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::Mutex;

use super::{
    Attempt, Body, Soundness, StorageOptions, Tx,
    files::{self, Files, Watched},
    log_asks::LogAsks,
    migrating,
    postgres::SLOW_STATEMENT,
};
use crate::{
    arrivals::Arrivals,
    backup::end_restore,
    error::{Result, StorageError},
    faults,
    offload::Offload,
    vfs::includes_quotas,
};

/// The migrations of this build.
static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// The name of the database in its folder.
pub const DATABASE_FILE: &str = "rookery.db";

/// The name of the file whose lock means "a process has this folder".
pub const LOCK_FILE: &str = "rookery.lock";

/// `PRAGMA application_id` of our files: "Rook".
pub const APPLICATION_ID: i64 = 0x526f_6f6b;

/// 3.51.3: the first release without the WAL-reset corruption bug.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// Every connection waits for a lock this long; with the write lock only a backup or a foreign tool ever
/// holds one.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an app may wait to be loaded while others are.
const LOAD_PATIENCE: Duration = Duration::from_secs(30);

/// A log that large commits, a full disk or a long reader let grow is cut back to this, 12 MiB, when it begins
/// anew: a little above what small commits let it reach.
pub(crate) const JOURNAL_SIZE_LIMIT_BYTES: &str = "12582912";

/// Page cache of a connection in KiB, negative as SQLite wants it. Small: behind it is the system's
/// cache of the file, and each connection has one of its own.
const CACHE_SIZE: &str = "-4096";

/// Pages in the WAL at which a cold-path commit checkpoints. Where a lane works its checkpointer has moved
/// them before; this holds for processes that have none.
const WAL_AUTOCHECKPOINT_PAGES: &str = "16000";

/// Statements that a connection keeps prepared.
const STATEMENT_CACHE: usize = 200;

/// An open SQLite database.
#[derive(Debug, Clone)]
pub struct SqliteDb(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    options: SqliteConnectOptions,
    readers: SqlitePool,
    write_lock: Arc<Mutex<()>>,
    soundness: Soundness,
    log_asks: LogAsks,
    arrivals: Arc<Arrivals>,
    /// The cold path's write connection. Its transactions wait for it first and for the write lock then, so
    /// that the writer thread waits for one of them at most, however many there are.
    cold: Mutex<Option<SqliteConnection>>,
    /// Idle connections of the hot path's driver, for loading apps; `None` once it is closed.
    loaders: parking_lot::Mutex<Option<Vec<rusqlite::Connection>>>,
    loading: Offload,
    files: Files,
    /// A connection that is not used: SQLite would end the log with the last one, and the next would
    /// have another log.
    keeper: parking_lot::Mutex<Option<rusqlite::Connection>>,
    /// Given back at the close, for the next process or the next start in this one.
    lock: parking_lot::Mutex<Option<LockFile>>,
}

impl SqliteDb {
    pub(super) async fn open(options: &StorageOptions) -> Result<Self> {
        if rusqlite::version_number() < SQLITE_VERSION_MIN {
            return Err(StorageError::Open(format!(
                "SQLite {} has a bug that can lose data; 3.51.3 or later is needed",
                rusqlite::version()
            )));
        }
        includes_quotas();
        create_folder(&options.data_dir)?;
        let lock = LockFile::take(&options.data_dir)?;
        end_restore(&options.data_dir)?;
        let path = options.data_dir.join(DATABASE_FILE);
        files::check_beginning(&options.data_dir)?;
        let database = create_file(&path)?;
        // Before there is a log: a power loss that left only that would look like a lost database.
        sync_folder(&options.data_dir)?;
        // First by a connection that changes nothing: one of ours makes any file a database with a
        // log. What it cannot read, ours can tell more of.
        let looking = SqliteConnectOptions::new().filename(&path).read_only(true);
        if let Ok(mut looking) = looking.connect().await
            && let Ok(false) = is_ours(&mut looking).await
        {
            return Err(foreign(&path));
        }

        let connect = connect_options(&path);
        let mut cold = connect.connect().await.map_err(|error| cannot_open(&path, &error))?;
        if !is_ours(&mut cold).await.map_err(|error| cannot_open(&path, &error))? {
            return Err(foreign(&path));
        }
        empty_log(&mut cold).await.map_err(|error| cannot_open(&path, &error))?;
        claim(&mut cold).await.map_err(|error| cannot_open(&path, &error))?;
        migrating::sqlite(&mut cold, &MIGRATIONS).await.map_err(|error| match error {
            StorageError::Open(why) => StorageError::Open(format!("{}: {why}", path.display())),
            other => other,
        })?;
        sync_folder(&options.data_dir)?;
        let keeper = open_log(&path).map_err(|error| {
            StorageError::Open(format!("{} cannot be opened: {error}", path.display()))
        })?;
        let files = Files::of(database, lock.watched()?)?;

        let readers = SqlitePoolOptions::new()
            .max_connections(options.sqlite_readers_max)
            .max_lifetime(None)
            .idle_timeout(None)
            .test_before_acquire(false)
            .connect_lazy_with(connect.clone().pragma("query_only", "on"));
        Ok(Self(Arc::new(Inner {
            path,
            options: connect,
            readers,
            write_lock: Arc::default(),
            soundness: Soundness::default(),
            log_asks: LogAsks::default(),
            arrivals: Arc::default(),
            cold: Mutex::new(Some(cold)),
            loaders: parking_lot::Mutex::new(Some(Vec::new())),
            loading: Offload::new(LOAD_PATIENCE),
            files,
            keeper: parking_lot::Mutex::new(Some(keeper)),
            lock: parking_lot::Mutex::new(Some(lock)),
        })))
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// SQLite's log.
    pub(crate) fn log_path(&self) -> &Path {
        self.0.files.log()
    }

    /// Whether what is written goes to the files that are at their paths. To be asked after each commit,
    /// before anybody is told of it.
    ///
    /// # Errors
    /// A line that names the file, when nothing may be written any more.
    pub(crate) fn check_files(&self) -> Result<(), String> {
        self.0.files.check()
    }

    /// Who holds this may write. The writer thread takes it with `blocking_lock` for each group
    /// transaction.
    #[must_use]
    pub fn write_lock(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.0.write_lock)
    }

    /// Visitors that come in.
    pub(crate) fn arrivals(&self) -> Arc<Arrivals> {
        Arc::clone(&self.0.arrivals)
    }

    /// Whether it can still promise anything.
    pub(crate) fn soundness(&self) -> &Soundness {
        &self.0.soundness
    }

    /// Where its log is asked to be moved.
    pub(crate) fn log_asks(&self) -> &LogAsks {
        &self.0.log_asks
    }

    /// Connections that cannot write.
    #[must_use]
    pub fn readers(&self) -> &SqlitePool {
        &self.0.readers
    }

    /// Idle connections for loading apps; taken, and put back in a known state. `None` once the
    /// database is closed: then none is opened, and none kept.
    pub(crate) fn loaders(&self) -> &parking_lot::Mutex<Option<Vec<rusqlite::Connection>>> {
        &self.0.loaders
    }

    /// Where apps are loaded.
    pub(crate) fn loading(&self) -> &Offload {
        &self.0.loading
    }

    pub(super) async fn close(&self) {
        self.0.readers.close().await;
        self.0.loaders.lock().take();
        self.0.keeper.lock().take();
        let mut cold = self.0.cold.lock().await;
        let _held = self.0.write_lock.lock().await;
        if let Some(cold) = cold.take()
            && let Err(error) = cold.close().await
        {
            tracing::warn!(%error, "the database was not closed cleanly");
        }
        self.0.lock.lock().take();
    }

    pub(super) async fn attempt<I: Sync, O>(
        &self,
        input: &I,
        body: Body<I, O>,
    ) -> Result<O, Attempt> {
        let mut cold = self.0.cold.lock().await;
        let _held = self.0.write_lock.lock().await;
        if self.0.lock.lock().is_none() {
            // The folder may be another process's by now.
            return Err(Attempt::Final(StorageError::Aborted("the database is closed".into())));
        }
        let conn = match cold.take() {
            Some(conn) => conn,
            None => {
                // It opens what is there now.
                self.check_files().map_err(|why| Attempt::Final(StorageError::Broken(why)))?;
                let conn = self.0.options.connect().await;
                conn.map_err(|error| Attempt::Final(StorageError::before_commit(&error)))?
            }
        };
        // From here on the connection goes back only in a known state. A body that panics drops
        // it, which closes it and rolls back.
        let mut tx = Tx::sqlite(conn);
        if let Err(error) = tx.control("begin immediate").await {
            close(tx).await;
            return Err(StorageError::before_commit(&error).into());
        }
        let result = body(&mut tx, input).await;
        let roll_back = result.is_err() || tx.is_doomed();
        let ending = tx.control(if roll_back { "rollback" } else { "commit" }).await;
        match ending {
            Ok(()) => {
                *cold = tx.into_sqlite();
                if !roll_back {
                    self.check_files().map_err(|why| Attempt::Final(StorageError::Broken(why)))?;
                    self.0.log_asks.committed(self.log_path());
                }
            }
            Err(error) => {
                close(tx).await;
                if !roll_back {
                    return Err(match StorageError::at_commit(&error) {
                        // The pages may be on disk or not: only reading the file again, in a new
                        // process, tells.
                        StorageError::MaybeCommitted(why) => StorageError::Broken(why),
                        other => other,
                    }
                    .into());
                }
            }
        }
        Ok(result?)
    }
}

/// Closes a connection whose state is not known; the next transaction opens another.
async fn close(tx: Tx) {
    if let Some(conn) = tx.into_sqlite() {
        // Whatever it reports, it is gone afterwards.
        let _ = conn.close_hard().await;
    }
}

/// The path of a file that stands beside another one.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match faults::syncs_each_commit() {
            true => SqliteSynchronous::Full,
            false => SqliteSynchronous::Normal,
        })
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(STATEMENT_CACHE)
        .pragma("trusted_schema", "off")
        // What is purged is overwritten in the file.
        .pragma("secure_delete", "on")
        .pragma("journal_size_limit", JOURNAL_SIZE_LIMIT_BYTES)
        .pragma("cache_size", CACHE_SIZE)
        // A migration would write files outside of the data folder, where the service may not be let.
        .pragma("temp_store", "memory")
        .pragma("wal_autocheckpoint", WAL_AUTOCHECKPOINT_PAGES)
        .log_statements(log::LevelFilter::Trace)
        .log_slow_statements(log::LevelFilter::Warn, SLOW_STATEMENT)
}

/// Whether no other program has made the file. The empty table in which migrations are noted may be
/// all that a first start came to.
async fn is_ours(conn: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let mut number =
        async |sql: &'static str| sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut *conn).await;
    let id = number("pragma application_id").await?;
    if id != 0 {
        return Ok(id == APPLICATION_ID);
    }
    if number("select count(*) from sqlite_schema where tbl_name <> '_sqlx_migrations'").await? > 0
    {
        return Ok(false);
    }
    Ok(number("select count(*) from sqlite_schema").await? == 0
        || number("select count(*) from _sqlx_migrations").await? == 0)
}

/// Marks a new file before anything is in it, so that a start which is interrupted leaves a file
/// that the next one knows.
async fn claim(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let id: i64 = sqlx::query_scalar("pragma application_id").fetch_one(&mut *conn).await?;
    if id == 0 {
        let mark = format!("pragma application_id = {APPLICATION_ID}");
        conn.execute(AssertSqlSafe(mark)).await?;
    }
    Ok(())
}

/// Moves what an earlier process left in the log, before anything is appended to it: where one of its
/// syncs failed, pages of it may be in the system's cache alone, which takes them for written, and a power
/// loss would leave a hole in front of what comes. On a full disk the log stays as it is.
async fn empty_log(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    match conn.execute("pragma wal_checkpoint(truncate)").await {
        Err(error) if code(&error) == Some(libsqlite3_sys::SQLITE_FULL) => Ok(()),
        emptied => emptied.map(drop),
    }
}

fn foreign(path: &Path) -> StorageError {
    StorageError::Open(format!("{} is not a database of rookery", path.display()))
}

/// The newest migration that this build knows for SQLite.
pub(crate) fn newest_migration() -> i64 {
    migrating::newest(&MIGRATIONS)
}

/// SQLite's primary code of an error.
fn code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    Some(code & 0xff)
}

fn cannot_open(path: &Path, error: &sqlx::Error) -> StorageError {
    // A full disk is one, where a file was to grow by other means than a write.
    let hint = match code(error) == Some(libsqlite3_sys::SQLITE_IOERR) {
        true => "; the disk may be full",
        false => "",
    };
    StorageError::Open(format!("{} cannot be opened: {error}{hint}", path.display()))
}

pub(crate) fn create_folder(folder: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        StorageError::Open(format!("the folder {} cannot be made: {error}", folder.display()))
    })
}

/// Makes the names of the database and its log durable. SQLite does so too, and ignores whether it
/// succeeded.
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| {
        StorageError::Open(format!("the folder {} cannot be synced: {error}", folder.display()))
    })
}

/// Makes the file with the mode that its WAL will inherit, where there is none.
fn create_file(path: &Path) -> Result<Watched> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path);
    file.and_then(|file| Watched::opened(path.to_owned(), &file))
        .map_err(|error| StorageError::Open(format!("{}: {error}", path.display())))
}

/// A connection that has the log open.
fn open_log(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(path, flags)?;
    connection.execute_batch("pragma query_only = on")?;
    // The log is opened by the first read.
    connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// The lock that means "a process has this folder"; free when dropped, also by a crash.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    file: File,
}

impl LockFile {
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK_FILE);
        let failed = |error: &dyn std::fmt::Display| {
            StorageError::Open(format!("{} cannot be locked: {error}", path.display()))
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(StorageError::Open(format!(
                    "another rookery process uses {}: stop it first, or, for a command to it, set \
                     `ops.listen` as it has it",
                    folder.display()
                )));
            }
            Err(fs::TryLockError::Error(error)) => return Err(failed(&error)),
        }
        // For the operator who looks for the holder; the lock alone decides.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { path, file })
    }

    /// The file, to be looked at.
    fn watched(&self) -> Result<Watched> {
        Watched::opened(self.path.clone(), &self.file)
            .map_err(|error| StorageError::Open(format!("{}: {error}", self.path.display())))
    }
}

//! The database behind everything: opened once per process, SQLite or PostgreSQL.
//!
//! The cold path says each statement once, as one literal with `$1` parameters in the subset that
//! both databases share, and this room runs it on whichever is there. Invariant: a mutation runs
//! in a task of its own, so it ends whatever becomes of the caller. What is not here: the hot
//! path, which is written by hand for each database, and any statement about a table.

mod account_locks;
mod answer;
mod args;
mod files;
mod log_asks;
mod migrating;
mod needless_tls;
mod origin;
mod postgres;
mod soundness;
mod sqlite;
mod tx;
mod verbs;

use std::{
    path::PathBuf,
    pin::Pin,
    time::{Duration, Instant},
};

use rookery_domain::id::HumanId;

use self::{account_locks::AccountGuard, migrating::Pending, verbs::verbs};

use crate::{
    columns::{Column, FromColumns, read_all},
    commit::Epoch,
    error::{Result, StorageError},
    trace,
};

pub(crate) use answer::{AnswerTimeout, Silent};
pub(crate) use args::{
    Arg, Args, args, by_id, for_postgres, for_rusqlite, newest_first, oldest_first,
};
pub use files::KEY_FILE;
pub(crate) use log_asks::Connected;
pub use postgres::PostgresDb;
pub(crate) use postgres::check_writable;
pub(crate) use soundness::Soundness;
pub use sqlite::{APPLICATION_ID, DATABASE_FILE, LOCK_FILE, SqliteDb};
pub(crate) use sqlite::{
    BUSY_TIMEOUT, JOURNAL_SIZE_LIMIT_BYTES, LockFile, create_folder, newest_migration, with_suffix,
};
pub(crate) use tx::Tx;

/// How often a cold-path transaction that was certainly not applied is tried in all.
const ATTEMPTS_MAX: u32 = 4;

/// The pause before the second attempt; it doubles with each further one.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// Most connections to PostgreSQL, the writer's lanes not included.
pub(crate) const POOL_MAX: u32 = 16;

/// The writer's lanes on PostgreSQL, each with a connection of its own.
pub(crate) const POSTGRES_LANES: usize = 4;

/// Connections to PostgreSQL that a start needs: the lanes', and those that read at the same time.
pub(crate) const CONNECTIONS_AT_START: usize = POSTGRES_LANES + 4;

/// Most connections to PostgreSQL that a server has.
pub(crate) const CONNECTIONS_MAX: usize = POOL_MAX as usize + POSTGRES_LANES;

/// Answers an epoch above all that were drawn or written with.
const DRAW_EPOCH: &str = "insert into counters (name, value)
     values ('epoch', (select coalesce(max(epoch), 0) + 1 from app_head))
     on conflict (name) do update set value =
         case when excluded.value > counters.value then excluded.value
              else counters.value + 1 end
     returning value";

/// Notes that the process start with the epoch `$1` serves the database, or a later one does already.
const SERVE: &str = "insert into counters (name, value) values ('serving', $1)
     on conflict (name) do update set value =
         case when excluded.value > counters.value then excluded.value else counters.value end";

/// Where the database is and how many connections it may use.
#[derive(Debug, Clone)]
pub struct StorageOptions {
    /// `postgres://...`; `None` is SQLite in `data_dir`. It may hold a password.
    pub database_url: Option<DatabaseUrl>,
    /// The folder of the SQLite file, made with mode 0700 when absent.
    pub data_dir: PathBuf,
    /// Read connections to SQLite.
    pub sqlite_readers_max: u32,
    /// Connections to PostgreSQL, the writer's lanes not included.
    pub postgres_connections_max: u32,
    /// How long PostgreSQL may take to answer. Far above the time-out of its locks: a connection
    /// that is silent for so long is taken for lost.
    pub postgres_answer_timeout: Duration,
}

impl StorageOptions {
    /// SQLite in this folder.
    #[must_use]
    pub fn sqlite(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            database_url: None,
            data_dir: data_dir.into(),
            sqlite_readers_max: 4,
            postgres_connections_max: POOL_MAX,
            postgres_answer_timeout: Duration::from_secs(30),
        }
    }

    /// PostgreSQL at this address.
    #[must_use]
    pub fn postgres(url: impl Into<String>, data_dir: impl Into<PathBuf>) -> Self {
        Self { database_url: Some(DatabaseUrl(url.into())), ..Self::sqlite(data_dir) }
    }
}

/// The address of a PostgreSQL database. Its `Debug` shows nothing: it may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(pub String);

impl DatabaseUrl {
    /// Whether the driver can read it.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        postgres::options_of(self).is_some()
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DatabaseUrl(..)")
    }
}

/// An open database, cheap to clone.
#[derive(Debug, Clone)]
pub enum Db {
    /// One file, one process.
    Sqlite(SqliteDb),
    /// A server.
    Postgres(PostgresDb),
}

/// What runs inside a transaction. It is a plain function of its input, so that it can run again
/// after a deadlock.
pub(crate) type Body<I, O> =
    for<'t> fn(&'t mut Tx, &'t I) -> Pin<Box<dyn Future<Output = Result<O>> + Send + 't>>;

impl Db {
    /// Opens the database, creates it where there is none, and migrates it.
    ///
    /// # Errors
    /// [`StorageError::Open`] with one line for the operator, [`StorageError::Newer`] when a
    /// newer build has been here.
    pub async fn connect(options: &StorageOptions) -> Result<Self> {
        Self::open(options, Pending::Applied).await
    }

    /// Opens the database for somebody who is beside the server that may serve it. SQLite's is this
    /// process's alone, and migrated; PostgreSQL's stays as that server knows it.
    ///
    /// # Errors
    /// As [`Db::connect`], and [`StorageError::Open`] when PostgreSQL's is yet to be migrated.
    pub async fn connect_beside(options: &StorageOptions) -> Result<Self> {
        Self::open(options, Pending::Refused).await
    }

    async fn open(options: &StorageOptions, pending: Pending) -> Result<Self> {
        Ok(match &options.database_url {
            None => Self::Sqlite(SqliteDb::open(options).await?),
            Some(url) => {
                if options.data_dir.join(DATABASE_FILE).exists() {
                    tracing::warn!(
                        data_dir = %options.data_dir.display(),
                        "what {DATABASE_FILE} holds is not in this PostgreSQL database, and is not read"
                    );
                }
                Self::Postgres(PostgresDb::open(url, options, pending).await?)
            }
        })
    }

    /// Closes all connections and, for SQLite, frees the folder for another process. What is begun
    /// afterwards is refused.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(db) => db.close().await,
            Self::Postgres(db) => db.pool().close().await,
        }
    }

    /// Whether it can still promise anything.
    pub(crate) fn soundness(&self) -> &Soundness {
        match self {
            Self::Sqlite(db) => db.soundness(),
            Self::Postgres(db) => db.soundness(),
        }
    }

    /// Bytes of SQLite's file and its log; `None` where there is none: on PostgreSQL, and when
    /// somebody has taken the file away.
    #[must_use]
    pub fn file_bytes(&self) -> Option<u64> {
        let Self::Sqlite(db) = self else { return None };
        let file = std::fs::metadata(db.path()).ok()?.len();
        let log = std::fs::metadata(db.log_path());
        Some(file + log.map_or(0, |log| log.len()))
    }

    /// Ends all writing where SQLite's files are not the ones at their paths any more: what is written
    /// would be lost.
    ///
    /// # Errors
    /// [`StorageError::Broken`], which names the file.
    pub fn check_files(&self) -> Result<()> {
        let Self::Sqlite(db) = self else { return Ok(()) };
        db.check_files().map_err(|why| {
            db.soundness().break_for(&why);
            StorageError::Broken(why)
        })
    }

    /// Draws the epoch of this process start: higher than any before it, also where the tables were
    /// put back from different moments, and apps were written with one that the counter never saw.
    ///
    /// # Errors
    /// Any [`StorageError`].
    pub async fn next_epoch(&self) -> Result<Epoch> {
        self.transaction((), |tx, ()| {
            Box::pin(async move {
                let (epoch,): (i64,) = tx.one(DRAW_EPOCH, args![]).await?;
                Ok(Epoch(epoch))
            })
        })
        .await
    }

    /// Notes that the process start with this epoch serves the database from now on. One that fails before
    /// it can serve has drawn an epoch as well, and has taken nothing over.
    pub(crate) async fn serve(&self, epoch: Epoch) -> Result<()> {
        self.execute(SERVE, args![epoch.0]).await.map(drop)
    }

    /// The newest epoch that serves the database; 0 where none does.
    pub(crate) async fn serving_epoch(&self) -> Result<Epoch> {
        let newest =
            self.value("select value from counters where name = 'serving'", args![]).await?;
        Ok(Epoch(newest.unwrap_or_default()))
    }

    /// The newest epoch that any process start has drawn; 0 where none has. A command that writes with it
    /// works beside the server that drew it, and fences nobody.
    ///
    /// # Errors
    /// Any [`StorageError`].
    pub async fn newest_epoch(&self) -> Result<Epoch> {
        let newest = self.value("select value from counters where name = 'epoch'", args![]).await?;
        Ok(Epoch(newest.unwrap_or_default()))
    }

    /// Runs `body` in one transaction: committed when it returns `Ok`, rolled back when it
    /// fails, panics, or calls [`Tx::abandon`]. It runs to its end even when the returned future
    /// is dropped, and again when it was certainly not applied for a reason that passes. A broken
    /// store ends all writing: this, and the writer's.
    pub(crate) async fn transaction<I, O>(&self, input: I, body: Body<I, O>) -> Result<O>
    where
        I: Send + Sync + 'static,
        O: Send + 'static,
    {
        self.run(None, input, body).await
    }

    /// As [`Db::transaction`], of a `body` that locks this account. On PostgreSQL it waits without a
    /// connection for the others that do, and no longer than anybody waits for it.
    pub(crate) async fn transaction_with<I, O>(
        &self,
        account: HumanId,
        input: I,
        body: Body<I, O>,
    ) -> Result<O>
    where
        I: Send + Sync + 'static,
        O: Send + 'static,
    {
        let guard = match self {
            // One writer at a time, whatever it writes.
            Self::Sqlite(_) => None,
            Self::Postgres(db) => Some(db.account_locks().with(account).await?),
        };
        self.run(guard, input, body).await
    }

    async fn run<I, O>(&self, guard: Option<AccountGuard>, input: I, body: Body<I, O>) -> Result<O>
    where
        I: Send + Sync + 'static,
        O: Send + 'static,
    {
        let db = self.clone();
        let began = Instant::now();
        let task = tokio::spawn(async move {
            let _guard = guard;
            let mut attempt = 1;
            loop {
                if let Some(why) = db.soundness().broken() {
                    return Err(StorageError::Broken(why));
                }
                if db.soundness().full_at.hit() {
                    return Err(StorageError::Full);
                }
                let result = match &db {
                    Self::Sqlite(db) => db.attempt(&input, body).await,
                    Self::Postgres(db) => db.attempt(&input, body).await,
                };
                match result {
                    Err(Attempt::Again(_)) if attempt < ATTEMPTS_MAX => {
                        tokio::time::sleep(RETRY_PAUSE * 2u32.pow(attempt - 1)).await;
                        attempt += 1;
                    }
                    Err(Attempt::Again(error) | Attempt::Final(error)) => {
                        if let StorageError::Broken(why) = &error {
                            db.soundness().break_for(why);
                        }
                        return Err(error);
                    }
                    Ok(value) => return Ok(value),
                }
            }
        });
        let result = match task.await {
            Ok(result) => result,
            // A body that panics has not reached COMMIT; a runtime that ends tells nothing.
            Err(error) if error.is_panic() => {
                Err(StorageError::Refused("a transaction panicked".into()))
            }
            Err(_) => Err(StorageError::MaybeCommitted("the runtime has ended".into())),
        };
        trace::transaction_ended(began, &result);
        result
    }

    /// Runs one statement that changes something, in a transaction of its own; the number of
    /// rows it changed.
    pub(crate) async fn execute(&self, sql: &'static str, args: Args) -> Result<u64> {
        self.transaction((sql, args), |tx, (sql, args)| Box::pin(tx.execute(sql, args.clone())))
            .await
    }

    /// Runs one changing statement with a `returning` clause.
    pub(crate) async fn returning<T: FromColumns + Send + 'static>(
        &self,
        sql: &'static str,
        args: Args,
    ) -> Result<Option<T>> {
        self.transaction((sql, args), |tx, (sql, args)| Box::pin(tx.optional(sql, args.clone())))
            .await
    }

    /// All rows of a query, outside of any transaction.
    pub(crate) async fn all<T: FromColumns>(
        &self,
        sql: &'static str,
        args: Args,
    ) -> Result<Vec<T>> {
        let failed = |error: sqlx::Error| StorageError::before_commit(&error).of_read();
        // Boxed: the driver's state takes kilobytes, which every future around it would carry, of
        // those too that only read when memory does not know.
        match self {
            Self::Sqlite(db) => {
                let rows = Box::pin(tx::all_sqlite(db.readers(), sql, &args)).await;
                read_all(&rows.map_err(failed)?)
            }
            Self::Postgres(db) => {
                let rows = Box::pin(db.all(sql, &args)).await;
                read_all(&rows.map_err(failed)?)
            }
        }
    }

    verbs!();
}

/// How one attempt at a transaction failed.
pub(crate) enum Attempt {
    /// Certainly not applied, for a reason that passes.
    Again(StorageError),
    /// Anything else.
    Final(StorageError),
}

impl From<StorageError> for Attempt {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Aborted(_) => Self::Again(error),
            _ => Self::Final(error),
        }
    }
}

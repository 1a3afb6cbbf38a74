//! How storage fails: first of all, whether the failure is certain.
//!
//! A caller may tell its client "not applied, try again" only when that is known. So every error
//! of a driver is sorted here, once, by what it says about the transaction it hit. Outcomes that
//! a caller expects (a slug is taken, a code is spent) are not errors and not here.

use rookery_domain::Error as DomainError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// A failure of the database, sorted by what is known afterwards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// Certainly not applied; the same request may succeed later (connection refused, deadlock,
    /// serialization failure, busy, no file descriptor left).
    #[error("the database did not apply this: {0}")]
    Aborted(String),
    /// Certainly not applied: no space is left.
    #[error("the database has no space left")]
    Full,
    /// Certainly not applied, and sending it again will not help: the database refused a
    /// statement. A bug of ours.
    #[error("the database refused a statement: {0}")]
    Refused(String),
    /// The connection was lost around COMMIT: it may or may not be durable. Never retried.
    #[error("the outcome of a commit is unknown: {0}")]
    MaybeCommitted(String),
    /// The store can no longer promise anything (an fsync failed, the file is corrupt): the
    /// process must end.
    #[error("the database is broken: {0}")]
    Broken(String),
    /// A stored value is not what this build writes.
    #[error("stored {what} cannot be read: {why}")]
    Corrupt {
        /// What was being read.
        what: &'static str,
        /// What is wrong with it, without its content.
        why: String,
    },
    /// The database cannot be opened; the text is one line that says why.
    #[error("{0}")]
    Open(String),
    /// A newer build has migrated this database.
    #[error(
        "the database was written by a newer version of rookery (migration {found}; this build \
         knows up to {known}): start that version"
    )]
    Newer {
        /// The newest migration in the database.
        found: i64,
        /// The newest migration of this build.
        known: i64,
    },
    /// Certainly not applied: the same request was answered before.
    #[error("the request was answered before")]
    Answered,
    /// This database cannot do that; the text says what to use.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// A result of storage.
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

impl StorageError {
    /// Whether the change is certainly not applied.
    #[must_use]
    pub const fn is_certain(&self) -> bool {
        !matches!(self, Self::MaybeCommitted(_) | Self::Broken(_))
    }

    /// Sorts an error that came before COMMIT was sent: nothing of it is applied.
    #[must_use]
    pub(crate) fn before_commit(error: &sqlx::Error) -> Self {
        match Cause::of(error) {
            Cause::Full => Self::Full,
            Cause::Broken(why) => Self::Broken(why),
            Cause::Transient(why) | Cause::Lost(why) => Self::Aborted(why),
            Cause::Refused(why) => Self::Refused(why),
        }
    }

    /// Sorts the error of a COMMIT.
    #[must_use]
    pub(crate) fn at_commit(error: &sqlx::Error) -> Self {
        match Cause::of(error) {
            Cause::Lost(why) => Self::MaybeCommitted(why),
            _ => Self::before_commit(error),
        }
    }

    /// This failure as that of a read, which has no outcome that could be unknown.
    #[must_use]
    pub(crate) fn of_read(self) -> Self {
        match self {
            Self::MaybeCommitted(why) => Self::Aborted(why),
            Self::Broken(why) => Self::Refused(why),
            certain => certain,
        }
    }

    /// Sorts an error of the hot path's SQLite driver, whatever the moment it came at: a lost
    /// connection is [`StorageError::MaybeCommitted`].
    #[must_use]
    pub(crate) fn of_rusqlite(error: &rusqlite::Error) -> Self {
        let why = error.to_string();
        let code = error.sqlite_error().map_or(0, |error| error.extended_code);
        match Cause::of_sqlite(code, why) {
            Cause::Full => Self::Full,
            Cause::Broken(why) => Self::Broken(why),
            Cause::Transient(why) => Self::Aborted(why),
            Cause::Lost(why) => Self::MaybeCommitted(why),
            Cause::Refused(why) => Self::Refused(why),
        }
    }

    pub(crate) fn corrupt(what: &'static str, why: impl ToString) -> Self {
        Self::Corrupt { what, why: why.to_string() }
    }
}

impl From<StorageError> for DomainError {
    fn from(error: StorageError) -> Self {
        let answer = match error {
            StorageError::Aborted(_) => Self::unavailable("the database cannot do this now"),
            StorageError::Answered => Self::unavailable("the same request is answered just now"),
            StorageError::Full => Self::unavailable("the database has no space left"),
            StorageError::MaybeCommitted(_) | StorageError::Broken(_) => Self::unknown_outcome(),
            StorageError::Refused(_)
            | StorageError::Corrupt { .. }
            | StorageError::Open(_)
            | StorageError::Newer { .. }
            | StorageError::Unsupported(_) => Self::internal(),
        };
        answer.caused_by(error)
    }
}

/// What an error says, without the line of PostgreSQL's source that the driver adds.
pub(crate) fn plain(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

/// Whether a statement was prepared before somebody changed a type in a table. It is refused as long as its
/// session lasts.
pub(crate) fn is_stale_plan(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|it| it.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| error.routine() == Some("RevalidateCachedQuery"))
}

/// What a driver's error says, whatever the moment it came at.
enum Cause {
    Full,
    Broken(String),
    /// The database answered: not now.
    Transient(String),
    /// No answer came, or one that does not tell how a COMMIT ended.
    Lost(String),
    /// The database answered: never.
    Refused(String),
}

impl Cause {
    fn of(error: &sqlx::Error) -> Self {
        use sqlx::Error as E;
        let why = error.to_string();
        match error {
            E::Database(database) => {
                if is_stale_plan(error) {
                    Self::Transient(why)
                } else if let Some(pg) = database.try_downcast_ref::<PgDatabaseError>() {
                    Self::of_postgres(pg.severity(), pg.code(), why)
                } else {
                    let code = database.code().and_then(|code| code.parse().ok()).unwrap_or(0);
                    Self::of_sqlite(code, why)
                }
            }
            E::PoolTimedOut | E::PoolClosed | E::BeginFailed => Self::Transient(why),
            E::Io(_) | E::Tls(_) | E::Protocol(_) | E::WorkerCrashed => Self::Lost(why),
            _ => Self::Refused(why),
        }
    }

    /// By SQLSTATE (PostgreSQL documentation, appendix A).
    fn of_postgres(severity: PgSeverity, code: &str, why: String) -> Self {
        match code {
            // All of the server has stopped, maybe with a COMMIT in its log: its recovery will tell.
            _ if severity == PgSeverity::Panic => Self::Lost(why),
            // disk_full.
            "53100" => Self::Full,
            // data_corrupted, index_corrupted.
            "XX001" | "XX002" => Self::Broken(why),
            // serialization_failure, deadlock_detected, lock_not_available, query_canceled.
            "40001" | "40P01" | "55P03" | "57014" => Self::Transient(why),
            // read_only_sql_transaction: a standby, or a server that protects itself. io_error,
            // and a password or database that an operator is about to put right.
            "25006" | "58030" | "3D000" => Self::Transient(why),
            // idle_in_transaction_session_timeout: one of us was stopped for a while, and the transaction
            // has ended before COMMIT was read.
            "25P03" => Self::Transient(why),
            // feature_not_supported, object_not_in_prerequisite_state: what a standby also says.
            "0A000" | "55000" if why.contains("recovery") => Self::Transient(why),
            _ if code.starts_with("28") => Self::Transient(why),
            // A server that shuts down may have committed already; 40003 says so itself.
            "40003" => Self::Lost(why),
            _ if code.starts_with("57P") || code.starts_with("08") => Self::Lost(why),
            // The other resources pass: out of memory, too many connections.
            _ if code.starts_with("53") => Self::Transient(why),
            // It ended the connection, most of all one that was being made: no statement is at fault.
            _ if severity == PgSeverity::Fatal => Self::Lost(why),
            _ => Self::Refused(why),
        }
    }

    /// By SQLite's extended result code.
    fn of_sqlite(code: i32, why: String) -> Self {
        use libsqlite3_sys as ffi;
        match code {
            ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => return Self::Broken(why),
            _ => {}
        }
        match code & 0xff {
            ffi::SQLITE_FULL => Self::Full,
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => Self::Broken(why),
            // CANTOPEN once a database is open: the process has no file descriptor left for another
            // connection to it.
            ffi::SQLITE_BUSY
            | ffi::SQLITE_LOCKED
            | ffi::SQLITE_NOMEM
            | ffi::SQLITE_INTERRUPT
            | ffi::SQLITE_CANTOPEN => Self::Transient(why),
            ffi::SQLITE_IOERR => Self::Lost(why),
            _ => Self::Refused(why),
        }
    }
}

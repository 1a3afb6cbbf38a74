//! Parameters of a statement, and their encoding for both databases.
//!
//! The portable subset has three types: BIGINT, TEXT and bytes. A null keeps its type, because
//! PostgreSQL infers a parameter's type from what is bound. What the domain's values are bound as is
//! in [`crate::values`].

use std::sync::Arc;

use rookery_domain::Timestamp;
use sqlx::{Arguments as _, postgres::PgArguments, sqlite::SqliteArguments};

/// One bound parameter.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    /// BIGINT.
    Int(Option<i64>),
    /// TEXT.
    Text(Option<String>),
    /// BLOB or BYTEA.
    Bytes(Option<Vec<u8>>),
    /// The same, where others have it too: a file.
    Shared(Arc<[u8]>),
}

/// The parameters `$1`, `$2`, ... of a statement.
pub(crate) type Args = Vec<Arg>;

/// `args![a, b]`: the parameters of a statement, from anything that is an [`Arg`].
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Arg::from($value)),*] };
}
pub(crate) use args;

/// The position behind which a list goes on, newest first, as two parameters. The first page's is
/// newer than anything, so that it needs no statement of its own.
pub(crate) fn newest_first(after: Option<(Timestamp, impl Into<Arg>)>) -> (Timestamp, Arg) {
    match after {
        Some((at, id)) => (at, id.into()),
        None => (Timestamp(i64::MAX), [0xff; 16].into()),
    }
}

/// The same, oldest first: the first page's is older than anything.
pub(crate) fn oldest_first(after: Option<(Timestamp, impl Into<Arg>)>) -> (Timestamp, Arg) {
    let (at, id) = after.unzip();
    (at.unwrap_or(Timestamp(i64::MIN)), by_id(id))
}

/// The id behind which a list in the order of ids goes on. The first page's is below any that is drawn.
pub(crate) fn by_id(after: Option<impl Into<Arg>>) -> Arg {
    after.map_or_else(|| [0; 16].into(), Into::into)
}

pub(super) fn for_sqlite(args: &[Arg]) -> Result<SqliteArguments, sqlx::Error> {
    let mut out = SqliteArguments::default();
    for arg in args.iter().cloned() {
        match arg {
            Arg::Int(value) => out.add(value),
            Arg::Text(value) => out.add(value),
            Arg::Bytes(value) => out.add(value),
            Arg::Shared(value) => out.add(value.to_vec()),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(out)
}

/// Hands the parameters to a prepared statement of the hot path's SQLite driver.
pub(crate) fn for_rusqlite(args: &[Arg]) -> impl rusqlite::Params + '_ {
    rusqlite::params_from_iter(args.iter().map(|arg| match arg {
        Arg::Int(value) => value as &dyn rusqlite::ToSql,
        Arg::Text(value) => value,
        Arg::Bytes(value) => value,
        Arg::Shared(value) => value,
    }))
}

pub(crate) fn for_postgres(args: &[Arg]) -> Result<PgArguments, sqlx::Error> {
    let mut out = PgArguments::default();
    for arg in args {
        match arg {
            Arg::Int(value) => out.add(*value),
            Arg::Text(value) => out.add(value.as_deref()),
            Arg::Bytes(value) => out.add(value.as_deref()),
            Arg::Shared(value) => out.add(&value[..]),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(out)
}

impl From<i64> for Arg {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<i32> for Arg {
    fn from(value: i32) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<u64> for Arg {
    /// Numbers above `i64::MAX` keep their bits (keyed hashes); counts never get there.
    fn from(value: u64) -> Self {
        Self::Int(Some(value.cast_signed()))
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Self {
        Self::Int(Some(value.into()))
    }
}

impl From<Option<i64>> for Arg {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Arg {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Arg {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<&String> for Arg {
    fn from(value: &String) -> Self {
        Self::from(value.as_str())
    }
}

impl From<Option<&str>> for Arg {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(str::to_owned))
    }
}

impl From<&[u8]> for Arg {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(Some(value.to_vec()))
    }
}

impl From<Arc<[u8]>> for Arg {
    fn from(value: Arc<[u8]>) -> Self {
        Self::Shared(value)
    }
}

impl<const N: usize> From<[u8; N]> for Arg {
    fn from(value: [u8; N]) -> Self {
        Self::Bytes(Some(value.to_vec()))
    }
}

impl<const N: usize> From<Option<[u8; N]>> for Arg {
    fn from(value: Option<[u8; N]>) -> Self {
        Self::Bytes(value.map(|bytes| bytes.to_vec()))
    }
}

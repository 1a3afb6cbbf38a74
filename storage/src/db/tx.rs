//! A cold-path transaction: one set of verbs over either database's connection.

use sqlx::{
    AssertSqlSafe, Executor, PgConnection, Postgres, SqlSafeStr as _, SqlStr, Sqlite,
    SqliteConnection, pool::PoolConnection, postgres::PgRow, query_with, sqlite::SqliteRow,
};

use super::{AnswerTimeout, Arg, Args, Silent, args, verbs::verbs};
use crate::{
    columns::{Column, FromColumns, read_all},
    error::{Result, StorageError, is_stale_plan},
};

/// Parameters of one generated multi-row insert; SQLite admits 32,766, PostgreSQL 65,535.
const INSERT_PARAMETERS_MAX: usize = 2_000;

/// An open transaction. BEGIN and COMMIT are sent by its owner, never through sqlx's counter.
pub(crate) struct Tx {
    conn: Conn,
    /// A statement failed or the body gave up: this transaction is never committed.
    doomed: bool,
    /// A statement waited for a lock as long as PostgreSQL lets it.
    waited: bool,
    /// A statement was refused for what its session was made with, or has prepared.
    stale: bool,
}

enum Conn {
    Sqlite(Box<SqliteConnection>),
    Postgres(Pooled),
}

/// A pooled connection in the middle of a transaction: dropped as it is, it is closed instead of
/// going back to the pool with the transaction still open.
struct Pooled {
    /// `None` once it is the pool's again, or was silent for too long.
    conn: Option<PoolConnection<Postgres>>,
    answer_timeout: AnswerTimeout,
}

impl Pooled {
    fn get(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.conn.as_deref_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// What came of a statement; a connection that was silent is closed.
    fn heard<T>(
        &mut self,
        answer: Result<Result<T, sqlx::Error>, Silent>,
    ) -> Result<T, sqlx::Error> {
        answer.unwrap_or_else(|silent| {
            self.close();
            Err(silent.into())
        })
    }

    async fn all(&mut self, sql: &'static str, args: &[Arg]) -> Result<Vec<PgRow>, sqlx::Error> {
        let timeout = self.answer_timeout;
        let answer = timeout.of(all_postgres(self.get()?, sql, args)).await;
        self.heard(answer)
    }

    async fn execute(
        &mut self,
        sql: SqlStr,
        args: &[Arg],
        keep_prepared: bool,
    ) -> Result<u64, sqlx::Error> {
        let timeout = self.answer_timeout;
        let statement = query_with::<Postgres, _>(sql, args::for_postgres(args)?);
        let answer = timeout.of(statement.persistent(keep_prepared).execute(self.get()?)).await;
        self.heard(answer).map(|done| done.rows_affected())
    }

    fn close(&mut self) {
        if let Some(conn) = self.conn.take() {
            drop(conn.detach());
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.close();
    }
}

impl Tx {
    pub(super) fn sqlite(conn: SqliteConnection) -> Self {
        Self { conn: Conn::Sqlite(Box::new(conn)), doomed: false, waited: false, stale: false }
    }

    pub(super) fn postgres(conn: PoolConnection<Postgres>, answer_timeout: AnswerTimeout) -> Self {
        let conn = Pooled { conn: Some(conn), answer_timeout };
        Self { conn: Conn::Postgres(conn), doomed: false, waited: false, stale: false }
    }

    pub(super) const fn is_doomed(&self) -> bool {
        self.doomed
    }

    /// Whether a statement had all the time that there is: for a lock, or for the server's answer.
    pub(super) const fn has_waited(&self) -> bool {
        self.waited || matches!(&self.conn, Conn::Postgres(Pooled { conn: None, .. }))
    }

    /// The SQLite connection, when it is one.
    pub(super) fn into_sqlite(self) -> Option<SqliteConnection> {
        match self.conn {
            Conn::Sqlite(conn) => Some(*conn),
            Conn::Postgres(_) => None,
        }
    }

    /// Whether its session is of no use any more: it only reads, which outlives the setting of its role or
    /// database that made it so, or has prepared statements for tables that somebody has changed since.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale
    }

    /// The PostgreSQL connection, when it is one, back to the pool's care.
    pub(super) fn into_postgres(self) -> Option<PoolConnection<Postgres>> {
        match self.conn {
            Conn::Postgres(mut pooled) => pooled.conn.take(),
            Conn::Sqlite(_) => None,
        }
    }

    /// Sends BEGIN, COMMIT or ROLLBACK.
    pub(super) async fn control(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        match &mut self.conn {
            Conn::Sqlite(conn) => conn.execute(sql).await.map(|_| ()),
            Conn::Postgres(pooled) => {
                let timeout = pooled.answer_timeout;
                let answer = timeout.of(pooled.get()?.execute(sql)).await;
                pooled.heard(answer).map(|_| ())
            }
        }
    }

    /// Rolls everything back when the body returns, even with `Ok`: for an expected outcome that
    /// was found after the first write.
    pub(crate) const fn abandon(&mut self) {
        self.doomed = true;
    }

    /// Runs a statement; the number of rows it changed.
    pub(crate) async fn execute(&mut self, sql: &'static str, args: Args) -> Result<u64> {
        let result = self.conn.execute(sql.into_sql_str(), &args, true).await;
        self.doom_on_error(result)
    }

    /// All rows of a statement.
    pub(crate) async fn all<T: FromColumns>(
        &mut self,
        sql: &'static str,
        args: Args,
    ) -> Result<Vec<T>> {
        let records = match &mut self.conn {
            Conn::Sqlite(conn) => {
                let rows = all_sqlite(&mut **conn, sql, &args).await;
                read_all(&self.doom_on_error(rows)?)
            }
            Conn::Postgres(pooled) => {
                let rows = pooled.all(sql, &args).await;
                read_all(&self.doom_on_error(rows)?)
            }
        };
        self.doomed |= records.is_err();
        records
    }

    verbs!(mut);

    /// Inserts many rows with few statements. `insert` ends before `values`, `conflict` follows
    /// the last row; each row has the same number of parameters.
    pub(crate) async fn insert_many(
        &mut self,
        insert: &'static str,
        conflict: &'static str,
        rows: Vec<Args>,
    ) -> Result<u64> {
        let Some(columns) = rows.first().map(Vec::len) else { return Ok(0) };
        let per_statement = (INSERT_PARAMETERS_MAX / columns.max(1)).max(1);
        let mut changed = 0;
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let chunk: Vec<Args> = rows.by_ref().take(per_statement).collect();
            let numbered = matches!(self.conn, Conn::Postgres(_));
            let sql = multi_values(insert, conflict, columns, chunk.len(), numbered);
            let args: Vec<Arg> = chunk.into_iter().flatten().collect();
            // Built from literals and parameters only.
            let sql = AssertSqlSafe(sql).into_sql_str();
            let result = self.conn.execute(sql, &args, false).await;
            changed += self.doom_on_error(result)?;
        }
        Ok(changed)
    }

    fn doom_on_error<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T> {
        result.map_err(|error| {
            self.doomed = true;
            self.waited |= has_code(&error, LOCK_NOT_AVAILABLE);
            self.stale |= has_code(&error, READ_ONLY_SQL_TRANSACTION) || is_stale_plan(&error);
            StorageError::before_commit(&error)
        })
    }
}

impl Conn {
    async fn execute(
        &mut self,
        sql: SqlStr,
        args: &[Arg],
        keep_prepared: bool,
    ) -> Result<u64, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(conn) => query_with::<Sqlite, _>(sql, args::for_sqlite(args)?)
                .persistent(keep_prepared)
                .execute(&mut **conn)
                .await?
                .rows_affected(),
            Self::Postgres(pooled) => pooled.execute(sql, args, keep_prepared).await?,
        })
    }
}

/// The statement for so many rows. To SQLite a `$1` is a name, which it compares with all the names
/// before it; it gets plain `?`, and a deployment with a thousand rows takes a tenth of the time.
fn multi_values(
    insert: &str,
    conflict: &str,
    columns: usize,
    rows: usize,
    numbered: bool,
) -> String {
    use std::fmt::Write as _;
    let mut sql = String::with_capacity(insert.len() + conflict.len() + rows * columns * 6 + 16);
    sql.push_str(insert);
    sql.push_str(" values ");
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            sql.push_str(if column == 0 { "" } else { ", " });
            if numbered {
                // Writing to a String cannot fail.
                let _ = write!(sql, "${}", row * columns + column + 1);
            } else {
                sql.push('?');
            }
        }
        sql.push(')');
    }
    sql.push(' ');
    sql.push_str(conflict);
    sql
}

pub(super) async fn all_sqlite<'c>(
    executor: impl Executor<'c, Database = Sqlite>,
    sql: &'static str,
    args: &[Arg],
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    query_with(sql, args::for_sqlite(args)?).fetch_all(executor).await
}

pub(super) async fn all_postgres<'c>(
    executor: impl Executor<'c, Database = Postgres>,
    sql: &'static str,
    args: &[Arg],
) -> Result<Vec<PgRow>, sqlx::Error> {
    query_with(sql, args::for_postgres(args)?).fetch_all(executor).await
}

/// Whether the connection broke before the answer came.
pub(super) const fn is_lost(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_) | sqlx::Error::Protocol(_))
}

const LOCK_NOT_AVAILABLE: &str = "55P03";
const READ_ONLY_SQL_TRANSACTION: &str = "25006";

fn has_code(error: &sqlx::Error, code: &str) -> bool {
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some(code)
}

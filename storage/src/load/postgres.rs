//! Loading from PostgreSQL: one repeatable-read transaction, in a task that runs to its end.
//!
//! A COMMIT that was answered too late may land after the writer has given it up. Its transaction
//! holds the lock of the app's head until then, so a load takes that lock once before it looks.

use rookery_domain::id::AppId;
use sqlx::{
    Arguments as _, AssertSqlSafe, Executor as _, Postgres, SqlSafeStr as _, SqlStr,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow},
    query, query_with,
};

use super::{
    LoadOptions, LoadedApp,
    assemble::{self, Assembly, first_day},
    rows::{self, ReadRows},
};
use crate::{
    db::PostgresDb,
    error::{Result, StorageError},
};

pub(super) async fn load(
    db: PostgresDb,
    app: AppId,
    options: LoadOptions,
) -> Result<Option<LoadedApp>> {
    let task = tokio::spawn(async move {
        let mut connection =
            db.acquire().await.map_err(|error| StorageError::before_commit(&error))?;
        let timeout = db.answer_timeout();
        let loaded = timeout.of(snapshot(&mut connection, app, options)).await;
        let is_sound = matches!(loaded, Ok(Ok(_)))
            && matches!(timeout.of(connection.execute("rollback")).await, Ok(Ok(_)));
        if !is_sound {
            // Its state is not known, or it may be refused again; the pool must not have it back.
            drop(connection.detach());
        }
        loaded
            .unwrap_or_else(|silent| Err(StorageError::before_commit(&silent.into())))
            .map_err(StorageError::of_read)
    });
    task.await.map_err(|error| StorageError::Refused(format!("a load ended early: {error}")))?
}

/// Begins the snapshot once no commit of the app is under way: one that was given up has ended one
/// way or the other by then. All in one message, so that it costs no round trip; the lock goes with a
/// rollback, for which nothing is flushed. It is waited for as long as `lock_timeout` lets it. Read
/// write, also where an operator has made transactions read only, so that apps go on waking there.
fn begin(app: AppId) -> SqlStr {
    let id = app.uuid().simple();
    AssertSqlSafe(format!(
        "begin read write;
         select 1 from app_head where app_id = '\\x{id}' for update;
         rollback;
         begin isolation level repeatable read read only"
    ))
    .into_sql_str()
}

async fn snapshot(
    connection: &mut PoolConnection<Postgres>,
    app: AppId,
    options: LoadOptions,
) -> Result<Option<LoadedApp>> {
    connection.execute(begin(app)).await.map_err(|error| StorageError::before_commit(&error))?;
    let uuid = app.uuid();
    let id = &uuid.as_bytes()[..];
    let record = query(assemble::RECORD)
        .bind(id)
        .fetch_optional(&mut **connection)
        .await
        .map_err(|error| StorageError::before_commit(&error))?;
    let Some(record) = record else { return Ok(None) };
    let mut assembly = Assembly::new(app, &record)?;
    let head = fetch(connection, assemble::HEAD, id, Some(assembly.version())).await?;
    assembly.head(head.first().ok_or_else(assemble::without_head)?)?;
    let mut read = ReadRows::new(assembly.written().totals.live);
    for row in fetch(connection, rows::ALL, id, None).await? {
        read.row(&row);
    }
    assembly.rows(read);
    for row in fetch(connection, assemble::BUDGETS, id, Some(first_day(options))).await? {
        assembly.budget(&row);
    }
    for row in fetch(connection, assemble::CHALLENGES, id, Some(options.now.0)).await? {
        assembly.challenge(&row);
    }
    for row in fetch(connection, assemble::MEMBERS, id, None).await? {
        assembly.member(&row);
    }
    for row in fetch(connection, assemble::GRANTS, id, None).await? {
        assembly.grant(&row);
    }
    for row in fetch(connection, assemble::PREVIEWS, id, None).await? {
        assembly.preview(&row);
    }
    for row in fetch(connection, assemble::CREDENTIALS, id, None).await? {
        assembly.credential(&row);
    }
    for row in fetch(connection, assemble::TAIL, id, Some(options.tail_events.into())).await? {
        assembly.event(&row);
    }
    Ok(Some(assembly.finish()))
}

async fn fetch(
    connection: &mut PoolConnection<Postgres>,
    sql: &'static str,
    app: &[u8],
    second: Option<i64>,
) -> Result<Vec<PgRow>> {
    let mut arguments = PgArguments::default();
    let mut bound = arguments.add(app);
    if let Some(second) = second {
        bound = bound.and_then(|()| arguments.add(second));
    }
    bound.map_err(|error| StorageError::Refused(error.to_string()))?;
    query_with(sql, arguments)
        .fetch_all(&mut **connection)
        .await
        .map_err(|error| StorageError::before_commit(&error))
}

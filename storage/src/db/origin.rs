//! Whether a PostgreSQL database is still the one that it was. A restored dump, a copy, or a standby
//! that took over may lack what clients have seen. There feeds begin a new history, as after a restore
//! of SQLite's, so that nobody takes new events for ones that it has.

use sqlx::{Connection as _, PgConnection, query, query_scalar};

/// The name under which the database notes which one it is.
const KEY: &str = "origin";

/// Notes which database this is; where it was another one, all apps begin a new history.
///
/// # Errors
/// Those of the driver.
pub(super) async fn note(connection: &mut PgConnection) -> sqlx::Result<()> {
    let origin = origin(connection).await?;
    let mut tx = connection.begin().await?;
    let noted = "insert into meta (key, value) values ($1, $2) on conflict (key) do nothing";
    let is_first = query(noted).bind(KEY).bind(&origin).execute(&mut *tx).await?.rows_affected();
    let changed = "update meta set value = $2 where key = $1 and value <> $2";
    let changed = query(changed).bind(KEY).bind(&origin).execute(&mut *tx).await?.rows_affected();
    if is_first == 0 && changed > 0 {
        query("update apps set history = uuid_send(gen_random_uuid())").execute(&mut *tx).await?;
        tracing::warn!("the database is a copy or was restored: all feeds begin anew");
    }
    tx.commit().await
}

/// What no two databases share, and no restored dump keeps: the cluster and its timeline, where the
/// role may know them, the database, and a table in it.
async fn origin(connection: &mut PgConnection) -> sqlx::Result<String> {
    let may_know = "select has_function_privilege('pg_control_system()', 'execute')
                       and has_function_privilege('pg_control_checkpoint()', 'execute')";
    let cluster = "select (select system_identifier from pg_control_system()) || '/'
                       || (select timeline_id from pg_control_checkpoint())";
    let database = "select oid || '/' || 'app_head'::regclass::oid
                    from pg_database where datname = current_database()";
    let may_know: bool = query_scalar(may_know).fetch_one(&mut *connection).await?;
    let cluster: String = match may_know {
        true => query_scalar(cluster).fetch_one(&mut *connection).await?,
        false => String::new(),
    };
    let database: String = query_scalar(database).fetch_one(connection).await?;
    Ok(format!("{cluster}/{database}"))
}

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

/// What no two databases share, and no restored dump keeps: the cluster, where the role may know it,
/// its timeline, the database, and a table in it.
async fn origin(connection: &mut PgConnection) -> sqlx::Result<String> {
    const CLUSTER: &str = "select system_identifier::text from pg_control_system()";
    // That of the log which is written now. The last checkpoint's, which `pg_control_checkpoint` tells,
    // may be minutes older, and a standby that took over a moment ago is what has to be noticed.
    const TIMELINE: &str = "select left(pg_walfile_name(pg_current_wal_lsn()), 8)";
    const DATABASE: &str = "select oid || '/' || 'app_head'::regclass::oid
                            from pg_database where datname = current_database()";
    let mut origin = Vec::with_capacity(3);
    for (functions, sql) in [
        (&["pg_control_system()"][..], CLUSTER),
        (&["pg_current_wal_lsn()", "pg_walfile_name(pg_lsn)"], TIMELINE),
        (&[], DATABASE),
    ] {
        let may = "select coalesce(bool_and(has_function_privilege(name, 'execute')), true)
                   from unnest($1::text[]) name";
        let may: bool = query_scalar(may).bind(functions).fetch_one(&mut *connection).await?;
        origin.push(match may {
            true => match query_scalar(sql).fetch_one(&mut *connection).await {
                // A service that speaks PostgreSQL, and has no log of its kind.
                Err(sqlx::Error::Database(_)) => String::new(),
                known => known?,
            },
            false => String::new(),
        });
    }
    Ok(origin.join("/"))
}

/// What [`identity`] says of a standby. It may be about to take over, and its connections would outlive that.
pub(super) const STANDBY: &str = "standby";

/// Which database this is, as far as one question tells, which each new connection of the writer asks.
/// `None` where that is not known: the role may not ask.
pub(super) async fn identity(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    let identity = "select case when pg_is_in_recovery() then 'standby' else
                        (select system_identifier from pg_control_system())
                        || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
                        || '/' || (select oid from pg_database where datname = current_database())
                        || '/' || to_regclass('app_head')::oid end";
    match query_scalar(identity).fetch_one(connection).await {
        Err(sqlx::Error::Database(_)) => Ok(None),
        known => known,
    }
}

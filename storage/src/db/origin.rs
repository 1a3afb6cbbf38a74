//! Whether a PostgreSQL database is still the one that it was. A restored dump, a copy, or a standby
//! that took over may lack what clients have seen. There feeds begin a new history, as after a restore
//! of SQLite's, so that nobody takes new events for ones that it has.

use sqlx::{Connection as _, PgConnection, query, query_scalar};

/// The name under which the database notes which one it is.
const KEY: &str = "origin";

/// What no two databases share, and no restored dump keeps: the cluster, its timeline, and the database
/// with a table in it. A part is missing where the role may not know it.
#[derive(Debug)]
pub(super) struct Origin([Option<String>; 3]);

impl Origin {
    /// That of the database which the connection leads to.
    ///
    /// # Errors
    /// Those of the driver.
    pub(super) async fn of(connection: &mut PgConnection) -> sqlx::Result<Self> {
        const CLUSTER: &str = "select system_identifier::text from pg_control_system()";
        // That of the log which is written now. The last checkpoint's, which `pg_control_checkpoint`
        // tells, may be minutes older, and a standby that took over a moment ago is what has to be
        // noticed.
        const TIMELINE: &str = "select left(pg_walfile_name(pg_current_wal_lsn()), 8)";
        const DATABASE: &str = "select oid || '/' || 'app_head'::regclass::oid
                                from pg_database where datname = current_database()";
        let mut origin = Self([None, None, None]);
        for (part, (functions, sql)) in origin.0.iter_mut().zip([
            (&["pg_control_system()"][..], CLUSTER),
            (&["pg_current_wal_lsn()", "pg_walfile_name(pg_lsn)"], TIMELINE),
            (&[], DATABASE),
        ]) {
            let may = "select coalesce(bool_and(has_function_privilege(name, 'execute')), true)
                       from unnest($1::text[]) name";
            let may: bool = query_scalar(may).bind(functions).fetch_one(&mut *connection).await?;
            if may {
                *part = match query_scalar(sql).fetch_one(&mut *connection).await {
                    // A service that speaks PostgreSQL, and has no log of its kind.
                    Err(sqlx::Error::Database(_)) => None,
                    known => Some(known?),
                };
            }
        }
        Ok(origin)
    }

    /// Notes in the database which one it is; where it was another one, all apps begin a new history.
    ///
    /// # Errors
    /// Those of the driver.
    pub(super) async fn note(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let origin = self.0.each_ref().map(|part| part.as_deref().unwrap_or_default()).join("/");
        let mut tx = connection.begin().await?;
        let noted = "insert into meta (key, value) values ($1, $2) on conflict (key) do nothing";
        let is_first =
            query(noted).bind(KEY).bind(&origin).execute(&mut *tx).await?.rows_affected();
        let changed = "update meta set value = $2 where key = $1 and value <> $2";
        let changed =
            query(changed).bind(KEY).bind(&origin).execute(&mut *tx).await?.rows_affected();
        if is_first == 0 && changed > 0 {
            query("update apps set history = uuid_send(gen_random_uuid())")
                .execute(&mut *tx)
                .await?;
            tracing::warn!("the database is a copy or was restored: all feeds begin anew");
        }
        tx.commit().await
    }

    /// Whether `found` is certainly another database: a part that both know differs.
    pub(super) fn is_other(&self, found: &Self) -> bool {
        self.parts(found).any(|(own, found)| found.is_some_and(|found| found != own))
    }

    /// Whether `found` lacks a part that is known.
    pub(super) fn is_untold(&self, found: &Self) -> bool {
        self.parts(found).any(|(_, found)| found.is_none())
    }

    /// The parts that are known, each beside the one of `found`.
    fn parts<'a>(
        &'a self,
        found: &'a Self,
    ) -> impl Iterator<Item = (&'a String, Option<&'a String>)> {
        let both = self.0.iter().zip(&found.0);
        both.filter_map(|(own, found)| Some((own.as_ref()?, found.as_ref())))
    }
}

/// Whether the connection leads to a standby. It may be about to take over, and its connections would
/// outlive that.
///
/// # Errors
/// Those of the driver.
pub(super) async fn is_standby(connection: &mut PgConnection) -> sqlx::Result<bool> {
    query_scalar("select pg_is_in_recovery()").fetch_one(connection).await
}

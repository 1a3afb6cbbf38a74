//! Whether a PostgreSQL database is still the one that it was. A restored dump, a copy, or a standby
//! that took over may lack what clients have seen. There feeds begin a new history, as after a restore
//! of SQLite's, so that nobody takes new events for ones that it has.

use std::{array, io, sync::OnceLock};

use sqlx::{Connection as _, PgConnection, query, query_scalar};

use super::Soundness;

/// The name under which the database notes which one it is.
const KEY: &str = "origin";

const NOTED: &str = "select value from meta where key = $1";

pub(super) const STANDBY: &str = "it is a standby, which takes no writes";

const REPLACED: &str = "another database answers in place of the one that was opened: a standby that took \
                        over, or a copy";

const UNTOLD: &str = "it does not tell which database it is, as it did at the start: the role may have lost \
                      a right";

/// The database that was opened, for all connections to it.
#[derive(Debug, Default)]
pub(super) struct Opened {
    /// Which one it is. The open itself does not know yet.
    pub(super) origin: OnceLock<Origin>,
    /// Whether it can still promise anything.
    pub(super) soundness: Soundness,
}

impl Opened {
    /// Asks a new connection where it leads. Ends all writing where that is another database than the
    /// one that was opened: what is in memory may not be there.
    ///
    /// # Errors
    /// Those of the driver, and when it is another database, a standby, or one that does not tell.
    pub(super) async fn check(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let Some(opened) = self.origin.get() else { return Ok(()) };
        if is_standby(connection).await? {
            return Err(io::Error::other(STANDBY).into());
        }
        let found = Origin::of(connection).await?;
        let noted: Option<String> =
            query_scalar(NOTED).bind(KEY).fetch_optional(&mut *connection).await?;
        let noted = noted.map(|text| Origin::read(&text));
        // Two standbys of one database take over with the same new timeline. One of them knows nothing
        // of a start on the other.
        if opened.is_other(&found) || noted.is_some_and(|noted| opened.is_other(&noted)) {
            self.soundness.break_for(REPLACED);
            return Err(io::Error::other(REPLACED).into());
        }
        if opened.is_untold(&found) {
            return Err(io::Error::other(UNTOLD).into());
        }
        Ok(())
    }
}

/// What no two databases share, and no restored dump keeps: the cluster, its timeline, and the database
/// with a table in it. A part is missing where the role may not know it.
#[derive(Debug)]
pub(super) struct Origin([Option<String>; 3]);

impl Origin {
    /// That of the database which the connection leads to.
    ///
    /// # Errors
    /// Those of the driver, unless they say that the database cannot tell.
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
            *part = match ask(connection, functions, sql).await {
                Err(error) if cannot_tell(&error, connection).await? => None,
                told => told?,
            };
        }
        Ok(origin)
    }

    /// What [`Self::text`] has made. A database's part has a slash in it.
    fn read(text: &str) -> Self {
        let mut parts = text.splitn(3, '/').map(|part| (!part.is_empty()).then(|| part.to_owned()));
        Self(array::from_fn(|_| parts.next().flatten()))
    }

    /// As the database notes it: a part that is missing is empty.
    fn text(&self) -> String {
        self.0.each_ref().map(|part| part.as_deref().unwrap_or_default()).join("/")
    }

    /// The parts that are known, and those of `before` where they are not.
    fn or(&self, before: Self) -> Self {
        let Self(mut parts) = before;
        for (part, own) in parts.iter_mut().zip(&self.0).filter(|(_, own)| own.is_some()) {
            part.clone_from(own);
        }
        Self(parts)
    }

    /// Notes in the database which one it is; where it was another one, all apps begin a new history.
    /// What is missing now stays as it was noted, and what was missing is added.
    ///
    /// # Errors
    /// Those of the driver.
    pub(super) async fn note(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let mut tx = connection.begin().await?;
        query("insert into meta (key, value) values ($1, $2) on conflict (key) do nothing")
            .bind(KEY)
            .bind(self.text())
            .execute(&mut *tx)
            .await?;
        let noted: String = query_scalar(NOTED).bind(KEY).fetch_one(&mut *tx).await?;
        let before = Self::read(&noted);
        // Empty as a whole, it was made so by an operator, who knows that it was restored.
        let is_another = noted.is_empty() || before.is_other(self);
        let now = self.or(before).text();
        if now == noted {
            return tx.commit().await;
        }
        // Of servers that start beside each other one begins the histories.
        let written = query("update meta set value = $2 where key = $1 and value = $3")
            .bind(KEY)
            .bind(now)
            .bind(noted)
            .execute(&mut *tx)
            .await?;
        if is_another && written.rows_affected() > 0 {
            query("update apps set history = uuid_send(gen_random_uuid())")
                .execute(&mut *tx)
                .await?;
            tracing::warn!("the database is a copy or was restored: all feeds begin anew");
        }
        tx.commit().await
    }

    /// Whether `found` is certainly another database: a part that both know differs.
    fn is_other(&self, found: &Self) -> bool {
        self.parts(found).any(|(own, found)| found.is_some_and(|found| found != own))
    }

    /// Whether `found` lacks a part that is known.
    fn is_untold(&self, found: &Self) -> bool {
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

/// What a statement answers; `None` where the role may not call these functions.
async fn ask(
    connection: &mut PgConnection,
    functions: &[&str],
    sql: &'static str,
) -> sqlx::Result<Option<String>> {
    let may = "select coalesce(bool_and(has_function_privilege(name, 'execute')), true)
               from unnest($1::text[]) name";
    let may: bool = query_scalar(may).bind(functions).fetch_one(&mut *connection).await?;
    if !may {
        return Ok(None);
    }
    let answer: Option<Option<String>> = query_scalar(sql).fetch_optional(connection).await?;
    Ok(answer.flatten())
}

/// Whether an error says that the database cannot tell, and never will: a service that speaks
/// PostgreSQL, and has no log or no catalog of its kind.
///
/// # Errors
/// Those of the driver.
async fn cannot_tell(error: &sqlx::Error, connection: &mut PgConnection) -> sqlx::Result<bool> {
    match error.as_database_error().and_then(|error| error.code()).as_deref() {
        // feature_not_supported, insufficient_privilege; undefined_function, _table, _column and
        // _object, wrong_object_type.
        Some("0A000" | "42501" | "42883" | "42P01" | "42703" | "42704" | "42809") => Ok(true),
        // object_not_in_prerequisite_state: a service whose log is not PostgreSQL's, unless it is a
        // standby, which will tell once it has taken over.
        Some("55000") => Ok(!is_standby(connection).await?),
        _ => Ok(false),
    }
}

/// Whether the connection leads to a standby. It may be about to take over, and its connections would
/// outlive that.
///
/// # Errors
/// Those of the driver.
async fn is_standby(connection: &mut PgConnection) -> sqlx::Result<bool> {
    query_scalar("select pg_is_in_recovery()").fetch_one(connection).await
}

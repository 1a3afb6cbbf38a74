//! PostgreSQL: a pool, and transactions that own their connection from BEGIN to COMMIT.

use std::{io, str::FromStr, sync::Arc, time::Duration};

use sqlx::{
    ConnectOptions as _, Executor as _, PgConnection, PgPool, Postgres, Row as _,
    migrate::Migrator,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
    raw_sql,
};
use tokio::time::timeout;
use tracing::warn;

use super::{
    AnswerTimeout, Arg, Attempt, Body, CONNECTIONS_MAX, DatabaseUrl, POSTGRES_LANES, Soundness,
    StorageOptions, Tx,
    account_locks::AccountLocks,
    migrating::{self, Pending},
    needless_tls,
    origin::{Opened, Origin, STANDBY},
    tx,
};
use crate::error::{Result, StorageError, is_stale_plan, plain};

/// The migrations of this build.
static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// How long a request waits for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How a session is set, whatever the database, the role or a pooler in between would have it be. By
/// statements, because poolers refuse or ignore options of the connection's start.
pub(super) const SESSION: &str = "
    -- A migration, a load or a purge takes as long as it takes; how long an answer is waited for is
    -- bounded on this side. PostgreSQL knows the second from version 17 on.
    set statement_timeout = 0;
    select set_config('transaction_timeout', '0', false)
        where current_setting('transaction_timeout', true) is not null;
    -- What else waits for a lock or forgets a transaction must not stop everyone. The first is shorter than
    -- the ten seconds after which a caller takes the outcome for unknown. A transaction that is given up
    -- because nobody answers has ended here before the second.
    set lock_timeout = '8s';
    set idle_in_transaction_session_timeout = '20s';
    -- Idle connections are the pool's to end. PostgreSQL knows it from version 14 on.
    select set_config('idle_session_timeout', '0', false)
        where current_setting('idle_session_timeout', true) is not null;
    -- Sessions of a server that vanished end in a minute, not in hours: the next one needs their place.
    select set_config(wanted.name, wanted.value, false)
        from (values ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'),
                     ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '60s')) as wanted (name, value)
        where current_setting(wanted.name, true) is not null;
    -- The statements are written for it: they lock what they decide on.
    set default_transaction_isolation = 'read committed';
    -- A backslash in a literal is one: an id is written with it, and a migration.
    set standard_conforming_strings = on;
    -- What a policy would hide is refused, or it would be taken for what is not there.
    set row_security = off;
    -- That a table is there already is no news at each start.
    set client_min_messages = 'warning';
    -- What is acknowledged is durable. Anything else than off is the operator's choice, and stays with
    -- the session: what the server is told to reload does not reach it.
    select set_config('synchronous_commit', case current_setting('synchronous_commit')
        when 'off' then 'on' else current_setting('synchronous_commit') end, false)";

const POOLER: &str = "a pooler in front of it gives each transaction to any session: set it to session \
                      mode, or connect directly";

const READ_ONLY: &str = "the PostgreSQL database takes no writes: `default_transaction_read_only` is on for \
                         the role, the database or the server";

const NO_ANSWER: &str = "it does not answer in time";

/// A statement slower than this is worth a line in the log.
pub(super) const SLOW_STATEMENT: Duration = Duration::from_secs(1);

/// An open PostgreSQL database.
#[derive(Debug, Clone)]
pub struct PostgresDb(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: PgPool,
    options: PgConnectOptions,
    answer_timeout: AnswerTimeout,
    opened: Arc<Opened>,
    account_locks: AccountLocks,
}

impl PostgresDb {
    pub(super) async fn open(
        url: &DatabaseUrl,
        options: &StorageOptions,
        pending: Pending,
    ) -> Result<Self> {
        let connect = options_of(url)
            // The cause may quote the address, and that may hold a password.
            .ok_or_else(|| StorageError::Open("it cannot be read as a postgres://...".into()))?
            .application_name("rookery")
            // Numbers come in binary; poolers refuse the option.
            .extra_float_digits(None)
            .log_statements(log::LevelFilter::Trace)
            .log_slow_statements(log::LevelFilter::Warn, SLOW_STATEMENT);
        let opened = Arc::<Opened>::default();
        let connections_max = options.postgres_connections_max;
        let answer_timeout = AnswerTimeout(options.postgres_answer_timeout);
        let first = pool(&connect, connections_max, &opened).await?;
        let plain = answer_timeout.of(needless_tls::without(&connect, &first)).await;
        let plain = plain.ok().flatten();
        let room = answer_timeout.of(room_beside_writer(&first)).await.unwrap_or(connections_max);
        let (connect, pool) = if plain.is_some() || room < connections_max {
            first.close().await;
            let connect = plain.unwrap_or(connect);
            let pool = pool(&connect, connections_max.min(room), &opened).await?;
            (connect, pool)
        } else {
            (connect, first)
        };
        let checked = async {
            // Not of the pool: it may be left with the lock of a failed migration.
            let mut own = session(&connect).await.map_err(|error| unreachable(&error))?;
            check_pooler(&pool, &mut own).await?;
            check_writable(&mut own).await?;
            check(&pool).await?;
            Ok(own)
        };
        let checked = answer_timeout.of(checked).await;
        let mut own = checked.unwrap_or_else(|_| Err(cannot_reach(NO_ANSWER)))?;
        migrating::postgres(&mut own, &MIGRATIONS, pending).await?;
        let origin = async {
            let origin = Origin::of(&mut own).await?;
            origin.note(&mut own).await.map(|()| origin)
        };
        let origin = origin.await.map_err(|error| {
            let why = format!("what the PostgreSQL database is cannot be noted in it: {error}");
            StorageError::Open(why)
        })?;
        drop(own);
        // From here on each new connection is asked whether it is the same one; those that are there
        // already, now.
        let _ = opened.origin.set(origin);
        check_idle(&pool, &opened).await?;
        let account_locks = AccountLocks::default();
        Ok(Self(Arc::new(Inner { pool, options: connect, answer_timeout, opened, account_locks })))
    }

    /// The pool of the cold path.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.0.pool
    }

    /// Who is at work with an account.
    pub(super) fn account_locks(&self) -> &AccountLocks {
        &self.0.account_locks
    }

    /// Whether it can still promise anything.
    pub(crate) fn soundness(&self) -> &Soundness {
        &self.0.opened.soundness
    }

    /// A connection of the pool. A new one that leads to another database, a standby, or one that does
    /// not tell is given up and tried again, as long as anybody waits for one at all, or until that has
    /// ended all writing.
    ///
    /// # Errors
    /// Those of the driver, and when all writing ends.
    pub(crate) async fn acquire(&self) -> sqlx::Result<PoolConnection<Postgres>> {
        let soundness = self.soundness();
        tokio::select! {
            biased;
            connection = self.0.pool.acquire() => connection,
            // Reads go on after that, by the connections that there are.
            why = soundness.until_broken(), if soundness.broken().is_none() => {
                Err(io::Error::other(why).into())
            }
        }
    }

    /// A connection outside of the pool, as the writer's lanes have.
    ///
    /// # Errors
    /// Those of the driver, and when it is another database, a standby, or one that does not tell.
    pub async fn connect(&self) -> sqlx::Result<PgConnection> {
        let mut connection = session(&self.0.options).await?;
        self.0.opened.check(&mut connection).await?;
        Ok(connection)
    }

    /// How long the server may take to answer.
    pub(crate) fn answer_timeout(&self) -> AnswerTimeout {
        self.0.answer_timeout
    }

    /// All rows of a query, outside of any transaction.
    pub(super) async fn all(
        &self,
        sql: &'static str,
        args: &[Arg],
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let (mut is_retry, mut stale) = (false, 0);
        loop {
            let mut conn = self.acquire().await?;
            let answer = tx::all_postgres(&mut *conn, sql, args);
            match self.answer_timeout().of(answer).await {
                // A pooled connection that the server has closed meanwhile, or that holds what was before
                // a table was changed; reading is repeatable.
                Ok(Err(error)) if tx::is_lost(&error) && !is_retry => is_retry = true,
                Ok(Err(error)) if is_stale_plan(&error) && stale < CONNECTIONS_MAX => {
                    stale += 1;
                    drop(conn.detach());
                }
                Ok(result) => return result,
                Err(silent) => {
                    // The pool must not have it back.
                    drop(conn.detach());
                    return Err(silent.into());
                }
            }
        }
    }

    pub(super) async fn attempt<I: Sync, O>(
        &self,
        input: &I,
        body: Body<I, O>,
    ) -> Result<O, Attempt> {
        // Who cannot get a connection within the time-out is not helped by waiting again.
        let conn = self
            .acquire()
            .await
            .map_err(|error| Attempt::Final(StorageError::before_commit(&error)))?;
        // From here on the connection goes back to the pool only in a known state: a transaction
        // that is dropped (a failed COMMIT, a body that panics) closes it.
        let mut tx = Tx::postgres(conn, self.answer_timeout());
        tx.control("begin").await.map_err(|error| StorageError::before_commit(&error))?;
        let result = body(&mut tx, input).await;
        let has_waited = tx.has_waited();
        if result.is_err() || tx.is_doomed() {
            let is_useless = tx.is_stale();
            if tx.control("rollback").await.is_ok() {
                let connection = tx.into_postgres();
                if is_useless {
                    drop(connection.map(PoolConnection::detach));
                }
            }
        } else {
            tx.control("commit").await.map_err(|error| StorageError::at_commit(&error))?;
            drop(tx.into_postgres());
        }
        result.map_err(|error| match error {
            // It would only be waited for again.
            error if has_waited => Attempt::Final(error),
            error => error.into(),
        })
    }
}

/// A connection outside of the pool.
pub(super) async fn session(connect: &PgConnectOptions) -> sqlx::Result<PgConnection> {
    let mut connection = connect.connect().await?;
    connection.execute(SESSION).await?;
    Ok(connection)
}

/// What an address says, where it can be read.
pub(super) fn options_of(url: &DatabaseUrl) -> Option<PgConnectOptions> {
    let is_postgres = ["postgres://", "postgresql://"].iter().any(|s| url.0.starts_with(s));
    let options = PgConnectOptions::from_str(&url.0).ok().filter(|_| is_postgres)?;
    // The driver keeps the brackets of an IPv6 address in a URL, and then looks for a host of that name.
    let host = options.get_host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).map(str::to_owned);
    Some(match address {
        Some(address) => options.host(&address),
        None => options,
    })
}

/// Refuses a pooler that has several clients share what is set for a session and prepared in it. Two
/// sessions are held at once, so each has a process of its own that it keeps.
async fn check_pooler(pool: &PgPool, other: &mut PgConnection) -> Result<()> {
    let is_shared = async {
        let mut one = pool.acquire().await?;
        let before = (process(&mut one).await?, process(other).await?);
        let after = (process(&mut one).await?, process(other).await?);
        Ok(before.0 == before.1 || before != after)
    };
    match is_shared.await.map_err(|error| unreachable(&error))? {
        true => Err(cannot_reach(POOLER)),
        false => Ok(()),
    }
}

/// Refuses a database that takes no writes: nothing could be migrated, and no app written to.
pub(crate) async fn check_writable(connection: &mut PgConnection) -> Result<()> {
    let asked = "select pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
    let (is_standby, is_read_only): (bool, bool) =
        sqlx::query_as(asked).fetch_one(connection).await.map_err(|error| unreachable(&error))?;
    match (is_standby, is_read_only) {
        (true, _) => Err(cannot_reach(STANDBY)),
        (false, true) => Err(StorageError::Open(READ_ONLY.into())),
        (false, false) => Ok(()),
    }
}

/// Asks the idle connections of a pool where they lead: its address may have led elsewhere when the first
/// ones were made.
async fn check_idle(pool: &PgPool, opened: &Opened) -> Result<()> {
    let mut idle = Vec::new();
    while let Some(mut connection) = pool.try_acquire() {
        opened.check(&mut connection).await.map_err(|error| unreachable(&error))?;
        idle.push(connection);
    }
    Ok(())
}

/// The process that serves a connection, asked without preparing anything.
async fn process(connection: &mut PgConnection) -> sqlx::Result<i32> {
    raw_sql("select pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

/// Checks what a session cannot set for itself.
async fn check(pool: &PgPool) -> Result<()> {
    let settings = "select current_setting('server_encoding'), current_setting('fsync'),
                           current_setting('full_page_writes')";
    let settings: (String, String, String) =
        sqlx::query_as(settings).fetch_one(pool).await.map_err(|error| unreachable(&error))?;
    let (encoding, fsync, full_page_writes) = settings;
    // SQL_ASCII, what `initdb` chooses without a locale, keeps bytes as they come.
    if encoding != "UTF8" && encoding != "SQL_ASCII" {
        let why = format!(
            "the database cannot hold every text, its encoding is {encoding}: create it with \
             encoding 'UTF8' template template0"
        );
        return Err(StorageError::Open(why));
    }
    for (name, setting) in [("fsync", fsync), ("full_page_writes", full_page_writes)] {
        if setting == "off" {
            warn!("PostgreSQL runs with {name} = off: a power loss can take acknowledged writes");
        }
    }
    // What speaks PostgreSQL and cannot tell is not asked twice.
    if let Ok(Some(bound)) = connections_bound(pool).await
        && bound < CONNECTIONS_MAX as i64
    {
        warn!(
            "PostgreSQL lets {bound} connections in, and a server takes up to {CONNECTIONS_MAX}: \
             under load some requests will be unavailable"
        );
    }
    Ok(())
}

/// Connections that the pool can have without taking those of the writer: where few are allowed, requests
/// would fill all of them, and nothing could be written any more.
async fn room_beside_writer(pool: &PgPool) -> u32 {
    let bound = connections_bound(pool).await.ok().flatten();
    let room = bound.map(|bound| (bound - POSTGRES_LANES as i64).max(1));
    room.and_then(|room| u32::try_from(room).ok()).unwrap_or(u32::MAX)
}

/// How many connections the role, the database and the cluster allow; `None` for a superuser.
async fn connections_bound(pool: &PgPool) -> sqlx::Result<Option<i64>> {
    let bound = "select least(nullif(rolconnlimit, -1), nullif(datconnlimit, -1),
                              current_setting('max_connections')::int
                              - current_setting('superuser_reserved_connections')::int)::bigint
                 from pg_roles, pg_database
                 where rolname = session_user and datname = current_database() and not rolsuper";
    sqlx::query_scalar(bound).fetch_optional(pool).await
}

async fn pool(
    connect: &PgConnectOptions,
    connections_max: u32,
    opened: &Arc<Opened>,
) -> Result<PgPool> {
    let opened = Arc::clone(opened);
    let pool = PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(move |connection, _| {
            let opened = Arc::clone(&opened);
            Box::pin(async move {
                connection.execute(SESSION).await?;
                opened.check(connection).await
            })
        })
        .connect_with(connect.clone());
    match pool.await {
        // It goes on trying, for a server that starts beside us, and then tells of that only.
        Err(sqlx::Error::PoolTimedOut) => Err(cause(connect).await),
        pool => pool.map_err(|error| unreachable(&error)),
    }
}

/// Why no connection can be made.
async fn cause(connect: &PgConnectOptions) -> StorageError {
    match timeout(ACQUIRE_TIMEOUT, session(connect)).await {
        Ok(Err(error)) => unreachable(&error),
        Ok(Ok(_)) | Err(_) => cannot_reach(NO_ANSWER),
    }
}

fn unreachable(error: &sqlx::Error) -> StorageError {
    if let sqlx::Error::PoolTimedOut = error {
        return cannot_reach(NO_ANSWER);
    }
    match error.as_database_error().and_then(|error| error.code()).as_deref() {
        // duplicate_prepared_statement, invalid_sql_statement_name: somebody else's, or left to
        // somebody else.
        Some("42P05" | "26000") => cannot_reach(POOLER),
        _ => cannot_reach(plain(error)),
    }
}

fn cannot_reach(why: impl std::fmt::Display) -> StorageError {
    StorageError::Open(format!("the PostgreSQL database cannot be reached: {why}"))
}

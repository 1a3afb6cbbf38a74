//! One temporary PostgreSQL cluster per test process, from Debian's package, with fsync on. Each
//! test gets a database of its own, copied from a template that is prepared once.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::Ipv4Addr,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::sync::OnceCell;

use crate::not_run::not_run;

/// Where Debian puts each major version's programs, below a folder named after it.
const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

/// The database that the others are copied from.
const TEMPLATE: &str = "rookery_template";
/// Sorts texts by the rules of a language, as clusters do that were made where one is spoken. PostgreSQL
/// knows it of a database from version 15 on.
const BY_LANGUAGE: &str = "template template0 locale_provider icu icu_locale 'en-US'";

static CLUSTER: LazyLock<Option<Cluster>> =
    LazyLock::new(|| programs().map(|p| Cluster::start(&p)));

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    databases: AtomicU32,
    template: OnceCell<()>,
    /// Closed when this process ends, which ends the cluster.
    _alive: ChildStdin,
    _supervisor: Child,
}

/// One test's database; dropped from the cluster when this is dropped.
#[derive(Debug)]
pub struct Database {
    name: String,
    admin: String,
    /// Its address, for `storage.database_url`.
    pub url: String,
}

/// The cluster of this process, started at the first call. `None` where PostgreSQL is not
/// installed, which is put on the list of what could not run.
///
/// # Panics
/// When it is installed and does not start, or when everything must run and it is not installed.
#[must_use]
pub fn postgres() -> Option<&'static Cluster> {
    let cluster = CLUSTER.as_ref();
    if cluster.is_none() {
        not_run("tests against PostgreSQL", "postgresql");
    }
    cluster
}

impl Cluster {
    fn start(programs: &Programs) -> Self {
        let script = include_str!("cluster.sh");
        let mut supervisor = as_ordinary_user()
            .args(["sh", "-c", script, "sh", &programs.0, &loopback().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the supervisor of PostgreSQL starts");
        let alive = supervisor.stdin.take().expect("standard input is a pipe");
        let out = supervisor.stdout.take().expect("standard output is a pipe");
        let mut folder = String::new();
        BufReader::new(out).read_line(&mut folder).expect("the supervisor says something");
        let folder = folder.trim();
        assert!(!folder.is_empty(), "PostgreSQL did not start; its log is above");
        Self {
            folder: folder.into(),
            databases: AtomicU32::new(0),
            template: OnceCell::new(),
            _alive: alive,
            _supervisor: supervisor,
        }
    }

    fn url(&self, database: &str) -> String {
        // A host that begins with a slash is the folder of the Unix socket.
        let folder = self.folder.to_string_lossy().replace('/', "%2F");
        format!("postgres://rookery@{folder}/{database}")
    }

    /// A new database, copied from a template that the first caller's `prepare` fills (it gets
    /// the template's address and must close all its connections).
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn database<F>(&self, prepare: impl FnOnce(String) -> F) -> Database
    where
        F: Future<Output = ()>,
    {
        self.template
            .get_or_init(|| async {
                let admin = self.url("postgres");
                execute(&admin, format!("create database {TEMPLATE} {BY_LANGUAGE}")).await;
                prepare(self.url(TEMPLATE)).await;
            })
            .await;
        self.database_with(&format!("template {TEMPLATE}")).await
    }

    /// A new database with nothing in it.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn empty_database(&self) -> Database {
        self.database_with("").await
    }

    /// A copy of a database, to which nobody may be connected.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn copy_of(&self, database: &Database) -> Database {
        self.database_with(&format!("template {}", database.name)).await
    }

    /// A new database, made with these options of `create database`.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn database_with(&self, options: &str) -> Database {
        let admin = self.url("postgres");
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("rookery_{number}");
        execute(&admin, format!("create database {name} {options}")).await;
        Database { url: self.url(&name), name, admin }
    }
}

/// An address of this process's own, so that the port is nobody else's.
fn loopback() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high | 0x40, middle, low)
}

impl Database {
    /// Its address on loopback, where the cluster speaks TLS too.
    #[must_use]
    pub fn on_loopback(&self) -> String {
        format!("postgres://rookery@{}/{}", loopback(), self.name)
    }

    /// How many connections of servers it has, with TLS and without.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn encrypted(&self) -> (i64, i64) {
        let mut connection = connect(&self.admin).await;
        let sql = "select count(*) filter (where ssl), count(*) filter (where not ssl)
                   from pg_stat_activity join pg_stat_ssl using (pid)
                   where datname = $1 and application_name = 'rookery'";
        let counts = sqlx::query_as(sql).bind(&self.name).fetch_one(&mut connection).await;
        connection.close().await.expect("the cluster lets go");
        counts.expect("the cluster obeys")
    }

    /// Has every connection from now on begin with this setting. Those that there are are cut.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn set(&self, setting: &str, value: &str) {
        let Self { name, admin, .. } = self;
        execute(admin, format!("alter database {name} set {setting} = {value}")).await;
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity where datname";
        execute(admin, format!("{cut} = '{name}'")).await;
    }

    /// Its address for a role that is no superuser and may have so many connections from now on.
    /// Those that it has are cut.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn of_role(&self, connections_max: u32) -> String {
        let Self { name, admin, url } = self;
        let role = format!("{name}_role");
        let make = format!(
            "do $$ begin
                 if not exists (select from pg_roles where rolname = '{role}') then
                     create role {role} login;
                 end if;
             end $$;
             alter role {role} connection limit {connections_max};
             grant all on schema public to {role};
             grant all on all tables in schema public to {role};
             grant all on all sequences in schema public to {role}"
        );
        execute(url, make).await;
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity where usename";
        execute(admin, format!("{cut} = '{role}'")).await;
        url.replacen("rookery@", &format!("{role}@"), 1)
    }

    /// Holds the row of this address's account, until it is dropped.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn hold_account(&self, email: &str) -> Held {
        let mut connection = connect(&self.url).await;
        connection.execute("begin").await.expect("the cluster obeys");
        let held = sqlx::query("select 1 from humans where email = $1 for update")
            .bind(email)
            .fetch_all(&mut connection)
            .await;
        assert_eq!(held.expect("the cluster obeys").len(), 1, "{email}");
        Held { _connection: connection }
    }

    /// Lets nobody write to a table, until it is dropped.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn hold_table(&self, table: &str) -> Held {
        let mut connection = connect(&self.url).await;
        let lock = format!("begin; lock table {table} in exclusive mode");
        connection.execute(AssertSqlSafe(lock)).await.expect("the cluster obeys");
        Held { _connection: connection }
    }

    /// How many of its connections wait for another one's locks.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn waiting(&self) -> i64 {
        let mut connection = connect(&self.admin).await;
        let sql = "select count(*) from pg_stat_activity
                   where datname = $1 and wait_event_type = 'Lock'";
        let count = sqlx::query_scalar(sql).bind(&self.name).fetch_one(&mut connection).await;
        connection.close().await.expect("the cluster lets go");
        count.expect("the cluster obeys")
    }

    /// The processes on the server's side of the connections to it.
    ///
    /// # Panics
    /// When the cluster refuses.
    pub async fn backends(&self) -> Vec<i32> {
        let mut connection = connect(&self.admin).await;
        let pids = sqlx::query_scalar("select pid from pg_stat_activity where datname = $1")
            .bind(&self.name)
            .fetch_all(&mut connection)
            .await;
        connection.close().await.expect("the cluster lets go");
        pids.expect("the cluster obeys")
    }
}

/// Locks of a transaction that is open.
pub struct Held {
    _connection: PgConnection,
}

impl Drop for Database {
    fn drop(&mut self) {
        let (admin, sql) =
            (self.admin.clone(), format!("drop database if exists {} with (force)", self.name));
        // Only to keep the disk small while many tests run; the cluster's folder goes anyway.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    if let Ok(mut connection) = PgConnection::connect(&admin).await {
                        let _ = connection.execute(AssertSqlSafe(sql)).await;
                    }
                });
            }
        });
    }
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("the cluster answers")
}

async fn execute(url: &str, sql: String) {
    let mut connection = connect(url).await;
    connection.execute(AssertSqlSafe(sql)).await.expect("the cluster obeys");
    connection.close().await.expect("the cluster lets go");
}

/// The folder of `initdb` and `postgres`; empty when they are in `PATH`.
struct Programs(String);

fn programs() -> Option<Programs> {
    let has_both = |folder: &Path| {
        ["initdb", "postgres", "pg_isready"].iter().all(|name| folder.join(name).is_file())
    };
    let newest = fs::read_dir(DEBIAN_VERSIONS)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let folder = entry.path().join("bin");
            has_both(&folder).then_some((version, folder))
        })
        .max_by_key(|(version, _)| *version);
    if let Some((_, folder)) = newest {
        return folder.to_str().map(|folder| Programs(folder.to_owned()));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).any(|folder| has_both(&folder)).then(|| Programs(String::new()))
}

/// A command that runs the rest of its arguments as somebody who is not root: PostgreSQL refuses
/// to run as root, and its package brings the user `postgres`.
fn as_ordinary_user() -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        return Command::new("env");
    }
    let exists = |program: &str| {
        std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        })
    };
    let mut command;
    if exists("setpriv") {
        command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    } else {
        command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]);
    }
    command
}

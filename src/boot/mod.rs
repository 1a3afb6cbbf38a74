//! Starting the rooms behind the handlers: database, writer, supervision tree; and stopping them
//! in the reverse order. What is not here: listeners, and the handlers before the rooms (`server`).

mod key;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rookery_actors::{
    AppHosts, Apps, Control, Directory, DirectoryOptions, Runtime, RuntimeOptions,
    app::message::{AppOp, Op},
    domains::Domains,
    store::SqlStore,
};
use rookery_domain::{Error, app::AppRecord, principal::Caller, sealed::ServerKey, time::Clock};
use rookery_storage::{Db, StorageError, StorageOptions, Writer, WriterOptions, commit::Epoch};
use secrecy::ExposeSecret as _;
use tokio::runtime::Handle;

pub use self::key::parse_key;
pub(crate) use self::key::server_key;
use self::key::{check_key, make_key};
use crate::{config::Config, threads};

/// Why the rooms could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The database where a setting says that it is.
    #[error("{setting}: {error}")]
    Unopened {
        /// The setting.
        setting: &'static str,
        /// Why it cannot be opened.
        error: StorageError,
    },
    /// The database.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// The server's key.
    #[error("data_dir: the server's key, {}, cannot be read or made: {error}", path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The supervision tree.
    #[error("{0}")]
    Runtime(#[from] rookery_actors::StartError),
    /// The threads.
    #[error("no threads for commits can be started: {0}")]
    Threads(io::Error),
    /// The directory.
    #[error("{setting}: accounts could not be loaded: {error}")]
    Directory {
        /// The setting that says where they are.
        setting: &'static str,
        /// Why.
        error: Box<Error>,
    },
    /// A setting that was judged only when it was used.
    #[error("{0}")]
    Setting(&'static str),
}

/// The threads of what a commit needs: app actors and PostgreSQL's writers. Connections have others: a
/// task that is ready waits for those that were ready before, and a thousand connections are.
struct CommitThreads(Option<tokio::runtime::Runtime>);

impl CommitThreads {
    /// As many as there are CPUs.
    fn start() -> io::Result<Self> {
        threads::runtime("rookery-commits").map(|it| Self(Some(it)))
    }

    /// Starts the commit writer, on these threads where it has none of its own.
    fn writer(
        &self,
        db: &Db,
        epoch: Epoch,
        options: WriterOptions,
    ) -> Result<Writer, StorageError> {
        let _here = self.0.as_ref().map(tokio::runtime::Runtime::enter);
        Writer::start(db, epoch, options)
    }

    fn handle(&self) -> Option<Handle> {
        self.0.as_ref().map(|threads| threads.handle().clone())
    }
}

impl Drop for CommitThreads {
    fn drop(&mut self) {
        if let Some(threads) = self.0.take() {
            // It may be dropped by a task, which must not wait for it.
            threads.shutdown_background();
        }
    }
}

/// What the supervision tree stands on.
struct Ground {
    key: ServerKey,
    db: Db,
    writer: Writer,
    threads: CommitThreads,
}

/// Everything behind the handlers.
pub struct Rooms {
    /// The database.
    pub db: Db,
    /// The commit writer.
    pub writer: Writer,
    /// The supervision tree.
    pub runtime: Runtime,
    /// Accounts, agents, keys and sessions.
    pub directory: Directory,
    /// The server's key.
    pub key: ServerKey,
    /// Last, so that all else is gone before.
    _threads: CommitThreads,
}

impl Rooms {
    /// Opens everything.
    ///
    /// # Errors
    /// [`BootError`], one line that says what is wrong.
    pub async fn open(
        config: &Config,
        clock: &Clock,
        writing: WriterOptions,
        running: RuntimeOptions,
    ) -> Result<Self, BootError> {
        check_key(config)?;
        let db =
            Db::connect(&storage_options(config)).await.map_err(|error| unopened(config, error))?;
        let was_used =
            db.newest_epoch().await.map_err(|error| unopened(config, error))? >= Epoch::FIRST;
        // Before the first epoch begins, so that a start that is cut short leaves none without a key.
        if make_key(config)? && was_used {
            tracing::warn!(
                "server.key was made just now, but the database was used with another one before: \
                 secrets that it keeps sealed, such as share links, cannot be shown again"
            );
        }
        let epoch = db.next_epoch().await.map_err(|error| unopened(config, error))?;
        let threads = CommitThreads::start().map_err(BootError::Threads)?;
        let writer = threads.writer(&db, epoch, writing)?;
        writer.connected().await.map_err(|error| unopened(config, error))?;
        let key = server_key(config)?;
        Self::open_with(Ground { key, db, writer, threads }, config, clock, running).await
    }

    /// Opens everything beside the server of this database, if one runs, and takes nothing over from
    /// it: its tables stay as they are, and no key is made. What both write to is kept apart by what
    /// each knows of an app: whoever comes second is refused, and loads the app anew.
    ///
    /// # Errors
    /// [`BootError`], one line that says what is wrong.
    pub async fn open_beside(
        config: &Config,
        clock: &Clock,
        hosts: AppHosts,
    ) -> Result<Self, BootError> {
        let key = server_key(config)?;
        let db = Db::connect_beside(&storage_options(config)).await;
        let db = db.map_err(|error| unopened(config, error))?;
        let epoch = db.newest_epoch().await?;
        // The connections that there may be are that server's.
        let options = WriterOptions { postgres_lanes: 1, ..WriterOptions::default() };
        let threads = CommitThreads::start().map_err(BootError::Threads)?;
        let writer = threads.writer(&db, epoch, options)?;
        let options = runtime_options(config, hosts);
        Self::open_with(Ground { key, db, writer, threads }, config, clock, options).await
    }

    async fn open_with(
        ground: Ground,
        config: &Config,
        clock: &Clock,
        options: RuntimeOptions,
    ) -> Result<Self, BootError> {
        let Ground { key, db, writer, threads } = ground;
        let store = Arc::new(SqlStore::new(db.clone(), writer.clone(), clock.clone()));
        let runtime = Runtime::start(
            db.clone(),
            store,
            config.limits.clone(),
            RuntimeOptions { threads: threads.handle(), ..options },
            clock.clone(),
            key.clone(),
        )
        .await?;
        let directory = Directory::start(
            db.clone(),
            clock.clone(),
            key.clone(),
            &runtime,
            directory_options(config),
        )
        .await
        .map_err(|error| BootError::Directory {
            setting: place_of(config),
            error: Box::new(error),
        })?;
        Ok(Self { db, writer, runtime, directory, key, _threads: threads })
    }

    /// The registry of apps.
    #[must_use]
    pub const fn apps(&self) -> &Apps {
        self.runtime.apps()
    }

    /// Operations that need more than one app.
    #[must_use]
    pub const fn control(&self) -> &Control {
        self.runtime.control()
    }

    /// Which host name is which app's.
    #[must_use]
    pub const fn domains(&self) -> &Domains {
        self.runtime.domains()
    }

    /// Takes down the app with this id or slug, for the operator.
    ///
    /// # Errors
    /// `app_not_found`; `unavailable` when it was not done for sure.
    pub async fn close_app(&self, id_or_slug: &str) -> rookery_domain::Result<Arc<AppRecord>> {
        let app = self.apps().find(id_or_slug).await?;
        app.apply(Caller::System, Op::App(AppOp::Close)).await?;
        Ok(app.record())
    }

    /// Writes down what is only in memory, finishes what is with the writer, stops everything.
    pub async fn close(&self) {
        self.directory.stop().await;
        // First what was admitted is answered, then the writer ends: nobody is left unanswered.
        self.runtime.stop().await;
        self.writer.drain().await;
        self.db.close().await;
    }
}

/// Where the settings say that the data is.
#[must_use]
pub fn storage_options(config: &Config) -> StorageOptions {
    match config.storage.database_url.expose_secret() {
        "" => StorageOptions::sqlite(&config.data_dir),
        url => StorageOptions::postgres(url, &config.data_dir),
    }
}

/// What of `data_dir` would stop a start, whoever starts it: nothing is made, and rights are not looked at,
/// since they are those of the service's user.
///
/// # Errors
/// [`BootError`], one line that names what is in the folder's place.
pub fn check_data_dir(config: &Config) -> Result<(), BootError> {
    let [database, key] = [&config.storage.database_url, &config.server.key];
    if !database.expose_secret().is_empty() && !key.expose_secret().is_empty() {
        return Ok(());
    }
    let data_dir = &config.data_dir;
    let cannot = |path: &Path, why: &str| {
        let (folder, path) = (data_dir.display(), path.display());
        let line = format!("the folder {folder} cannot be made: {path} {why}");
        Err(BootError::Unopened { setting: "data_dir", error: StorageError::Open(line) })
    };
    for path in data_dir.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => return cannot(path, "is no folder"),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound if path.is_symlink() => {
                    return cannot(path, "is a link that leads nowhere");
                }
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
                // Who asks may not see what the service does.
                _ => return Ok(()),
            },
        }
    }
    Ok(())
}

/// The setting that says where the database is.
fn place_of(config: &Config) -> &'static str {
    match config.storage.database_url.expose_secret() {
        "" => "data_dir",
        _ => "storage.database_url",
    }
}

fn unopened(config: &Config, error: StorageError) -> BootError {
    let setting = place_of(config);
    let error = match error {
        // It is said of every database, and here it has a place.
        StorageError::Full if setting == "data_dir" => {
            StorageError::Open(format!("{}: {error}", config.data_dir.display()))
        }
        other => other,
    };
    BootError::Unopened { setting, error }
}

/// How the directory is set up.
fn directory_options(config: &Config) -> DirectoryOptions {
    DirectoryOptions {
        agents_per_account_max: config.limits.max_agents_per_account,
        fresh_visitors_max: config.limits.max_fresh_visitors_per_app,
        ..DirectoryOptions::default()
    }
}

/// The settings of the runtime.
#[must_use]
pub fn runtime_options(config: &Config, app_hosts: AppHosts) -> RuntimeOptions {
    RuntimeOptions {
        mailbox_limit: config.apps.mailbox_limit,
        idle_after: Duration::from_secs(config.apps.idle_after_s),
        memory_budget_bytes: config.apps.memory_budget_bytes,
        feed_retention_events: config.feed.retention_events,
        feed_retention_days: config.feed.retention_days,
        feed_retention_bytes: config.feed.retention_bytes,
        meters_interval: Duration::from_secs(config.meters.rollup_interval_s),
        meters_retention_days: config.meters.retention_days,
        app_hosts,
        ..RuntimeOptions::default()
    }
}

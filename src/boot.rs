//! Starting the rooms behind the handlers: database, writer, supervision tree; and stopping them
//! in the reverse order.

use std::{io, path::Path, sync::Arc, time::Duration};

use rookery_actors::{
    Apps, Control, Runtime, RuntimeOptions,
    app::message::{AppOp, Op},
    store::SqlStore,
};
use rookery_domain::{app::AppRecord, principal::Caller, sealed::ServerKey, time::Clock};
use rookery_storage::{Db, StorageError, StorageOptions, Writer, WriterOptions};
use secrecy::ExposeSecret as _;

use crate::config::Config;

/// The file in the data folder that holds the server's key.
const KEY_FILE: &str = "server.key";

/// Why the rooms could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The database.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// The server's key.
    #[error("data_dir: the server's key cannot be read or made: {0}")]
    Key(#[from] io::Error),
    /// The supervision tree.
    #[error("{0}")]
    Runtime(#[from] rookery_actors::StartError),
}

/// Everything behind the handlers.
pub struct Rooms {
    /// The database.
    pub db: Db,
    /// The commit writer.
    pub writer: Writer,
    /// The supervision tree.
    pub runtime: Runtime,
    /// The server's key.
    pub key: ServerKey,
}

impl Rooms {
    /// Opens everything. `host` is the domain below which apps are served.
    ///
    /// # Errors
    /// [`BootError`], one line that says what is wrong.
    pub async fn open(config: &Config, clock: &Clock, host: &str) -> Result<Self, BootError> {
        let db = Db::connect(&storage(config)).await?;
        let key = server_key(&config.data_dir)?;
        let epoch = db.next_epoch().await?;
        let writer = Writer::start(&db, epoch, WriterOptions::default())?;
        let store = Arc::new(SqlStore::new(db.clone(), writer.clone(), clock.clone()));
        let options = RuntimeOptions {
            mailbox_limit: config.apps.mailbox_limit,
            idle_after: Duration::from_secs(config.apps.idle_after_s),
            memory_budget_bytes: config.apps.memory_budget_bytes,
            feed_retention_events: config.feed.retention_events,
            feed_retention_days: config.feed.retention_days,
            apps_domain: host.to_owned(),
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::start(
            db.clone(),
            store,
            config.limits.clone(),
            options,
            clock.clone(),
            key.clone(),
        )
        .await?;
        Ok(Self { db, writer, runtime, key })
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

    /// Takes down the app with this id or slug, for the operator.
    ///
    /// # Errors
    /// `app_not_found`; `unavailable` when it was not done for sure.
    pub async fn close_app(&self, id_or_slug: &str) -> rookery_domain::Result<Arc<AppRecord>> {
        let app = self.apps().find(id_or_slug).await?;
        app.apply(Caller::System, Op::App(AppOp::Close), None, 0).await?;
        Ok(app.record())
    }

    /// Finishes what is with the writer and stops everything.
    pub async fn close(&self) {
        self.writer.drain().await;
        self.runtime.stop().await;
        self.db.close().await;
    }
}

/// Where the settings say that the data is.
#[must_use]
pub fn storage(config: &Config) -> StorageOptions {
    match config.storage.database_url.expose_secret() {
        "" => StorageOptions::sqlite(&config.data_dir),
        url => StorageOptions::postgres(url, &config.data_dir),
    }
}

/// The server's key, made at the first start: 32 random bytes that only this user can read.
fn server_key(data_dir: &Path) -> io::Result<ServerKey> {
    use std::{
        fs::{self, OpenOptions},
        io::Write as _,
        os::unix::fs::OpenOptionsExt as _,
    };
    let path = data_dir.join(KEY_FILE);
    if !path.exists() {
        let mut bytes = [0; 32];
        rand::RngCore::fill_bytes(&mut rand::rng(), &mut bytes);
        fs::create_dir_all(data_dir)?;
        // Whole or not at all: written beside and moved into place.
        let beside = data_dir.join("server.key.new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
    }
    let bytes = fs::read(&path)?;
    let bytes = <[u8; 32]>::try_from(bytes.as_slice())
        .map_err(|_| io::Error::other("server.key must hold exactly 32 bytes"))?;
    Ok(ServerKey::new(&bytes))
}

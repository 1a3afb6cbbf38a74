//! Opens the rooms behind HTTP, in the order in which they need each other: database, the server's
//! key, supervision tree, directory. Closes them in the opposite order.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    sync::Arc,
};

use futures::future::BoxFuture;
use rand::RngCore as _;
use rookery_actors::{Directory, DirectoryOptions, supervision::root::Tree};
use rookery_domain::{
    Result,
    app::AppRecord,
    id::{AppId, HumanId},
    sealed::ServerKey,
    time::Clock,
};
use rookery_storage::{Db, StorageOptions, apps};
use secrecy::ExposeSecret as _;

use crate::{
    config::Config,
    http::auth::{
        Authenticator,
        accounts::{Accounts, AppLookup},
    },
};

/// The file of the server's key in `data_dir`.
pub const KEY_FILE: &str = "server.key";
/// Bytes of the server's key.
const KEY_BYTES: usize = 32;

/// Why a room did not open: one line that says which and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BootError(pub String);

/// The rooms behind HTTP.
pub struct Rooms {
    /// Accounts, agents, keys and sessions.
    pub directory: Directory,
    /// The server's own key.
    pub key: ServerKey,
    tree: Tree,
    db: Db,
}

/// Opens them.
///
/// # Errors
/// [`BootError`], when the database, the key or the directory is not to be had.
pub async fn open(config: &Config, clock: Clock) -> Result<Rooms, BootError> {
    let failed = |what: &str, why: &dyn std::fmt::Display| BootError(format!("{what}: {why}"));
    let storage = match config.storage.database_url.expose_secret() {
        "" => StorageOptions::sqlite(&config.data_dir),
        url => StorageOptions::postgres(url, &config.data_dir),
    };
    let db = Db::connect(&storage).await.map_err(|error| failed("storage", &error))?;
    let key = match config.server.key.expose_secret() {
        "" => key_of_file(&config.data_dir)
            .map_err(|error| failed(&format!("{KEY_FILE} in data_dir"), &error))?,
        text => parse_key(text).ok_or_else(|| failed("server.key", &"not a key"))?,
    };
    let key = ServerKey::new(&key);
    let tree = Tree::start().await.map_err(|error| failed("supervision", &error))?;
    let options = DirectoryOptions::default();
    let directory = Directory::start(db.clone(), clock, key.clone(), tree.cell(), options)
        .await
        .map_err(|error| failed("accounts", &error))?;
    Ok(Rooms { directory, key, tree, db })
}

impl Rooms {
    /// Who a credential belongs to.
    #[must_use]
    pub fn authenticator(&self) -> Arc<dyn Authenticator> {
        let apps = StoredApps(self.db.clone());
        Arc::new(Accounts::new(self.directory.clone(), Arc::new(apps)))
    }

    /// Writes down what is only in memory, then stops and closes everything.
    pub async fn close(self) {
        self.directory.flush().await;
        self.tree.stop().await;
        self.db.close().await;
    }
}

/// Apps as storage knows them.
struct StoredApps(Db);

impl AppLookup for StoredApps {
    fn find<'a>(&'a self, id_or_slug: &'a str) -> BoxFuture<'a, Result<Option<Arc<AppRecord>>>> {
        Box::pin(async move {
            let found = match id_or_slug.parse::<AppId>() {
                Ok(id) => apps::by_id(&self.0, id).await?,
                Err(_) => apps::by_slug(&self.0, id_or_slug).await?,
            };
            Ok(found.map(Arc::new))
        })
    }

    fn is_member(&self, _: AppId, _: HumanId) -> bool {
        // Apps have owners and visitors; nobody can be made a member yet.
        false
    }
}

/// Reads 64 hexadecimal digits.
#[must_use]
pub fn parse_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * KEY_BYTES {
        return None;
    }
    let mut key = [0; KEY_BYTES];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(key)
}

/// The key in `folder`, drawn and written there when there is none. Readable by its owner only.
fn key_of_file(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(KEY_FILE);
    if !path.try_exists()? {
        write_new_key(folder, &path)?;
    }
    let mut key = [0; KEY_BYTES];
    let mut file = fs::File::open(&path)?;
    file.read_exact(&mut key)?;
    if file.read(&mut [0])? != 0 {
        return Err(io::Error::other("longer than a key"));
    }
    Ok(key)
}

/// Writes a key beside `path` and then gives it that name, so that the file is whole or absent,
/// and a key that another process wrote meanwhile stays.
fn write_new_key(folder: &Path, path: &Path) -> io::Result<()> {
    let mut key = [0; KEY_BYTES];
    rand::rng().fill_bytes(&mut key);
    let draft = folder.join(format!("{KEY_FILE}.{}", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&key)?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::File::open(folder)?.sync_all(),
    }
}

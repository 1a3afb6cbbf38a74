//! The server's key: where it is read, and how its file is made. What it seals is the domain's.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use rand::RngCore as _;
use rookery_domain::{sealed::ServerKey, text::unhex};
use rookery_storage::db::KEY_FILE;
use secrecy::ExposeSecret as _;

use super::BootError;
use crate::config::Config;

/// Bytes of the server's key.
const KEY_BYTES: usize = 32;

/// The server's key: the setting, else the file.
pub(crate) fn server_key(config: &Config) -> Result<ServerKey, BootError> {
    let key = match config.server.key.expose_secret() {
        "" => {
            let path = config.data_dir.join(KEY_FILE);
            read_key(&path).map_err(|error| BootError::Key { path, error })?
        }
        text => parse_key(text).ok_or(BootError::Setting("server.key: not a key"))?,
    };
    Ok(ServerKey::new(&key))
}

/// Reads the key of the file, where one is needed and there: a start that is to fail for it does so before
/// it has changed anything.
pub(super) fn check_key(config: &Config) -> Result<(), BootError> {
    let is_there = config.data_dir.join(KEY_FILE).try_exists().unwrap_or(false);
    match config.server.key.expose_secret().is_empty() && is_there {
        true => server_key(config).map(drop),
        false => Ok(()),
    }
}

/// Draws the key of the file, where no setting has one and there is none; whether that was so.
pub(super) fn make_key(config: &Config) -> Result<bool, BootError> {
    if !config.server.key.expose_secret().is_empty() {
        return Ok(false);
    }
    let path = config.data_dir.join(KEY_FILE);
    make_key_file(&config.data_dir, &path).map_err(|error| BootError::Key { path, error })
}

/// Reads 64 hexadecimal digits, in either case.
#[must_use]
pub fn parse_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    unhex(&text.to_ascii_lowercase())
}

/// Draws the key in `folder` when there is none, and whether that was so.
fn make_key_file(folder: &Path, path: &Path) -> io::Result<bool> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let is_new = !path.try_exists()?;
    if is_new {
        write_new_key(folder, path)?;
    }
    Ok(is_new)
}

fn read_key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let file = fs::File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::other("there is none; set server.key to the one that the server has")
        }
        _ => error,
    })?;
    let mut content = Vec::with_capacity(KEY_BYTES + 1);
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut content)?;
    content.as_slice().try_into().map_err(|_| {
        let found = match content.len() {
            0 => "is empty".to_owned(),
            len @ ..KEY_BYTES => format!("has {len}"),
            _ => "has more".to_owned(),
        };
        io::Error::other(format!("a key has {KEY_BYTES} bytes, and the file {found}"))
    })
}

/// Writes a key beside `path`, readable by its owner only, and then gives it that name, so that the
/// file is whole or absent, and a key that another process wrote meanwhile stays.
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

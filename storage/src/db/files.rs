//! SQLite's files, and whether they are still the ones at their paths.
//!
//! A file that somebody has removed or replaced goes on taking what is written to it, and nobody will
//! find that again. So whoever commits looks first, and tells of success then: three questions to the
//! file system, of names that it has at hand. The lock is looked at like the data, because without it
//! another process may have the folder.

use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{DATABASE_FILE, with_suffix};
use crate::error::{Result, StorageError};

/// The name of the file with the server's key, which is made once there is a database.
pub const KEY_FILE: &str = "server.key";

/// What follows the database's name in that of its log.
const LOG: &str = "-wal";

/// The files of one open database.
#[derive(Debug)]
pub(super) struct Files {
    database: Watched,
    log: Watched,
    lock: Watched,
}

/// A path, and which file was opened there.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    file: FileId,
}

/// What tells two files apart, as SQLite does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

/// What is at a path now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Same,
    Other,
    Nothing,
}

impl FileId {
    fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino() }
    }
}

impl Watched {
    /// A file that is open.
    pub(super) fn opened(path: PathBuf, file: &File) -> io::Result<Self> {
        let file = FileId::of(&file.metadata()?);
        Ok(Self { path, file })
    }

    /// The file that is at the path now. One of SQLite's must not be opened to learn that: closing it
    /// again would give up this process's locks.
    fn found(path: PathBuf) -> io::Result<Self> {
        let file = FileId::of(&fs::metadata(&path)?);
        Ok(Self { path, file })
    }

    fn look(&self) -> Found {
        match fs::metadata(&self.path) {
            Ok(found) if FileId::of(&found) == self.file => Found::Same,
            Ok(_) => Found::Other,
            Err(error) => match error.kind() {
                ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::StaleNetworkFileHandle => Found::Nothing,
                // It says nothing of the file.
                _ => Found::Same,
            },
        }
    }
}

impl Files {
    /// Those of a database whose connections have its log open.
    pub(super) fn of(database: Watched, lock: Watched) -> Result<Self> {
        let log = log_of(&database.path).unwrap_or_else(|_| with_suffix(&database.path, LOG));
        let log = Watched::found(log.clone())
            .map_err(|error| StorageError::Open(format!("{}: {error}", log.display())))?;
        let files = Self { database, log, lock };
        files.check().map(|()| files).map_err(StorageError::Open)
    }

    /// The log.
    pub(super) fn log(&self) -> &Path {
        &self.log.path
    }

    /// Fails once any of them is not at its path any more; what was written since then is lost.
    ///
    /// # Errors
    /// A line that names the file.
    pub(super) fn check(&self) -> Result<(), String> {
        for watched in [&self.database, &self.log, &self.lock] {
            let what = match watched.look() {
                Found::Same => continue,
                Found::Other => "replaced",
                Found::Nothing => "removed",
            };
            let path = watched.path.display();
            let aside = self.set_log_aside();
            return Err(format!("{path} was {what} while the server ran{aside}"));
        }
        Ok(())
    }

    /// Takes the log away from a database that it does not belong to: SQLite would put its pages into
    /// that one. Whoever has the database that was there still needs them. Where there is no database
    /// the log stays, for the one that may come back.
    fn set_log_aside(&self) -> String {
        let is_beside = log_of(&self.database.path).is_ok_and(|log| log == self.log.path);
        let is_other = self.database.look() == Found::Other && self.log.look() == Found::Same;
        if !is_beside || !is_other {
            return String::new();
        }
        // A name that no other log has that was set aside.
        let aside = with_suffix(&self.log.path, &format!(".{}", self.log.file.inode));
        match fs::rename(&self.log.path, &aside) {
            Ok(()) => format!("; the log of the one before is kept as {}", aside.display()),
            Err(error) => format!("; the log beside it is that of the one before: {error}"),
        }
    }
}

/// Where SQLite keeps the log of a database: beside the file itself, also where the path is a link.
fn log_of(database: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(database).map(|database| with_suffix(&database, LOG))
}

/// Refuses to make a new database in a folder that has lost its own: a new one would end the log,
/// which may hold most of the data, and be taken for the lost one. A first start that was interrupted
/// leaves neither a log nor a key without a database, since both are made after it.
///
/// # Errors
/// [`StorageError::Open`] with what is there, what is missing, and what to do.
pub(super) fn check_beginning(folder: &Path) -> Result<()> {
    let database = folder.join(DATABASE_FILE);
    let missing = match fs::metadata(&database) {
        Ok(found) if found.len() > 0 => return Ok(()),
        Ok(_) => "is empty",
        Err(_) => "is missing",
    };
    let unreadable =
        |error: io::Error| StorageError::Open(format!("{}: {error}", folder.display()));
    let mut left = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_string_lossy();
        let is_log = name.strip_prefix(DATABASE_FILE).is_some_and(|rest| rest.starts_with(LOG));
        let is_empty = || fs::metadata(folder.join(&*name)).is_ok_and(|file| file.len() == 0);
        if name == KEY_FILE || (is_log && !is_empty()) {
            left.push(name.into_owned());
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    left.sort_unstable();
    Err(StorageError::Open(format!(
        "{} {missing}, but {} beside it shows that there was a database: put the file back, or a \
         backup with `rookery restore FILE --force`; to begin anew, move away what is left",
        database.display(),
        left.join(" and "),
    )))
}

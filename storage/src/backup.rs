//! Backup and restore of the SQLite database as one complete file.
//!
//! A backup reads one snapshot and runs beside the server, in the same process or another one;
//! writers go on. A restore needs the folder for itself. PostgreSQL has tools of its own.

use std::{
    fs::{self, File, OpenOptions},
    future::Future,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, chown},
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::{Connection, InterruptHandle, OpenFlags};
use tokio::time::timeout;

use crate::{
    db::{
        APPLICATION_ID, BUSY_TIMEOUT, DATABASE_FILE, LOCK_FILE, LockFile, StorageOptions,
        create_folder, newest_migration, with_suffix,
    },
    error::{Result, StorageError},
    integrity,
    vfs::includes_quotas,
};

const PG_DUMP: StorageError = StorageError::Unsupported(
    "this server keeps its data in PostgreSQL: back it up with `pg_dump --format=custom` and \
     restore it with `pg_restore`",
);

/// What follows the database's name in that of the file that a restore is writing.
const RESTORING: &str = ".restoring";

/// What follows it once that file is whole: from then on the restore goes on, also at the next start.
const RESTORED: &str = ".restored";

/// What a new file system brings along.
const LOST_AND_FOUND: &str = "lost+found";

/// How long an interrupted backup may go on before it is interrupted again.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(50);

/// What is said where only the last step of a restore failed.
const GOES_ON: &str = "the backup is read, and the next start puts it in place";

const EXISTS: &str = "it exists; backups never overwrite";

/// Writes a copy of the database to `file`, which must not exist; its folder must. It is checked and
/// durable when this returns; the server may run all the while. When `stop` completes first, nothing
/// is left of it.
///
/// # Errors
/// [`StorageError::Unsupported`] on PostgreSQL; [`StorageError::Open`] with one line when there is
/// no database, the file exists or cannot be written, or the copy is not sound.
pub async fn backup(
    options: &StorageOptions,
    file: &Path,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    if options.database_url.is_some() {
        return Err(PG_DUMP);
    }
    let source = options.data_dir.join(DATABASE_FILE);
    let file = file.to_owned();
    let interruption = Arc::new(Interruption::default());
    let copying = Arc::clone(&interruption);
    let work = in_thread(move || backup_file(&source, &file, &copying));
    let mut work = pin!(work);
    tokio::select! {
        done = &mut work => done,
        () = stop => loop {
            interruption.interrupt();
            // Again, where the statement had not begun.
            if let Ok(done) = timeout(INTERRUPT_AGAIN, &mut work).await {
                break done;
            }
        },
    }
}

/// Whether a backup is to be given up, and the statement that it is in.
#[derive(Default)]
struct Interruption {
    wanted: AtomicBool,
    statement: Mutex<Option<InterruptHandle>>,
}

impl Interruption {
    /// From now on `connection` is at work.
    fn watch(&self, connection: &Connection) {
        *self.statement.lock() = Some(connection.get_interrupt_handle());
    }

    fn interrupt(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        if let Some(statement) = &*self.statement.lock() {
            statement.interrupt();
        }
    }

    /// Refuses to go on once it is wanted.
    fn check(&self, file: &Path) -> Result<()> {
        if self.wanted.load(Ordering::SeqCst) { Err(failed(file, "interrupted")) } else { Ok(()) }
    }
}

fn backup_file(source: &Path, file: &Path, interruption: &Interruption) -> Result<()> {
    if file.exists() {
        return Err(failed(file, EXISTS));
    }
    if !folder_of(file).is_dir() {
        return Err(failed(folder_of(file), "there is no such folder"));
    }
    if with_suffix(source, RESTORED).exists() {
        return Err(failed(source, "a restore of it was cut short; the next start ends it"));
    }
    let connection = open(source, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // What is wrong with the source is not said of the copy.
    connection
        .query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
        .map_err(|error| failed(source, error))?;
    interruption.watch(&connection);
    // Under a name of its own until it is whole, so that no half backup is taken for one. It goes
    // with this value unless it becomes the backup.
    let partial = tempfile::Builder::new()
        .prefix(&with_suffix(file.file_name().unwrap_or_default().as_ref(), "."))
        .suffix(".partial")
        .tempfile_in(folder_of(file))
        .map_err(|error| failed(file, error))?
        .into_temp_path();
    let name = partial.to_str().ok_or_else(|| failed(file, "its name is not UTF-8"))?;
    interruption.check(file)?;
    if let Err(error) = connection.execute("vacuum into ?1", [name]) {
        // A full disk keeps SQLite from ending the copy's journal, which would be left behind.
        drop(connection);
        let _ = remove(&with_suffix(&partial, "-journal"));
        return Err(failed(file, error));
    }
    check(&partial, interruption)
        .map_err(|error| interruption.check(file).err().unwrap_or(error))?;
    sync(&partial)?;
    interruption.check(file)?;
    partial.persist_noclobber(file).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => failed(file, EXISTS),
        _ => failed(file, error.error),
    })?;
    sync(folder_of(file))
}

/// Puts a backup in the place of the database in `options.data_dir`. A folder that holds anything
/// is refused unless `force`, which replaces the database and keeps the other files.
///
/// Feeds begin a new history: a client whose cursor is from after the backup would otherwise take
/// new events for ones that it has seen. It resyncs instead.
///
/// # Errors
/// [`StorageError::Unsupported`] on PostgreSQL; [`StorageError::Newer`] for a backup of a newer
/// build; [`StorageError::Open`] with one line when the file is not a sound backup, the folder is
/// in use or not empty, or a file cannot be written. Where only the last step failed, it says that the next
/// start goes on with it.
pub async fn restore(options: &StorageOptions, file: &Path, force: bool) -> Result<()> {
    if options.database_url.is_some() {
        return Err(PG_DUMP);
    }
    let folder = options.data_dir.clone();
    let file = file.to_owned();
    in_thread(move || restore_file(&file, &folder, force)).await
}

fn restore_file(file: &Path, folder: &Path, force: bool) -> Result<()> {
    check(file, &Interruption::default())?;
    create_folder(folder)?;
    let _lock = LockFile::take(folder)?;
    give_to_its_user(&folder.join(LOCK_FILE), folder)?;
    remove_half(folder)?;
    // What an earlier restore has made whole counts, and is replaced as the database is.
    if !force && holds_anything(folder)? {
        return Err(failed(folder, "it is not empty; --force replaces its database"));
    }
    let database = folder.join(DATABASE_FILE);
    let partial = with_suffix(&database, RESTORING);
    let copied = copy_with_new_histories(file, &partial);
    copied.and_then(|()| give_to_its_user(&partial, folder)).inspect_err(|_| {
        let _ = remove_half(folder);
    })?;
    let whole = with_suffix(&database, RESTORED);
    fs::rename(&partial, &whole).map_err(|error| failed(&whole, error))?;
    sync(folder)?;
    put_in_place(folder).map_err(|error| match error {
        StorageError::Open(why) => StorageError::Open(format!("{why}; {GOES_ON}")),
        other => other,
    })
}

/// Ends a restore that was cut short: a file that is whole becomes the database, and one that is not
/// goes. Whoever calls it has the folder to itself.
///
/// # Errors
/// Also when a file has the name of a whole one and is none: then the database stays as it is.
pub(crate) fn end_restore(folder: &Path) -> Result<()> {
    let whole = with_suffix(&folder.join(DATABASE_FILE), RESTORED);
    if whole.try_exists().map_err(|error| failed(&whole, error))? {
        check(&whole, &Interruption::default()).map_err(|error| {
            let why = match error {
                StorageError::Open(why) => why,
                other => format!("{}: {other}", whole.display()),
            };
            let told = "it has the name of a restore that was cut short: move it away, and the database \
                        stays as it is, or restore again with --force";
            StorageError::Open(format!("{why}; {told}"))
        })?;
        put_in_place(folder)?;
    }
    remove_half(folder)
}

/// Removes what a restore was writing.
fn remove_half(folder: &Path) -> Result<()> {
    let partial = with_suffix(&folder.join(DATABASE_FILE), RESTORING);
    for suffix in ["", "-journal", "-wal", "-shm"] {
        remove(&with_suffix(&partial, suffix))?;
    }
    Ok(())
}

/// Makes the whole file the database.
fn put_in_place(folder: &Path) -> Result<()> {
    let database = folder.join(DATABASE_FILE);
    let whole = with_suffix(&database, RESTORED);
    // Of a copy in the mode of a server's database a reader leaves these, empty.
    for suffix in ["-wal", "-shm"] {
        remove(&with_suffix(&whole, suffix))?;
    }
    // Before the rename, and durably: a log of the replaced database would be replayed into the new
    // one.
    for suffix in ["-wal", "-shm"] {
        remove(&with_suffix(&database, suffix))?;
    }
    sync(folder)?;
    fs::rename(&whole, &database).map_err(|error| failed(&database, error))?;
    sync(folder)
}

/// Gives a file that root has made to the user who has the folder, or the database in it: whoever restores
/// as root is not the service, and the mode shuts everybody else out.
fn give_to_its_user(file: &Path, folder: &Path) -> Result<()> {
    let ungiven = |error: std::io::Error| failed(file, error);
    if fs::metadata(file).map_err(ungiven)?.uid() != 0 {
        return Ok(());
    }
    let had = [folder.to_owned(), folder.join(DATABASE_FILE)];
    let mut owners = had.iter().filter_map(|path| fs::metadata(path).ok());
    match owners.find(|owner| owner.uid() != 0) {
        Some(owner) => chown(file, Some(owner.uid()), Some(owner.gid())).map_err(ungiven),
        None => Ok(()),
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(path, error)),
        _ => Ok(()),
    }
}

fn copy_with_new_histories(file: &Path, target: &Path) -> Result<()> {
    let mut copy = new_file(target)?;
    let mut source = File::open(file).map_err(|error| failed(file, error))?;
    std::io::copy(&mut source, &mut copy).map_err(|error| failed(target, error))?;
    drop(copy);
    begin_new_histories(target)?;
    sync(target)
}

/// Checks that the file is a whole database of ours that this build can read, which takes longer than to
/// copy it.
fn check(file: &Path, interruption: &Interruption) -> Result<()> {
    let log = with_suffix(file, "-wal");
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(failed(
            file,
            "a write-ahead log beside it holds a part of it; no backup has one",
        ));
    }
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    interruption.watch(&connection);
    interruption.check(file)?;
    let unreadable = |error: rusqlite::Error| failed(file, error);
    let id: i64 =
        connection.query_row("pragma application_id", [], |row| row.get(0)).map_err(unreadable)?;
    if id != APPLICATION_ID {
        return Err(failed(file, "it is not a database of rookery"));
    }
    if let Some(why) = integrity::damage(&connection).map_err(unreadable)? {
        return Err(failed(file, format_args!("it is damaged: {why}")));
    }
    let found: i64 = connection
        .query_row("select max(version) from _sqlx_migrations where success", [], |row| row.get(0))
        .map_err(unreadable)?;
    let known = newest_migration();
    if found > known {
        return Err(StorageError::Newer { found, known });
    }
    Ok(())
}

fn begin_new_histories(file: &Path) -> Result<()> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let unwritable = |error: rusqlite::Error| failed(file, error);
    connection.execute("update apps set history = randomblob(16)", []).map_err(unwritable)?;
    connection.close().map_err(|(_, error)| unwritable(error))
}

fn open(file: &Path, flags: OpenFlags) -> Result<Connection> {
    includes_quotas();
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(file, flags).map_err(|error| failed(file, error))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .and_then(|()| connection.pragma_update(None, "trusted_schema", "off"))
        .map_err(|error| failed(file, error))?;
    Ok(connection)
}

fn holds_anything(folder: &Path) -> Result<bool> {
    let unreadable = |error: std::io::Error| failed(folder, error);
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if name != LOCK_FILE && name != LOST_AND_FOUND {
            return Ok(true);
        }
    }
    Ok(false)
}

fn new_file(path: &Path) -> Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| failed(path, error))
}

fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| failed(path, error))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn failed(path: &Path, why: impl std::fmt::Display) -> StorageError {
    StorageError::Open(format!("{}: {why}", path.display()))
}

async fn in_thread(job: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    match tokio::task::spawn_blocking(job).await {
        Ok(result) => result,
        Err(error) => Err(StorageError::Open(format!("the job did not end: {error}"))),
    }
}

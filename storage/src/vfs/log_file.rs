//! The log's file as the lane's connection sees it: the pages of a commit in few system calls.
//!
//! SQLite writes each page of the log with two calls, one for the frame's header and one for the
//! page: 140 calls for a commit that touches 70 pages. Here they are gathered and written together,
//! before anything that could miss them: a sync, a read, a question about the file, a write
//! anywhere else, and always at the frame that ends a transaction, because SQLite shows it to other
//! connections next. What is gathered is thus never part of a commit that anybody has seen, and a
//! write that fails later than SQLite meant it fails the same transaction.
//!
//! This is a VFS around the system's own one, which opens every other file as ever. Of the log's
//! format it knows the one word that says where a transaction ends.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::size_of,
    ptr,
    sync::OnceLock,
};

use libsqlite3_sys::{
    self as ffi, SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_OK, sqlite3_file, sqlite3_io_methods,
    sqlite3_vfs,
};

/// The name of the VFS.
const NAME: &CStr = c"rookery-log";

/// Most bytes that are gathered, 31 pages: what SQLite's layer for Unix can write with one call.
const GATHERED_BYTES_MAX: usize = (128 << 10) - 1;

/// Length of a frame's header (<https://www.sqlite.org/fileformat2.html#walformat>).
const FRAME_HEADER_BYTES: usize = 24;

/// Registers the VFS with SQLite, once for the process, and gives its name.
///
/// # Errors
/// SQLite's code when it refuses.
pub(crate) fn vfs() -> Result<&'static CStr, c_int> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(register) {
        SQLITE_OK => Ok(NAME),
        code => Err(code),
    }
}

/// What SQLite has written to the log and the file has not been given.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// Where in the file they begin.
    at: i64,
    /// The last bytes are the header of a frame that ends a transaction; its page follows.
    ends: bool,
}

impl Gathered {
    /// Whether `bytes` at `at` would follow what is gathered, within the bound.
    fn has_room_for(&self, bytes: &[u8], at: i64) -> bool {
        let end =
            i64::try_from(self.bytes.len()).map_or(i64::MAX, |len| self.at.saturating_add(len));
        self.bytes.is_empty() || (at == end && self.bytes.len() + bytes.len() <= GATHERED_BYTES_MAX)
    }

    /// Takes `bytes`; `true` when they complete a transaction, and have to be written now.
    fn take(&mut self, bytes: &[u8], at: i64) -> bool {
        if self.bytes.is_empty() {
            self.at = at;
        }
        self.bytes.extend_from_slice(bytes);
        let is_complete = self.ends;
        // The second word of a frame's header is zero in all frames but the last of a transaction.
        self.ends = bytes.len() == FRAME_HEADER_BYTES && bytes[4..8] != [0; 4];
        is_complete
    }
}

/// The log's file: the one of the system's VFS, and what it was not given yet.
struct Log {
    /// Memory for the file of the system's VFS, which knows its layout.
    file: Box<[u64]>,
    gathered: Gathered,
}

/// What SQLite sees of a [`Log`]; begins as every `sqlite3_file` does.
#[repr(C)]
struct LogFile {
    methods: *const sqlite3_io_methods,
    log: *mut Log,
}

/// Calls a method of the system's own file.
macro_rules! call {
    ($log:expr, $method:ident $(, $value:expr)*) => {{
        let file = $log.file.as_mut_ptr().cast::<sqlite3_file>();
        // SAFETY: the file was opened by the VFS whose methods these are, and is not closed.
        unsafe { (*(*file).pMethods).$method.map_or(SQLITE_IOERR, |method| method(file $(, $value)*)) }
    }};
}

impl Log {
    /// # Safety
    /// `file` was opened by [`open`] as a log, and is not closed. One thread uses it at a time.
    unsafe fn of<'f>(file: *mut sqlite3_file) -> &'f mut Self {
        // SAFETY: then it is a `LogFile`, whose log lives until it is closed.
        unsafe { &mut *(*file.cast::<LogFile>()).log }
    }

    /// Gives the file what is gathered.
    fn flush(&mut self) -> c_int {
        if self.gathered.bytes.is_empty() {
            return SQLITE_OK;
        }
        let Gathered { bytes, at, .. } = &self.gathered;
        let Ok(length) = c_int::try_from(bytes.len()) else { return SQLITE_IOERR };
        let (from, at) = (bytes.as_ptr().cast::<c_void>(), *at);
        let code = call!(self, xWrite, from, length, at);
        // After a failure, too: SQLite takes the transaction back.
        self.gathered.bytes.clear();
        code
    }

    fn write(&mut self, bytes: &[u8], at: i64) -> c_int {
        if !self.gathered.has_room_for(bytes, at) {
            let code = self.flush();
            if code != SQLITE_OK {
                return code;
            }
        }
        if self.gathered.take(bytes, at) { self.flush() } else { SQLITE_OK }
    }
}

/// The VFS: the system's own one but for how files are opened.
#[repr(C)]
struct Vfs {
    base: sqlite3_vfs,
    system: *mut sqlite3_vfs,
}

fn register() -> c_int {
    // SAFETY: without a name this gives the default VFS, which lives as long as the process.
    let system = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    if system.is_null() {
        return SQLITE_CANTOPEN;
    }
    // SAFETY: as above; a VFS is plain data.
    let mut base = unsafe { ptr::read(system) };
    base.zName = NAME.as_ptr();
    base.pNext = ptr::null_mut();
    base.szOsFile = base.szOsFile.max(size_of::<LogFile>() as c_int);
    base.xOpen = Some(open);
    let vfs = Box::into_raw(Box::new(Vfs { base, system }));
    // SAFETY: it is never freed. Its other functions take any VFS of their kind.
    unsafe { ffi::sqlite3_vfs_register(vfs.cast(), 0) }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the VFS that was registered.
    let system = unsafe { (*vfs.cast::<Vfs>()).system };
    // SAFETY: it lives as long as the process.
    let (open, file_bytes) = unsafe { ((*system).xOpen, (*system).szOsFile) };
    let Some(open) = open else { return SQLITE_CANTOPEN };
    if flags & ffi::SQLITE_OPEN_WAL == 0 {
        // SAFETY: `file` has room for a file of the system's VFS; all else is as SQLite passed it.
        return unsafe { open(system, name, file, flags, flags_out) };
    }
    let words = usize::try_from(file_bytes).unwrap_or(0).div_ceil(size_of::<u64>());
    let mut log = Box::new(Log { file: vec![0; words].into(), gathered: Gathered::default() });
    let own = log.file.as_mut_ptr().cast::<sqlite3_file>();
    // SAFETY: as above, with memory of its own.
    let code = unsafe { open(system, name, own, flags, flags_out) };
    // SAFETY: `own` is zeroed or opened; `file` has room for a `LogFile`.
    unsafe {
        if (*own).pMethods.is_null() {
            (*file).pMethods = ptr::null();
        } else {
            // Also after a failure: then SQLite closes it.
            file.cast::<LogFile>().write(LogFile { methods: &METHODS, log: Box::into_raw(log) });
        }
    }
    code
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that `open` has made, and uses it no more.
    let mut log = unsafe { Box::from_raw((*file.cast::<LogFile>()).log) };
    let flushed = log.flush();
    let closed = call!(log, xClose);
    if closed == SQLITE_OK { flushed } else { closed }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    length: c_int,
    at: i64,
) -> c_int {
    let Ok(length) = usize::try_from(length) else { return SQLITE_IOERR };
    // SAFETY: SQLite passes a file that `open` has made, and so many bytes.
    let (log, bytes) =
        unsafe { (Log::of(file), std::slice::from_raw_parts(from.cast::<u8>(), length)) };
    log.write(bytes, at)
}

/// A method before which the file is given what is gathered.
macro_rules! after_flush {
    ($name:ident, $method:ident $(, $value:ident: $of:ty)*) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $value: $of)*) -> c_int {
            // SAFETY: SQLite passes a file that `open` has made.
            let log = unsafe { Log::of(file) };
            match log.flush() {
                SQLITE_OK => call!(log, $method $(, $value)*),
                failed => failed,
            }
        }
    };
}

after_flush!(read, xRead, into: *mut c_void, length: c_int, at: i64);
after_flush!(truncate, xTruncate, size: i64);
after_flush!(sync, xSync, flags: c_int);
after_flush!(size, xFileSize, size: *mut i64);
after_flush!(lock, xLock, level: c_int);
after_flush!(unlock, xUnlock, level: c_int);
after_flush!(is_reserved, xCheckReservedLock, reserved: *mut c_int);
after_flush!(control, xFileControl, what: c_int, value: *mut c_void);

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that `open` has made.
    call!(unsafe { Log::of(file) }, xSectorSize)
}

unsafe extern "C" fn characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes a file that `open` has made.
    call!(unsafe { Log::of(file) }, xDeviceCharacteristics)
}

/// The first version of these: a log is never mapped and never locked.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(is_reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

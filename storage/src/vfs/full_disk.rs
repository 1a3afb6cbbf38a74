//! What SQLite takes for a full disk: a quota that is used up as well, and a file that may not grow.
//!
//! Of all that a write may be refused with, SQLite knows only ENOSPC as a want of room. Whatever else
//! it is leaves open what has become of the write, and ends all writing. But EDQUOT and EFBIG say just
//! as surely that nothing was written, and pass like a full disk does. So what SQLite writes with says
//! ENOSPC for them: its layer for Unix lets its system calls be replaced
//! (<https://www.sqlite.org/c3ref/vfs.html>, `xSetSystemCall`).

use std::{
    ffi::{c_int, c_void},
    io::{self, ErrorKind},
    ptr,
    sync::{Once, OnceLock},
};

use errno::{Errno, set_errno};
use libsqlite3_sys as ffi;

/// `pwrite` (POSIX), where offsets have 64 bits.
type Write = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;

/// ENOSPC, the same on all kinds of Unix.
const NO_SPACE: Errno = Errno(28);

/// What SQLite wrote with before.
static SYSTEM: OnceLock<Write> = OnceLock::new();

/// Has SQLite take these for a full disk, in the whole process. To be called before a database is
/// opened.
pub(crate) fn includes_quotas() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // SAFETY: without a name this gives the default VFS, which lives as long as the process.
        let Some(vfs) = (unsafe { ffi::sqlite3_vfs_find(ptr::null()).as_mut() }) else { return };
        let (Some(get), Some(set)) = (vfs.xGetSystemCall, vfs.xSetSystemCall) else { return };
        // SAFETY: the VFS and the name are as these functions want them.
        let Some(system) = (unsafe { get(vfs, c"pwrite".as_ptr()) }) else { return };
        // SAFETY: that is how SQLite declares what it keeps by this name.
        let system = unsafe { std::mem::transmute::<unsafe extern "C" fn(), Write>(system) };
        if SYSTEM.set(system).is_ok() {
            // SAFETY: SQLite calls it with the type that it declares for it.
            let ours = unsafe { std::mem::transmute::<Write, unsafe extern "C" fn()>(write) };
            // SAFETY: as above.
            let _ = unsafe { set(vfs, c"pwrite".as_ptr(), Some(ours)) };
        }
    });
}

unsafe extern "C" fn write(file: c_int, from: *const c_void, length: usize, at: i64) -> isize {
    let Some(system) = SYSTEM.get() else { return -1 };
    // SAFETY: as SQLite passed it.
    let written = unsafe { system(file, from, length, at) };
    if written < 0 && is_want_of_room(&io::Error::last_os_error()) {
        set_errno(NO_SPACE);
    }
    written
}

fn is_want_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

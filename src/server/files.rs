//! Open files: every connection takes one, and so does much else. How many connections there may be
//! is settled at the start, so that none of them takes what the database needs.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open files that the public listener's connections leave to the database, to the operators'
/// listener, and to what the server itself asks of others.
const FILES_RESERVED: u64 = 256;
/// Connections to the operators' listener, which are among the reserved.
pub(super) const OPS_CONNECTIONS_MAX: usize = 128;

/// How many of `wanted` connections there may be at once. Raises the process's own bound of open
/// files to the one it may not pass; what this leaves too few for is said in the log.
pub(super) fn connections_max(wanted: usize) -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return wanted };
    let files = match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    };
    // Where the limit is so low that the reserve would leave next to nothing, connections get half of it.
    let left = files.saturating_sub(FILES_RESERVED).max(files / 2);
    let possible = usize::try_from(left).unwrap_or(usize::MAX).min(wanted);
    if possible < wanted {
        tracing::warn!(
            possible,
            wanted,
            files,
            "server.connections_max is lowered: the system allows too few open files (ulimit -n)"
        );
    }
    possible
}

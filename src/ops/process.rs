//! What the kernel says of this process. Where it says nothing (not Linux), there is nothing.

use std::fs;

/// Bytes of memory that are resident now.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// Open file descriptors now.
#[must_use]
pub fn open_fds() -> Option<u64> {
    // The descriptor that lists the folder is one of them.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}

//! What the kernel says of this process. Where it says nothing (not Linux), there is nothing.

use std::fs;

/// Bytes of memory that are resident now.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// Ticks of a second in what the kernel tells programs (`USER_HZ`, the same on every architecture
/// that Rust's standard library runs on).
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time so far, user and system.
#[must_use]
pub fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the program's name, which may hold anything: fields 14 and 15 of proc_pid_stat(5).
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

/// File descriptors that may be open.
#[must_use]
pub fn max_fds() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Open file descriptors now.
#[must_use]
pub fn open_fds() -> Option<u64> {
    // The descriptor that lists the folder is one of them.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}

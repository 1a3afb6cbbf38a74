//! The signals that ask the process to end, and those that it was started to ignore.

use std::{fs, future::pending, io};

use nix::sys::signal::SIGXFSZ;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Registered for SIGTERM, and for SIGINT and SIGHUP unless the process was started to ignore them
/// (`nohup`, a shell's background job).
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Registers for them.
    ///
    /// # Errors
    /// When the system refuses the registration.
    pub fn new() -> io::Result<Self> {
        let ignored = ignored();
        let unless_ignored = |kind: SignalKind| match ignored >> (kind.as_raw_value() - 1) & 1 {
            0 => signal(kind).map(Some),
            _ => Ok(None),
        };
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: unless_ignored(SignalKind::interrupt())?,
            hang_up: unless_ignored(SignalKind::hangup())?,
        })
    }

    /// Waits for the first of them, and names it.
    pub async fn stop(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            () = next(&mut self.interrupt) => "SIGINT",
            () = next(&mut self.hang_up) => "SIGHUP",
        }
    }

    /// Waits for one SIGINT more: somebody at a terminal does not want to wait. Supervisors repeat the
    /// others.
    pub async fn insist(&mut self) {
        next(&mut self.interrupt).await;
    }
}

/// A write beyond the process's bound of file sizes (`ulimit -f`) fails from now on. Otherwise the
/// signal that comes with it ends the process without a word.
///
/// # Errors
/// When the system refuses the registration.
pub fn outlive_large_files() -> io::Result<()> {
    signal(SignalKind::from_raw(SIGXFSZ as i32)).map(drop)
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => pending().await,
    }
}

/// The signals that this process ignores, a bit for each, the first one lowest. A system that does not
/// say so has none.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

//! The machine and its processes: what a figure was measured on and what it cost. No host name, no
//! path: a result may be published.

use std::{fs, time::Duration};

use nix::sys::{
    resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit},
    time::TimeVal,
};
use serde::{Deserialize, Serialize};

/// Ticks a second in which Linux tells a process's CPU time to others (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

/// What a run was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Logical CPUs.
    pub cpus: usize,
    /// The CPU's name as it tells it; empty if unknown.
    pub cpu: String,
    /// Bytes of memory; 0 if unknown.
    pub memory_bytes: u64,
    /// Operating system and its release.
    pub system: String,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let release = release.trim().split('-').next().unwrap_or_default().to_owned();
        Self {
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: field(&cpuinfo, "model name").unwrap_or_default().to_owned(),
            memory_bytes: field(&memory, "MemTotal").and_then(kilobytes).unwrap_or_default(),
            system: format!("{} {release}", std::env::consts::OS).trim().to_owned(),
        }
    }

    /// In one line.
    #[must_use]
    pub fn line(&self) -> String {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        let cpu = if self.cpu.is_empty() { "unknown" } else { &self.cpu };
        format!("{} CPUs ({cpu}), {gib:.0} GiB, {}", self.cpus, self.system)
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

fn kilobytes(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// CPU time of the calling thread; of the process where the system tells no thread's.
#[must_use]
pub fn thread_cpu() -> Duration {
    #[cfg(target_os = "linux")]
    let who = UsageWho::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = UsageWho::RUSAGE_SELF;
    getrusage(who)
        .map(|usage| duration(usage.user_time()) + duration(usage.system_time()))
        .unwrap_or_default()
}

/// CPU time of another process until now. None where the system does not tell.
#[must_use]
pub fn process_cpu(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces; utime and stime are the 12th and 13th after it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs_f64((user + system) / TICKS_PER_S))
}

/// Resident bytes of another process. None where the system does not tell.
#[must_use]
pub fn process_resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    field(&status, "VmRSS").and_then(kilobytes)
}

/// Raises this process's bound of open files as far as it may; servers started later inherit it.
/// The bound that now holds.
#[must_use]
pub fn raise_open_files() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}

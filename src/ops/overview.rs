//! The overview: one second's picture of the whole service. Figures only; how they are shown is
//! up to the page, the terminal and the JSON.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problems::Problem;

/// The service at one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// When, RFC 3339.
    pub at: String,
    /// Seconds since the process started.
    pub uptime_s: u64,
    /// The running version.
    pub version: String,
    /// Whether it drains: no new work is taken.
    pub draining: bool,
    /// Whether accounts are being loaded anew: nobody is known meanwhile.
    #[serde(default)]
    pub accounts_loading: bool,
    /// What is wrong, worst first.
    #[serde(default)]
    pub problems: Vec<Problem>,
    /// Apps by state.
    pub apps: Apps,
    /// Messages to apps.
    pub messages: Messages,
    /// The commit writer.
    pub writer: Writer,
    /// Memory.
    pub memory: Memory,
    /// Answers of the public listener.
    pub http: Http,
    /// How late the event loop was at worst in the last second, in seconds.
    pub event_loop_lag_seconds: f64,
    /// Open long-polls and streams.
    pub feed_waiters: u64,
    /// Long jobs that wait for their turn: long lists and decisions, manifests to compile, large bodies,
    /// files to compress.
    #[serde(default)]
    pub long_jobs_waiting: u64,
    /// How long the oldest of them has, in seconds.
    #[serde(default)]
    pub long_job_wait_seconds: f64,
    /// Mails that were given up since one was sent.
    #[serde(default)]
    pub mails_failed_in_a_row: u64,
    /// Why `/ready` was refused lately, where it was.
    #[serde(default)]
    pub not_ready: Option<String>,
    /// The last 60 seconds, oldest first.
    pub seconds: Vec<Second>,
}

/// Apps by state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Apps {
    /// With an actor.
    pub live: u64,
    /// In storage, without an actor. Counted once a minute.
    pub dormant: u64,
    /// Being loaded.
    pub waking: u64,
    /// Crashed, waiting to start again.
    pub restarting: u64,
    /// Crashed too often; down until somebody lifts it.
    pub quarantined: u64,
    /// Starts a second.
    pub starts_per_second: f64,
    /// 99th percentile of what a start took in the last second, in seconds.
    pub wake_p99_seconds: Option<f64>,
    /// Crashes since the process started.
    pub crashes: u64,
}

/// Messages to apps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// Ended, a second.
    pub per_second: f64,
    /// Of these, refused by an app's rules.
    pub refused_per_second: f64,
    /// Of these, not taken or failed.
    pub failed_per_second: f64,
    /// Ended since the process started.
    pub total: u64,
    /// Queued or uncommitted now.
    #[serde(default)]
    pub queued: u64,
    /// Median of the mailbox wait in the last second, in seconds.
    pub wait_p50_seconds: Option<f64>,
    /// 99th percentile of the mailbox wait in the last second, in seconds.
    pub wait_p99_seconds: Option<f64>,
    /// 99th percentile of deciding in the last second, in seconds.
    pub handle_p99_seconds: Option<f64>,
}

/// The commit writer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Writer {
    /// It commits, and the store is sound.
    pub ok: bool,
    /// Transactions a second.
    pub commits_per_second: f64,
    /// Rows in one transaction, on average over the last second.
    pub rows_per_commit: f64,
    /// 99th percentile of COMMIT with its fsync in the last second, in seconds.
    pub commit_p99_seconds: Option<f64>,
    /// The last COMMIT, in seconds.
    pub last_commit_seconds: f64,
    /// Groups that wait.
    pub queued: u64,
    /// How long the oldest of them has, in seconds.
    #[serde(default)]
    pub wait_seconds: f64,
    /// Bytes of SQLite's log at the last checkpoint.
    pub wal_bytes: u64,
    /// The log is above its alarm: a reader holds it open.
    pub wal_alarm: bool,
    /// Restarts of its parts.
    pub restarts: u64,
}

/// Memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Memory {
    /// Rows of live apps.
    pub resident_rows: u64,
    /// About how many bytes live apps hold.
    pub resident_bytes: u64,
    /// How many they may hold (`apps.memory_budget_bytes`).
    pub budget_bytes: u64,
    /// What the process holds, as the kernel counts it.
    pub process_bytes: Option<u64>,
}

/// Answers of the public listener.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Http {
    /// Answers a second.
    pub per_second: f64,
    /// Of these, with a status of 500 and above.
    pub failed_per_second: f64,
    /// 99th percentile of the time to an answer's head in the last second, in seconds. Feeds are not
    /// among it: a poll is held until something happens.
    pub p99_seconds: Option<f64>,
}

/// One second of the charts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Second {
    /// Messages a second.
    pub messages: f64,
    /// 99th percentile of the mailbox wait, in seconds.
    pub wait_p99_seconds: f64,
    /// Commits a second.
    pub commits: f64,
    /// 99th percentile of COMMIT, in seconds.
    pub commit_p99_seconds: f64,
}

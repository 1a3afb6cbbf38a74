//! What a run leaves behind: `result.json`, format 1. docs/LOADTEST.md describes it for readers.
//!
//! Format rule: members are added, never renamed or given another meaning; whatever breaks that
//! raises [`FORMAT`]. Times are microseconds where a name ends in `_us`, seconds where in `_s`.

pub mod derive;
mod file;
pub mod hgrm;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    machine::Machine,
    stats::{Bound, Step},
};

/// The version of the format.
pub const FORMAT: u32 = 1;
/// Name of the file in a run's folder.
pub const FILE: &str = "result.json";

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// [`FORMAT`].
    pub format: u32,
    /// This tool and its version.
    pub tool: String,
    /// When it began, RFC 3339.
    pub created_at: String,
    /// The command, e.g. `hot-app`.
    pub command: String,
    /// Its options, for people.
    pub options: String,
    /// What it ran on.
    pub machine: Machine,
    /// Whether the server was started by this run, on the same machine.
    pub spawned: bool,
    /// Whether it was cut short.
    pub interrupted: bool,
    /// Every measured phase.
    pub measurements: Vec<Measurement>,
    /// Every saturation search.
    pub searches: Vec<Search>,
    /// What depends on a number: bytes per app on the number of apps, for example.
    pub series: Vec<Series>,
    /// What can be compared with another run.
    pub figures: Vec<Figure>,
    /// What a reader must know before believing the figures.
    pub warnings: Vec<String>,
}

/// How requests were timed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Loop {
    /// By a timetable.
    Open {
        /// Requests a second.
        rate: f64,
    },
    /// One after another on each connection: not for latency, unless one by one.
    Closed {
        /// Connections.
        connections: usize,
        /// Each request was a case of its own on the one connection, and nothing was meant to be sent
        /// while it was under way: then its service time is what a caller waits.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        one_by_one: bool,
    },
}

impl Loop {
    /// One request after the other, each a case of its own.
    pub const ONE_BY_ONE: Self = Self::Closed { connections: 1, one_by_one: true };

    /// The label that stands wherever a figure of it does.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Open { rate } => format!("open loop, {rate:.0}/s"),
            Self::Closed { one_by_one: true, .. } => {
                "one request after the other, service times".to_owned()
            }
            Self::Closed { connections: 1, .. } => {
                "closed loop, 1 connection, not for latency".to_owned()
            }
            Self::Closed { connections, .. } => {
                format!("closed loop, {connections} connections, not for latency")
            }
        }
    }
}

/// One measured phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was measured, e.g. `hot-app/update`.
    pub case: String,
    /// Which run of it, from 1.
    pub run: usize,
    /// How requests were timed.
    #[serde(rename = "loop")]
    pub timing: Loop,
    /// Seconds measured.
    pub duration_s: f64,
    /// Requests that the timetable wanted.
    pub intended: u64,
    /// Requests sent.
    pub sent: u64,
    /// Answered as wanted.
    pub ok: u64,
    /// Of these, after the phase was over: they are in no throughput.
    #[serde(default)]
    pub ok_after: u64,
    /// Never sent, because too many waited for a connection.
    pub dropped: u64,
    /// Failures by code.
    pub errors: BTreeMap<String, u64>,
    /// Wanted answers a second while the phase lasted.
    pub throughput: f64,
    /// From the intended time to the answer; only in an open loop.
    pub corrected: Option<Latency>,
    /// From sending to the answer.
    pub service: Latency,
    /// How late the generator itself was; only in an open loop.
    pub lateness: Option<Latency>,
    /// What the generator cost.
    pub generator: Generator,
    /// What the server cost, where it could be seen.
    pub server: Option<ServerCost>,
    /// How evenly apps were served; with more than one.
    pub fairness: Option<Fairness>,
    /// By second.
    pub timeline: Vec<TimelinePoint>,
}

impl Measurement {
    /// Failed or dropped, as a share of what was intended.
    #[must_use]
    pub fn error_share(&self) -> f64 {
        let failed = self.intended.saturating_sub(self.ok);
        failed as f64 / self.intended.max(1) as f64
    }
}

/// A distribution of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Mean, microseconds.
    pub mean_us: f64,
    /// Smallest.
    pub min_us: u64,
    /// Median.
    pub p50_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// 99.9th percentile.
    pub p99_9_us: u64,
    /// 99.99th percentile.
    pub p99_99_us: u64,
    /// Largest.
    pub max_us: u64,
    /// `[percentile, microseconds]`, for plots.
    pub curve: Vec<(f64, u64)>,
}

/// The generator's own cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// CPU seconds.
    pub cpu_s: f64,
    /// The busiest thread's share of one CPU.
    pub busiest_thread: f64,
    /// Its threads.
    pub threads: usize,
    /// Whether it may have been the limit: then the figures are its own, not the server's.
    pub is_limit: bool,
}

/// The server's cost during a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ServerCost {
    /// CPU seconds.
    pub cpu_s: f64,
    /// Resident bytes at its end.
    pub resident_bytes: u64,
}

/// How evenly apps were served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Apps.
    pub apps: usize,
    /// Apps that enough requests were meant for to say anything of.
    pub apps_judged: usize,
    /// Jain's index of throughput over what each was meant to get.
    pub jain: Option<f64>,
    /// Smallest, middle and largest throughput of an app, a second.
    pub throughput: [f64; 3],
    /// The same of apps' 99th percentiles, microseconds. None with too many apps to tell.
    pub p99_us: Option<[f64; 3]>,
    /// Throughput and p99 of single apps, the most popular first; the first hundred.
    pub by_app: Vec<AppShare>,
}

/// One app's part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AppShare {
    /// Wanted answers a second.
    pub throughput: f64,
    /// 99th percentile, microseconds.
    pub p99_us: Option<u64>,
}

/// One second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelinePoint {
    /// Answered as wanted.
    pub ok: u64,
    /// Failed.
    pub errors: u64,
    /// Dropped.
    pub dropped: u64,
    /// Median latency, corrected in an open loop.
    pub p50_us: u64,
    /// 99th percentile of the same.
    pub p99_us: u64,
}

/// A saturation search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// What was searched.
    pub case: String,
    /// What had to hold.
    pub bound: Bound,
    /// Every rate tried, in order.
    pub steps: Vec<Step>,
    /// The highest rate that held, requests a second; none if none did.
    pub knee: Option<f64>,
}

/// Values over a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it shows.
    pub name: String,
    /// What the number is.
    pub x: String,
    /// What the values are, with their unit.
    pub y: String,
    /// Whether the number grows by factors.
    pub is_x_logarithmic: bool,
    /// Pairs.
    pub points: Vec<(f64, f64)>,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A figure with a value from each run: what `compare` judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name, the same in every run of the same kind.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// One value from each run.
    pub values: Vec<f64>,
}

//! The command line: what can be asked, and the words for it.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};

use crate::{
    load::{Mode, Plan},
    scenarios::{
        anonymous, console, feed, hot_app, many_apps, noisy, permissions, restart, sweep, wake,
    },
    stats::Bound,
    suite,
};

/// Measures a Rookery server: per-app throughput, latency without coordinated omission, and what a
/// change did to them.
#[derive(Debug, Parser)]
#[command(name = "rookery-load", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// One app gets everything.
    HotApp(Run<hot_app::Options>),
    /// Many apps, all as popular or a few far more than the rest.
    ManyApps(Run<many_apps::Options>),
    /// More and more live apps: latency and bytes per app.
    Sweep(Run<sweep::Options>),
    /// Cold starts: the first request to an app that sleeps.
    Wake(Run<wake::Options>),
    /// A server of the run's own ends and starts again: how long until it is ready?
    Restart(Run<restart::Options>),
    /// Many followers of one app: the time from a commit to the last delivery.
    Feed(Run<feed::Options>),
    /// One app is flooded; what do its quiet neighbours notice?
    Noisy(Run<noisy::Options>),
    /// What does an open operators' console cost?
    Console(Run<console::Options>),
    /// Anonymous visitors write within a budget that must hold exactly.
    Anonymous(Run<anonymous::Options>),
    /// The same reads by everybody whom an app is shared with, and with how many it is shared.
    Permissions(Run<permissions::Options>),
    /// GET /alive: what the server answers when it has nothing to do.
    Ceiling(Run<NoOptions>),
    /// The figures of docs/PERFORMANCE.md, in one run.
    Suite(Run<suite::Options>),
    /// Judges B against A, figure by figure. Ends with 1 when one is worse.
    Compare(Compare),
    /// Writes the HTML report of a result again.
    Report(Report),
}

/// A scenario has nothing to choose.
#[derive(Debug, Clone, Args)]
pub struct NoOptions {}

/// A scenario's own options and those of all.
#[derive(Debug, Clone, Args)]
pub struct Run<T: Args> {
    /// The scenario's own.
    #[command(flatten)]
    pub options: T,
    /// Which server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How much, how long.
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Which server, and who asks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct TargetArgs {
    /// A running server.
    #[arg(long, default_value = "http://localhost:8080", conflicts_with = "spawn")]
    pub url: String,
    /// Starts a server for this run: free ports, a temporary folder, limits out of the way.
    #[arg(long)]
    pub spawn: bool,
    /// The `rookery` binary for --spawn; else the one beside this program.
    #[arg(long, env = "ROOKERY_BIN", value_name = "FILE")]
    pub server_bin: Option<PathBuf>,
    /// A setting of the spawned server, e.g. ROOKERY__LOG__LEVEL=warn. Again for more.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// The key of a claimed agent, where there is no development mailbox to enroll through.
    #[arg(long, env = "ROOKERY_KEY", hide_env_values = true)]
    pub agent_key: Option<String>,
    /// A human's session cookie instead: an agent is registered and claimed with it.
    #[arg(long, env = "ROOKERY_SESSION", hide_env_values = true)]
    pub session: Option<String>,
    /// The human that signs in through the development mailbox.
    #[arg(long, default_value = "load@example.org")]
    pub email: String,
    /// The process of a server on this machine that was not spawned: for its memory and CPU.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
}

/// Requests a second of an open loop, where none are asked for.
const RATE: f64 = 1_000.0;
/// Connections of a closed loop, where none are asked for.
pub const CLOSED_CONNECTIONS: usize = 64;

/// How much, how long, and where the result goes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Requests a second, sent by a timetable whatever the server does; 1000 unless told otherwise.
    #[arg(long, value_parser = rate)]
    pub rate: Option<f64>,
    /// Closed loop instead: each of so many connections waits for its answer. Not for latency.
    #[arg(long, value_name = "CONNECTIONS", value_parser = at_least_one, conflicts_with_all = ["rate", "search"])]
    pub closed: Option<usize>,
    /// What is measured, each run.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub duration: Duration,
    /// What is sent before, each run.
    #[arg(long, default_value = "1s", value_parser = duration)]
    pub warmup: Duration,
    /// Runs; four or more can be compared.
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    pub runs: usize,
    /// Requests in flight at most, each on a connection of its own.
    #[arg(long, default_value_t = 128, value_parser = at_least_one)]
    pub connections: usize,
    /// Requests that may wait for a connection; further ones are dropped and counted.
    #[arg(long, default_value_t = 4096, value_parser = at_least_one)]
    pub backlog: usize,
    /// Threads of the generator.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    pub threads: usize,
    /// Time for one request.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Where the random choices begin.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Searches the saturation point, from --rate on, instead of measuring one rate.
    #[arg(long)]
    pub search: bool,
    /// The search's bound of the corrected 99th percentile.
    #[arg(long, default_value = "50ms", value_parser = duration, value_name = "TIME")]
    pub bound_p99: Duration,
    /// The search's bound of failed and dropped requests, as a share.
    #[arg(long, default_value_t = 0.001, value_name = "SHARE")]
    pub bound_errors: f64,
    /// The folder of the result; else load-results/COMMAND.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

impl LoadArgs {
    /// Requests a second of an open loop.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate.unwrap_or(RATE)
    }

    /// The same for a scenario whose figures are throughputs: a closed loop unless a rate is asked
    /// for. At a rate that the server keeps up with, each throughput is that rate.
    #[must_use]
    pub fn for_throughput(&self) -> Self {
        let closed = self.closed.or_else(|| self.rate.is_none().then_some(CLOSED_CONNECTIONS));
        Self { closed, ..self.clone() }
    }

    /// One measured phase as asked for.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan {
            mode: match self.closed {
                Some(_) => Mode::Closed,
                None => Mode::Open { rate: self.rate() },
            },
            connections: self.closed.unwrap_or(self.connections),
            threads: self.threads,
            warmup: self.warmup,
            duration: self.duration,
            requests_max: None,
            backlog_max: self.backlog,
            timeout: self.timeout,
            seed: self.seed,
        }
    }

    /// The bound of a search.
    #[must_use]
    pub fn bound(&self) -> Bound {
        let p99_us = u64::try_from(self.bound_p99.as_micros()).unwrap_or(u64::MAX);
        Bound { p99_us, errors: self.bound_errors }
    }
}

/// Two results.
#[derive(Debug, Args)]
pub struct Compare {
    /// Before: a result.json.
    pub a: PathBuf,
    /// After: a result.json.
    pub b: PathBuf,
    /// The smallest change of a median that matters, as a share.
    #[arg(long, default_value_t = 0.02, value_name = "SHARE")]
    pub effect_min: f64,
}

/// A result and where its report goes.
#[derive(Debug, Args)]
pub struct Report {
    /// A result.json.
    pub result: PathBuf,
    /// The file to write; else report.html beside the result.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Reads `250ms`, `10s`, `2m`.
///
/// # Errors
/// What is wrong with it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err("write it like 250ms, 10s or 2m".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "begin it with a number".to_owned())?;
    Duration::try_from_secs_f64(number * factor).map_err(|error| error.to_string())
}

/// Reads a rate: positive, and at most what a timetable of nanoseconds can hold.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.01..=10_000_000.0).contains(&rate) => Ok(rate),
        _ => Err("between 0.01 and 10000000 requests a second".to_owned()),
    }
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= 1 => Ok(count),
        _ => Err("a whole number of at least 1".to_owned()),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

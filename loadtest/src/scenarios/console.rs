//! What an open operators' console costs: many live apps are worked on, with every page of the
//! console open and live, and without, in turns. The figure is the share of throughput that is
//! left, and what the server's CPU costs per request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use clap::Args;
use tokio::task::JoinSet;

use super::row_work;
use crate::{
    api::Api,
    client::{ClientError, Endpoint},
    context::Context,
    failure::{Failure, Result},
    load::{Mode, Plan, traffic::Operation},
    result::{Better, Measurement},
    target::App,
};

/// Where the operators' listener is by default.
const OPS_URL: &str = "http://localhost:8081";

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Live apps.
    #[arg(long, default_value_t = 10_000)]
    pub apps: usize,
    /// Rows of each.
    #[arg(long, default_value_t = 10)]
    pub rows: usize,
    /// What is done with their rows.
    #[arg(long, value_enum, default_value = "update")]
    pub op: Operation,
    /// The operators' listener of a server that was not spawned; else http://localhost:8081.
    #[arg(long, env = "ROOKERY_OPS_URL", conflicts_with = "spawn")]
    pub ops_url: Option<String>,
}

/// The token of the operators' listener: no flag, because other users see a command's flags.
const TOKEN_VARIABLE: &str = "ROOKERY_OPS_TOKEN";

/// Measures it.
///
/// # Errors
/// When the server refuses an app, there is no console, or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let ops = operators(context, options).await?;
    let rows = options.rows.max(1);
    let step = context.view.step(&format!("deploying {} apps", options.apps.max(1)));
    let apps = context.target.deploy_many(options.apps.max(1), rows).await?;
    context.target.wake(&apps).await?;
    drop(step);
    let workload = Arc::new(row_work(&context.target.api, &apps, options.op, rows));
    let name = format!("console/{}-{}", options.op.name(), apps.len());
    for run in 1..=context.load.runs {
        let plan: Plan = context.load.plan();
        // Each goes first every other time: a machine that slows down favours neither.
        let turns = if run % 2 == 1 { [false, true] } else { [true, false] };
        let (mut without, mut with) = (None, None);
        for is_open in turns {
            let case = format!("{name}-{}", if is_open { "open" } else { "closed" });
            if is_open {
                let console = Console::open(&ops, &apps).await?;
                let found = context.measure(&case, run, &plan, Arc::clone(&workload) as _).await?;
                console.close()?;
                with = Some(found);
            } else {
                let found = context.measure(&case, run, &plan, Arc::clone(&workload) as _).await?;
                without = Some(found);
            }
        }
        if let (Some(without), Some(with)) = (without, with) {
            tell(context, run, &plan, &without, &with);
        }
    }
    Ok(())
}

fn tell(context: &mut Context, run: usize, plan: &Plan, without: &Measurement, with: &Measurement) {
    let each = |found: &Measurement| {
        found.server.as_ref().map(|server| server.cpu_s / (found.ok.max(1) as f64))
    };
    let mut told = Vec::new();
    // At a given rate it is that rate in both.
    if plan.mode == Mode::Closed {
        let left = with.throughput / without.throughput.max(f64::MIN_POSITIVE);
        context.figure("console: throughput, open / closed", "share", Better::Higher, left);
        told.push(format!("{:.1}% of the throughput is left", left * 100.0));
    }
    if let (Some(before), Some(after)) = (each(without), each(with)) {
        let share = after / before.max(f64::MIN_POSITIVE);
        context.figure("console: CPU per request, open / closed", "share", Better::Lower, share);
        told.push(format!("{:.1}% of the CPU per request", share * 100.0));
    }
    // At a given rate both phases do the same work, so the difference is the console's own.
    if let (Some(_), Some(before), Some(after)) = (&with.corrected, &without.server, &with.server) {
        let seconds = with.duration_s + plan.warmup.as_secs_f64();
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let share = (after.cpu_s - before.cpu_s) / (seconds * cpus).max(f64::MIN_POSITIVE);
        context.figure("console: its CPU, of all CPUs", "share", Better::Lower, share);
        told.push(format!("{:.2}% of all CPUs", share * 100.0));
    }
    context.view.line(&format!("console run {run}: {}", told.join(", ")));
}

/// The operators' listener of the server under load.
async fn operators(context: &Context, options: &Options) -> Result<Api> {
    let spawned = context.target.server.as_ref().and_then(|server| server.ops_url.clone());
    let url = spawned.or_else(|| options.ops_url.clone()).unwrap_or_else(|| OPS_URL.to_owned());
    let api = Api::new(&Endpoint::resolve(&url).await?);
    let api = match std::env::var(TOKEN_VARIABLE) {
        Ok(token) if !token.is_empty() => api.also("authorization", &format!("Bearer {token}")),
        _ => api,
    };
    api.expect("GET", "/ops/api/overview", None).await?;
    Ok(api)
}

/// Every page of the console, open and live.
struct Console {
    pages: JoinSet<std::result::Result<(), ClientError>>,
    heard: Vec<(String, Arc<AtomicU64>)>,
}

impl Console {
    async fn open(ops: &Api, apps: &[App]) -> Result<Self> {
        let mut views: Vec<String> =
            ["overview", "tree&shard=0", "hot", "restarts"].map(str::to_owned).into();
        views.extend(apps.first().map(|app| format!("app&id={}", app.id)));
        let (mut pages, mut heard) = (JoinSet::new(), Vec::new());
        for view in views {
            let mut connection = ops.endpoint().connect().await?;
            let mut request = Vec::new();
            ops.head().bodiless(&mut request, "GET", format_args!("/ops/live?view={view}"));
            if connection.open_stream(&request).await? >= 300 {
                return Err(Failure::Server(format!("the console's page {view} does not open")));
            }
            let parts = Arc::new(AtomicU64::new(0));
            heard.push((view, Arc::clone(&parts)));
            pages.spawn(async move {
                while connection.next_part().await?.is_some() {
                    parts.fetch_add(1, Relaxed);
                }
                Ok(())
            });
        }
        Ok(Self { pages, heard })
    }

    /// Closes it. A page that was not live would have cost nothing.
    fn close(mut self) -> Result<()> {
        if let Some(ended) = self.pages.try_join_next() {
            let why = ended.map(|ended| ended.err().map(|error| error.to_string()));
            let why = why.ok().flatten().unwrap_or_else(|| "it ended".to_owned());
            return Err(Failure::Server(format!("a page of the console was cut off: {why}")));
        }
        match self.heard.iter().find(|(_, parts)| parts.load(Relaxed) == 0) {
            Some((view, _)) => {
                Err(Failure::Server(format!("the console's page {view} was never live")))
            }
            None => Ok(()),
        }
    }
}

//! The figures of docs/PERFORMANCE.md in one run, each beside the ceiling of its own round.
//!
//! Rounds, not blocks: every round measures every case once, so that what the machine does
//! meanwhile (heat, a neighbour, a checkpoint) falls on all of them alike, and the ceiling is taken
//! before, between and after.

mod table;

use std::{sync::Arc, time::Duration};

use clap::Args;

pub use table::markdown;

use crate::{
    cli::{CLOSED_CONNECTIONS, at_least_one, duration, rate},
    context::Context,
    failure::Result,
    load::{Mode, Plan, traffic::Operation},
    result::{Better, Measurement},
    scenarios::{ceiling, row_work, wake},
    target::App,
};

/// Rows of the app that is read and updated.
const ROWS: usize = 1_000;
/// Apps of the case with many.
const MANY: usize = 100;
/// Rows of an app whose memory is measured; each holds about 200 bytes.
const MEMORY_ROWS: usize = 100;

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// What is measured of each case in each round, instead of --duration.
    #[arg(long, default_value = "6s", value_parser = duration, value_name = "TIME")]
    pub case_duration: Duration,
    /// Connections of the closed loops.
    #[arg(long, default_value_t = CLOSED_CONNECTIONS)]
    pub loop_connections: usize,
    /// Writes a second at which latency is measured.
    #[arg(long, default_value_t = 2_000.0, value_parser = rate)]
    pub moderate_rate: f64,
    /// Rows that the growing app ends with.
    #[arg(long, default_value_t = 100_000)]
    pub grow_to: usize,
    /// Apps between two looks at the server's memory: enough that the huge pages in which a server
    /// may take it, some MiB more or less at a look, hardly count.
    #[arg(long, default_value_t = 2_000, value_parser = at_least_one)]
    pub memory_apps: usize,
    /// Sleeping apps of 1,000 rows woken in each round.
    #[arg(long, default_value_t = 100)]
    pub wakes: usize,
}

/// Runs it and prints the table.
///
/// # Errors
/// When the server refuses a step or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let step = context.view.step("deploying");
    let one = context.target.deploy(ROWS).await?;
    let many = context.target.deploy_many(MANY, 0).await?;
    context.target.wake(&many).await?;
    drop(step);
    for round in 1..=context.load.runs {
        measure_round(context, options, round, &one, &many).await?;
    }
    ceiling_of(context, options, 2 * context.load.runs + 1).await?;
    let fresh = context.another_target(&[]).await?;
    let main = std::mem::replace(&mut context.target, fresh);
    // The apps of both targets must be purged, whatever happens between.
    let rest = apart(context, options).await;
    let fresh = std::mem::replace(&mut context.target, main);
    fresh.clean_up().await;
    drop(fresh);
    rest?;
    let text = markdown(&context.result);
    context.write("suite.md", &text)?;
    context.view.line(&format!("\n{text}"));
    Ok(())
}

/// What needs a server that has done nothing yet.
async fn apart(context: &mut Context, options: &Options) -> Result<()> {
    memory(context, options.memory_apps).await?;
    let options = wake::Options { apps: options.wakes, rows: ROWS };
    for round in 1..=context.load.runs {
        wake::measure(context, round, &options).await?;
    }
    Ok(())
}

fn closed(context: &Context, options: &Options) -> Plan {
    Plan {
        mode: Mode::Closed,
        connections: options.loop_connections.max(1),
        warmup: options.case_duration / 10,
        duration: options.case_duration,
        ..context.load.plan()
    }
}

async fn ceiling_of(context: &mut Context, options: &Options, run: usize) -> Result<f64> {
    let plan = closed(context, options);
    let workload = Arc::new(ceiling::workload(&context.target.api));
    Ok(context.measure("ceiling", run, &plan, workload).await?.throughput)
}

async fn measure_round(
    context: &mut Context,
    options: &Options,
    round: usize,
    one: &App,
    many: &[App],
) -> Result<()> {
    let api = context.target.api.clone();
    let mut found = Vec::new();
    let before = ceiling_of(context, options, 2 * round - 1).await?;
    let work = |apps: &[App], operation| Arc::new(row_work(&api, apps, operation, ROWS));
    let one = std::slice::from_ref(one);
    let cases = [
        ("update, one app of 1,000 rows", one, Operation::Update),
        ("create, over 100 apps", many, Operation::Create),
        ("get, one row", one, Operation::Get),
        ("list, 50 rows", one, Operation::List),
    ];
    let plan = closed(context, options);
    for (name, apps, operation) in cases {
        let mut work = row_work(&api, apps, operation, ROWS);
        if operation == Operation::Create {
            // Names are unique in an app, and the rows of the last round are still there.
            work.names = Arc::new(((round as u64) << 40).into());
        }
        found.push(context.measure(name, round, &plan, Arc::new(work)).await?);
    }
    found.push(grow(context, options, round).await?);
    let plan = Plan {
        mode: Mode::Open { rate: options.moderate_rate },
        connections: context.load.connections,
        ..plan
    };
    let case = format!("update at {:.0}/s", options.moderate_rate);
    context.measure(&case, round, &plan, work(one, Operation::Update)).await?;

    let after = ceiling_of(context, options, 2 * round).await?;
    let ceiling = f64::midpoint(before, after);
    for Measurement { case, throughput, .. } in &found {
        let name = format!("{case}: share of ceiling");
        context.figure(&name, "ratio", Better::Higher, throughput / ceiling);
    }
    Ok(())
}

/// Creates in one new app until it holds as many rows as it shall.
async fn grow(context: &mut Context, options: &Options, round: usize) -> Result<Measurement> {
    let app = context.target.deploy(0).await?;
    let work = row_work(&context.target.api, &[app], Operation::Create, 0);
    let plan = Plan {
        requests_max: Some(options.grow_to as u64),
        // The rows end it, not the time; this only bounds it.
        duration: options.case_duration * 10,
        ..closed(context, options)
    };
    let case = format!("create, one app growing to {} rows", options.grow_to);
    context.measure(&case, round, &plan, Arc::new(work)).await
}

/// What a live app of 100 rows adds to the server's resident memory.
async fn memory(context: &mut Context, count: usize) -> Result<()> {
    let step = context.view.step("memory per live app");
    let mut before = None;
    let mut each = Vec::new();
    // The first round only warms pools and arenas up.
    for _ in 0..=context.load.runs {
        let apps = context.target.deploy_many(count, MEMORY_ROWS).await?;
        context.target.wake(&apps).await?;
        let now = context.target.resident().map(|bytes| bytes as f64);
        if let (Some(before), Some(now)) = (before, now) {
            each.push((now - before) / count as f64);
        }
        before = now;
    }
    drop(step);
    if each.is_empty() {
        context.warn("the server's memory cannot be seen (--server-pid)".to_owned());
    }
    for bytes in each {
        context.figure("memory per live app of 100 rows", "KiB", Better::Lower, bytes / 1024.0);
    }
    Ok(())
}

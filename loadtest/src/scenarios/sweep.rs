//! More and more live apps, by factors of ten: does one app's latency depend on how many others
//! there are, and what does an app cost in memory?

use std::sync::Arc;

use clap::Args;

use super::row_work;
use crate::{
    context::Context,
    failure::Result,
    load::{Plan, traffic::Operation},
    result::{Better, Series},
    stats::ms,
    target::App,
};

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The largest number of apps; the smaller ones are its tenths.
    #[arg(long, default_value_t = 100_000)]
    pub apps_max: usize,
    /// Rows of each.
    #[arg(long, default_value_t = 10)]
    pub rows: usize,
    /// What is done with their rows.
    #[arg(long, value_enum, default_value = "update")]
    pub op: Operation,
}

/// 1, 10, 100 ... and `max` itself.
#[must_use]
pub fn sizes(max: usize) -> Vec<usize> {
    let tens = std::iter::successors(Some(1_usize), |size| size.checked_mul(10));
    let mut sizes: Vec<usize> = tens.take_while(|size| *size < max).collect();
    sizes.push(max.max(1));
    sizes
}

/// Measures it.
///
/// # Errors
/// When the server refuses an app or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let rows = options.rows.max(1);
    let mut apps: Vec<App> = Vec::new();
    let mut first_resident = None;
    let (mut latencies, mut bytes) = (Vec::new(), Vec::new());
    for size in sizes(options.apps_max) {
        let step = context.view.step(&format!("deploying up to {size} apps"));
        let missing = size - apps.len();
        let new = context.target.deploy_many(missing, rows).await?;
        context.target.wake(&new).await?;
        apps.extend(new);
        drop(step);
        // What the first app finds in memory is the server itself.
        let resident = context.target.resident();
        if let (Some(before), Some(now), true) = (first_resident, resident, size > 1) {
            let each = (now as f64 - before) / (size - 1) as f64;
            bytes.push((size as f64, each));
            context.view.line(&format!("sweep: {size} live apps, {each:.0} bytes each"));
        }
        first_resident = first_resident.or(resident.map(|bytes| bytes as f64));
        let workload = Arc::new(row_work(&context.target.api, &apps, options.op, rows));
        let case = format!("sweep/{}-{size}", options.op.name());
        let mut p99s = Vec::new();
        for run in 1..=context.load.runs {
            let plan: Plan = context.load.plan();
            let found = context.measure(&case, run, &plan, Arc::clone(&workload) as _).await?;
            p99s.extend(found.corrected.map(|corrected| ms(corrected.p99_us)));
        }
        latencies.extend(crate::stats::median(&p99s).map(|p99| (size as f64, p99)));
    }
    if let Some((_, each)) = bytes.last() {
        context.figure("sweep: bytes per live app", "bytes", Better::Lower, *each);
    } else {
        context
            .warn("the server's memory cannot be seen: no bytes per app (--server-pid)".to_owned());
    }
    for (name, y, points) in [
        ("Latency over live apps", "corrected p99, ms", latencies),
        ("Memory over live apps", "bytes per app", bytes),
    ] {
        context.series(Series {
            name: name.to_owned(),
            x: "live apps".to_owned(),
            y: y.to_owned(),
            is_x_logarithmic: true,
            points,
        });
    }
    Ok(())
}

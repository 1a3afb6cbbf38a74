//! Fan-out: many followers wait for one app's feed while rows change. How long after a commit was
//! acknowledged does the last of them know, and does the writer notice that they are there?

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::followers::{self, Seen};
use crate::{
    context::Context,
    failure::{Failure, Result},
    load::{Mode, Plan, traffic::Constant},
    result::{Better, Measurement, derive, hgrm::to_hgrm},
    stats::ms,
};

/// How followers follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// A request that waits, and another after each answer.
    LongPoll,
    /// Server-sent events: one answer that goes on.
    Sse,
}

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::LongPoll => "long-poll",
            Self::Sse => "sse",
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How they follow.
    #[arg(long, value_enum, default_value = "long-poll")]
    pub way: Way,
    /// How many; a server allows 2,000 from one address unless told otherwise.
    #[arg(long, default_value_t = 1000)]
    pub followers: usize,
    /// Commits a second.
    #[arg(long, default_value_t = 2.0)]
    pub commits_per_second: f64,
}

/// Measures it.
///
/// # Errors
/// When the server refuses the app or a follower.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    if !(options.commits_per_second > 0.0 && options.commits_per_second <= 1000.0) {
        return Err(Failure::Usage("--commits-per-second: above 0, at most 1000".to_owned()));
    }
    for run in 1..=context.load.runs {
        measure(context, run, 0, options).await?;
        let seen = measure(context, run, options.followers, options).await?;
        tell(context, run, &seen, options)?;
    }
    Ok(())
}

/// One phase with so many followers; the writer's own latency is noted as a measurement.
async fn measure(
    context: &mut Context,
    run: usize,
    count: usize,
    options: &Options,
) -> Result<Seen> {
    let app = context.target.deploy(1).await?;
    let order = followers::Order {
        api: context.target.api.clone(),
        app,
        way: options.way,
        followers: count,
        rate: options.commits_per_second,
        duration: context.load.duration,
        timeout: context.load.timeout,
    };
    let step = context.view.step(&format!("{count} followers"));
    let cpu = context.target.cpu();
    let seen = followers::run(order, &context.cancel).await?;
    drop(step);
    let rate = options.commits_per_second;
    let plan = Plan {
        mode: Mode::Open { rate },
        connections: 1,
        warmup: Duration::ZERO,
        ..context.load.plan()
    };
    let case = format!("feed/{}-{count}: the writer", options.way.name());
    let one = Constant { request: Vec::new() };
    let server = derive::server_cost(cpu, context.target.cpu(), context.target.resident());
    let found = derive::measurement(&case, run, &plan, &seen.writer, &one);
    context.note(Measurement { server, ..found }, &seen.writer, None)?;
    Ok(seen)
}

fn tell(context: &mut Context, run: usize, seen: &Seen, options: &Options) -> Result<()> {
    let case = format!("feed/{}-{}", options.way.name(), options.followers);
    let (each, last) = (derive::latency(&seen.each), derive::latency(&seen.last));
    context.view.line(&format!(
        "{case} run {run}: {} deliveries, each p50 {:.2} ms, p99 {:.2} ms; the last one p50 {:.2} ms, max {:.2} ms after the commit; missed {}",
        each.count, ms(each.p50_us), ms(each.p99_us), ms(last.p50_us), ms(last.max_us), seen.missed
    ));
    for (name, value) in [
        ("each delivery p99", each.p99_us),
        ("last delivery p50", last.p50_us),
        ("last delivery max", last.max_us),
    ] {
        context.figure(&format!("{case}: {name}"), "ms", Better::Lower, ms(value));
    }
    context.figure(&format!("{case}: missed"), "deliveries", Better::Lower, seen.missed as f64);
    let gone: usize = seen.ended.values().sum();
    context.figure(&format!("{case}: followers gone"), "followers", Better::Lower, gone as f64);
    if seen.missed > 0 {
        context.warn(format!("{case} run {run}: {} deliveries never came", seen.missed));
    }
    if seen.unanswered > 0 {
        context.warn(format!(
            "{case} run {run}: {} deliveries were of commits that the writer had no answer to: they are in no figure",
            seen.unanswered
        ));
    }
    if gone > 0 {
        let why: Vec<String> =
            seen.ended.iter().map(|(why, count)| format!("{why} {count}")).collect();
        context.warn(format!("{case} run {run}: {gone} followers ended early: {}", why.join(", ")));
    }
    let file = case.replace('/', "-");
    context.write(&format!("{file}-each-{run}.hgrm"), &to_hgrm(&seen.each))?;
    context.write(&format!("{file}-last-{run}.hgrm"), &to_hgrm(&seen.last))
}

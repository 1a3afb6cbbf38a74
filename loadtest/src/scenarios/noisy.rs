//! A noisy neighbour: quiet apps are measured alone, then while one app is flooded. What the quiet
//! ones notice is the figure; the flooded one is meant to shed with 503.

use std::sync::Arc;

use clap::Args;

use super::row_work;
use crate::{
    cli::{at_least_one, rate},
    context::Context,
    failure::Result,
    load::{Mode, Plan, traffic::Operation},
    result::{Better, derive},
};

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Quiet apps.
    #[arg(long, default_value_t = 20)]
    pub quiet_apps: usize,
    /// Requests a second to all quiet apps together.
    #[arg(long, default_value_t = 200.0, value_parser = rate)]
    pub quiet_rate: f64,
    /// Requests a second to the flooded app.
    #[arg(long, default_value_t = 20_000.0, value_parser = rate)]
    pub flood_rate: f64,
    /// Connections of the flood.
    #[arg(long, default_value_t = 256, value_parser = at_least_one)]
    pub flood_connections: usize,
}

/// What a flooded app answers to what it sheds.
const SHED: &str = "unavailable";
/// Rows of each app.
const ROWS: usize = 100;

/// Measures it.
///
/// # Errors
/// When the server refuses an app or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let step = context.view.step("deploying");
    let quiet = context.target.deploy_many(options.quiet_apps.max(1), ROWS).await?;
    let flooded = context.target.deploy(ROWS).await?;
    drop(step);
    let api = context.target.api.clone();
    let quiet_work = Arc::new(row_work(&api, &quiet, Operation::Update, ROWS));
    let flood_work = Arc::new(row_work(&api, &[flooded], Operation::Update, ROWS));
    for run in 1..=context.load.runs {
        let quiet_plan =
            Plan { mode: Mode::Open { rate: options.quiet_rate }, ..context.load.plan() };
        let flood_plan = Plan {
            mode: Mode::Open { rate: options.flood_rate },
            connections: options.flood_connections,
            ..context.load.plan()
        };
        let alone = context
            .measure("noisy/quiet-alone", run, &quiet_plan, Arc::clone(&quiet_work) as _)
            .await?;

        let (quiet_seen, flood_seen) = {
            let context = &*context;
            tokio::join!(
                context.record("noisy: quiet apps beside a flood", &quiet_plan, &quiet_work),
                context.record_silently(&flood_plan, &flood_work),
            )
        };
        let (quiet_seen, flood_seen) = (quiet_seen?, flood_seen?);
        // Both share the server's CPU, so neither is charged with it.
        let (case, plan) = ("noisy/quiet-beside", &quiet_plan);
        let beside = derive::measurement(case, run, plan, &quiet_seen, &*quiet_work);
        let beside = context.note(beside, &quiet_seen, None)?;
        let (case, plan) = ("noisy/flooded", &flood_plan);
        let flood = derive::measurement(case, run, plan, &flood_seen, &*flood_work);
        context.note(flood, &flood_seen, Some(SHED))?;
        let p99 = |found: &crate::result::Measurement| {
            found.corrected.as_ref().map_or(0.0, |corrected| corrected.p99_us as f64)
        };
        let factor = p99(&beside) / p99(&alone).max(1.0);
        context.figure("noisy: quiet p99, beside / alone", "factor", Better::Lower, factor);
        context.view.line(&format!("noisy run {run}: quiet p99 is {factor:.1} times of alone"));
    }
    Ok(())
}

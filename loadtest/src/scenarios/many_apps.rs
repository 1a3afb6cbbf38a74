//! Many apps at once, all as popular or a few far more than the rest: what sharing the writer
//! costs, and whether it is shared evenly.

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::row_work;
use crate::{context::Context, failure::Result, load::traffic::Operation, stats::Zipf};

/// How popular apps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Skew {
    /// All the same.
    Uniform,
    /// The k-th most popular gets a share of 1/k^exponent.
    Zipf,
}

/// What is asked of them.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How many.
    #[arg(long, default_value_t = 100)]
    pub apps: usize,
    /// How popular they are.
    #[arg(long, value_enum, default_value = "uniform")]
    pub skew: Skew,
    /// The exponent of --skew zipf.
    #[arg(long, default_value_t = 1.0)]
    pub exponent: f64,
    /// What is done with their rows.
    #[arg(long, value_enum, default_value = "update")]
    pub op: Operation,
    /// Rows each has at the start.
    #[arg(long, default_value_t = 100)]
    pub rows: usize,
}

/// Measures them.
///
/// # Errors
/// When the server refuses an app or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let rows = if options.op.needs_rows() { options.rows.max(1) } else { options.rows };
    let step = context.view.step("deploying");
    let apps = context.target.deploy_many(options.apps.max(1), rows).await?;
    context.target.wake(&apps).await?;
    drop(step);
    let mut work = row_work(&context.target.api, &apps, options.op, rows);
    let skew = match options.skew {
        Skew::Uniform => "uniform",
        Skew::Zipf => {
            work.popularity = Zipf::new(apps.len(), options.exponent);
            "zipf"
        }
    };
    let case = format!("many-apps/{}-{skew}-{}", options.op.name(), apps.len());
    context.measure_all(&case, Arc::new(work)).await
}

//! One app gets everything: what a single actor and its share of the writer can do.

use std::sync::Arc;

use clap::Args;

use super::row_work;
use crate::{context::Context, failure::Result, load::traffic::Operation};

/// What is asked of it.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// What is done with its rows.
    #[arg(long, value_enum, default_value = "update")]
    pub op: Operation,
    /// Rows it has at the start.
    #[arg(long, default_value_t = 1000)]
    pub rows: usize,
}

/// Measures it.
///
/// # Errors
/// When the server refuses the app or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let rows = if options.op.needs_rows() { options.rows.max(1) } else { options.rows };
    let step = context.view.step("deploying");
    let app = context.target.deploy(rows).await?;
    drop(step);
    let workload = Arc::new(row_work(&context.target.api, &[app], options.op, rows));
    context.measure_all(&format!("hot-app/{}", options.op.name()), workload).await
}

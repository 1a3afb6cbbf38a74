//! A server that ends and starts again: the time from the new process to its first `/ready`, with
//! many apps deployed and some of them awake when it ended. Needs `--spawn`: only a server of the
//! run's own may be ended.

use clap::Args;

use crate::{
    context::Context,
    failure::{Failure, Result},
    result::Better,
    server::Ending,
};

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Apps deployed.
    #[arg(long, default_value_t = 10_000)]
    pub apps: usize,
    /// Of these, apps that are awake when the server ends.
    #[arg(long, default_value_t = 1_000)]
    pub live: usize,
    /// Rows of each.
    #[arg(long, default_value_t = 10)]
    pub rows: usize,
}

/// Measures it.
///
/// # Errors
/// [`Failure::Usage`] without a server of the run's own; when the server refuses an app or does
/// not come back.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    if context.target.server.is_none() {
        return Err(Failure::Usage("restart: it ends the server, so it needs --spawn".to_owned()));
    }
    let step = context.view.step(&format!("deploying {} apps", options.apps));
    let apps = context.target.deploy_many(options.apps, options.rows).await?;
    drop(step);
    let live = &apps[..options.live.min(apps.len())];
    for run in 1..=context.load.runs {
        for ending in [Ending::InOrder, Ending::Killed] {
            context.target.wake(live).await?;
            let took = context.target.restart_server(ending).await?;
            let ms = took.as_secs_f64() * 1000.0;
            let name = format!("restart/{}-apps, {}: ready after", options.apps, ending.name());
            context.view.line(&format!("{name} {ms:.0} ms (run {run})"));
            context.figure(&name, "ms", Better::Lower, ms);
        }
    }
    Ok(())
}

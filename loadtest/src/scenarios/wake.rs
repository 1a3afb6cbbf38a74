//! Cold starts: the first request to an app that has never been awake, which loads its rows,
//! compiles its schemas and starts its actor. Apps are woken one at a time, so that each figure is
//! one wake's; the operating system's file cache is warm.

use clap::Args;

use crate::{
    api::text,
    context::Context,
    failure::Result,
    load::{Mode, Plan, one_by_one, traffic::Constant},
    result::{Loop, Measurement, derive},
    target::App,
};

/// Apps deployed at a time.
const AT_ONCE: usize = 8;

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Apps woken in each run.
    #[arg(long, default_value_t = 100)]
    pub apps: usize,
    /// Rows of each; they come with the deploy, which the service bounds.
    #[arg(long, default_value_t = 1000)]
    pub rows: usize,
}

/// Measures it.
///
/// # Errors
/// When the server refuses an app.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    for run in 1..=context.load.runs {
        measure(context, run, options).await?;
    }
    Ok(())
}

/// One run: deploys apps, then wakes them one by one.
///
/// # Errors
/// When the server refuses an app.
pub async fn measure(context: &mut Context, run: usize, options: &Options) -> Result<Measurement> {
    let step = context.view.step(&format!("deploying {} sleeping apps", options.apps));
    let mut apps = Vec::with_capacity(options.apps);
    while apps.len() < options.apps {
        let some = AT_ONCE.min(options.apps - apps.len());
        let target = &context.target;
        let deployed = (0..some).map(|_| target.deploy_asleep(options.rows));
        apps.extend(futures::future::try_join_all(deployed).await?);
    }
    drop(step);
    let awake = count_awake(context, &apps).await?;
    if awake > 0 {
        context.warn(format!("wake run {run}: {awake} of {} apps were awake already", apps.len()));
    }

    let plan = Plan { mode: Mode::Closed, connections: 1, ..context.load.plan() };
    let cpu = context.target.cpu();
    let api = &context.target.api;
    let requests = apps.iter().map(|app| {
        let mut request = Vec::new();
        let path = format_args!("{}?limit=1", app.collection());
        api.head().bodiless(&mut request, "GET", path);
        request
    });
    let recording = one_by_one(api.endpoint(), requests, context.load.timeout).await?;
    let case = format!("wake/{}-rows", options.rows);
    let server = derive::server_cost(cpu, context.target.cpu(), context.target.resident());
    let one = Constant { request: Vec::new() };
    let found = derive::measurement(&case, run, &plan, &recording, &one);
    let found = Measurement { timing: Loop::ONE_BY_ONE, server, ..found };
    context.note(found, &recording, None)
}

async fn count_awake(context: &Context, apps: &[App]) -> Result<usize> {
    let mut awake = 0;
    for app in apps {
        let what = "GET /v1/apps/:id";
        let record =
            context.target.api.expect("GET", &format!("/v1/apps/{}", app.id), None).await?;
        awake += usize::from(text(&record, "/status", what)? != "dormant");
    }
    Ok(awake)
}

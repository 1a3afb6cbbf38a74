//! Carrying out a command line: open, run, write down, clean up, whichever way it goes.

use std::{fmt, io::Write as _, path::Path, process::ExitCode};

use clap::{Args, Parser as _};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    cli::{Cli, Command, Compare, LoadArgs, Report, Run, TargetArgs},
    compare,
    context::Context,
    failure::{Failure, Result},
    machine, report,
    result::ResultFile,
    scenarios::{
        anonymous, ceiling, console, feed, hot_app, many_apps, noisy, permissions, restart, sweep,
        wake,
    },
    stats::RUNS_MIN,
    suite,
    view::View,
};

/// Ends a comparison in which a figure became worse.
const WORSE: u8 = 1;
/// Ends what could not be carried out.
const FAILED: u8 = 2;
/// Ends what was interrupted, as shells number it.
const INTERRUPTED: u8 = 130;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(carry_out(&command)),
        Err(error) => Err(Failure::Usage(error.to_string())),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "rookery-load: {failure}");
            ExitCode::from(if matches!(failure, Failure::Interrupted) {
                INTERRUPTED
            } else {
                FAILED
            })
        }
    }
}

/// Carries out one command; how the process is to end.
///
/// # Errors
/// When it cannot be carried out.
pub async fn carry_out(command: &Command) -> Result<ExitCode> {
    let run = match command {
        Command::Compare(Compare { a, b, effect_min }) => return judge(a, b, *effect_min),
        Command::Report(Report { result, html }) => return write_report(result, html.as_deref()),
        Command::HotApp(run) => Measured::of("hot-app", run),
        Command::ManyApps(run) => Measured::of("many-apps", run),
        Command::Sweep(run) => Measured::of("sweep", run),
        Command::Wake(run) => Measured::of("wake", run),
        Command::Restart(run) => Measured::of("restart", run),
        Command::Feed(run) => Measured::of("feed", run),
        Command::Noisy(run) => Measured::of("noisy", run),
        Command::Console(run) => Measured::of("console", run).for_throughput(),
        Command::Anonymous(run) => Measured::of("anonymous", run),
        Command::Permissions(run) => Measured::of("permissions", run).for_throughput(),
        Command::Ceiling(run) => Measured::of("ceiling", run),
        Command::Suite(run) => Measured::of("suite", run),
    };
    measure(command, run).await?;
    Ok(ExitCode::SUCCESS)
}

/// What every scenario is run with.
struct Measured<'a> {
    name: &'static str,
    /// The scenario's own options.
    own: &'a dyn fmt::Debug,
    target: &'a TargetArgs,
    load: LoadArgs,
}

impl<'a> Measured<'a> {
    fn of<T: Args + fmt::Debug>(name: &'static str, run: &'a Run<T>) -> Self {
        let Run { options, target, load } = run;
        Self { name, own: options, target, load: load.clone() }
    }

    /// For a scenario whose figures are throughputs.
    fn for_throughput(self) -> Self {
        Self { load: self.load.for_throughput(), ..self }
    }
}

async fn measure(command: &Command, run: Measured<'_>) -> Result<()> {
    let Measured { name, target, ref load, .. } = run;
    let cancel = CancellationToken::new();
    watch_signals(&cancel)?;
    let _allowed = machine::raise_open_files();
    let mut context = Context::open(name, described(&run), target, load, &cancel).await?;
    let run = async {
        tokio::select! {
            done = scenario(command, &mut context) => done,
            () = cancel.cancelled() => Err(Failure::Interrupted),
        }
    };
    let done = run.await;
    context.result.interrupted = done.is_err();
    // What was measured is kept, and what was deployed goes, also when a run was cut short. One that was
    // refused before it measured anything leaves an earlier result where it is.
    let has_failed_at_once = done.is_err() && context.result.is_empty();
    let written = (!has_failed_at_once).then(|| context.finish()).transpose();
    let left = context.target.clean_up().await;
    if left > 0 {
        context.view.line(&format!("! {left} apps of this run could not be purged"));
    }
    done?;
    if let Some(folder) = written? {
        let folder = folder.display();
        context.view.line(&format!("result.json, report.html and histograms: {folder}"));
    }
    Ok(())
}

async fn scenario(command: &Command, context: &mut Context) -> Result<()> {
    match command {
        Command::HotApp(run) => hot_app::run(context, &run.options).await,
        Command::ManyApps(run) => many_apps::run(context, &run.options).await,
        Command::Sweep(run) => sweep::run(context, &run.options).await,
        Command::Wake(run) => wake::run(context, &run.options).await,
        Command::Restart(run) => restart::run(context, &run.options).await,
        Command::Feed(run) => feed::run(context, &run.options).await,
        Command::Noisy(run) => noisy::run(context, &run.options).await,
        Command::Console(run) => console::run(context, &run.options).await,
        Command::Anonymous(run) => anonymous::run(context, &run.options).await,
        Command::Permissions(run) => permissions::run(context, &run.options).await,
        Command::Ceiling(_) => ceiling::run(context).await,
        Command::Suite(run) => suite::run(context, &run.options).await,
        Command::Compare(_) | Command::Report(_) => Ok(()),
    }
}

/// The options that shape the figures, without secrets and places.
fn described(Measured { own, load, .. }: &Measured<'_>) -> String {
    let own = format!("{own:?}");
    let own = own.trim_start_matches("NoOptions").trim_start_matches("Options").trim();
    let timing = match load.closed {
        Some(connections) => format!("closed loop of {connections}, not for latency"),
        None => format!("open loop of {}/s, {} connections", load.rate(), load.connections),
    };
    format!("{own} {timing}; {:?} after {:?}, {} threads", load.duration, load.warmup, load.threads)
        .trim()
        .to_owned()
}

fn watch_signals(cancel: &CancellationToken) -> Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut stream = signal(kind).map_err(|error| Failure::Usage(error.to_string()))?;
        let cancel = cancel.clone();
        tokio::spawn(async move {
            stream.recv().await;
            cancel.cancel();
        });
    }
    Ok(())
}

fn judge(a: &Path, b: &Path, effect_min: f64) -> Result<ExitCode> {
    let comparison = compare::compare(&ResultFile::read(a)?, &ResultFile::read(b)?, effect_min);
    View::default().line(compare::text(&comparison).trim_end());
    if comparison.rows.is_empty() {
        return Err(Failure::Usage("the two results have no figure in common".to_owned()));
    }
    if !comparison.is_judged() {
        return Err(Failure::Usage(format!(
            "no figure can be judged: it takes {RUNS_MIN} runs of each at least"
        )));
    }
    Ok(if comparison.is_worse() { ExitCode::from(WORSE) } else { ExitCode::SUCCESS })
}

fn write_report(result: &Path, html: Option<&Path>) -> Result<ExitCode> {
    let text = report::html(&ResultFile::read(result)?);
    let path = html.map_or_else(|| result.with_file_name("report.html"), Path::to_path_buf);
    std::fs::write(&path, text)
        .map_err(|source| Failure::File { path: path.display().to_string(), source })?;
    View::default().line(&format!("{}", path.display()));
    Ok(ExitCode::SUCCESS)
}

//! The command line: what can be asked of the binary, and how it answers. Work is done elsewhere.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, Subcommand};
use tokio::time::timeout;

use crate::{
    config::{self, Config, Environment},
    demo::{self, DemoError},
    openapi, operator, router,
    server::{
        self, Hooks,
        signal::{self, Signals},
    },
    terminal::{self, OpsArgs},
    threads,
};

/// Why a process ends that can no longer keep anything.
const BROKEN: &str = "the store is broken; nothing can be made durable any more";
/// What a server with a broken store has to end.
const BROKEN_STOP_MAX: Duration = Duration::from_secs(1);

/// Hosts small web apps that agents deploy.
#[derive(Debug, Parser)]
#[command(name = "rookery", version)]
struct Cli {
    /// The settings file; else ROOKERY_CONFIG, else ./rookery.toml where it exists.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the server (what `rookery` alone does).
    Serve,
    /// Runs the server and shows the main job on it: two example apps that stay.
    Demo,
    /// Prints the settings in force and where they come from; secrets are masked. Says, and ends
    /// with 1, when a server would not start with them, by what they say and the files that they
    /// name: it opens no port, asks no database and makes nothing.
    Config,
    /// Prints the OpenAPI document.
    Openapi,
    /// What an operator does to one app.
    #[command(subcommand)]
    App(AppCommand),
    /// What operators see of a running server, and a few things they do to it.
    Ops(OpsArgs),
    /// Writes a copy of the database to a new file; the server may run. (PostgreSQL: pg_dump.)
    Backup {
        /// The file to write; it must not exist.
        file: PathBuf,
    },
    /// Puts a backup in the place of the database; the server must not run.
    Restore {
        /// A file that `rookery backup` wrote.
        file: PathBuf,
        /// Replaces a database that is there.
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Subcommand)]
enum AppCommand {
    /// Takes an app down for good: its owner may still read it, nobody writes, its pages say so.
    Close {
        /// Its id or slug.
        app: String,
    },
}

/// Runs the command line of this process.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let file = cli.config.as_deref();
    let result = match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => serve(file, false),
        Command::Demo => serve(file, true),
        Command::Config => print_config(file),
        Command::Openapi => print(&openapi::to_json(&router::document())),
        Command::App(AppCommand::Close { app }) => run_once(file, async |config| {
            let closed = operator::close_app(&config, &app).await?;
            Ok(format!("closed {} ({})\n", closed.id, closed.slug))
        }),
        Command::Ops(args) => run_once(file, async |config| terminal::run(&config, args).await),
        Command::Backup { file: to } => run_once(file, async |config| {
            let mut signals = signals()?;
            let stop = async {
                signals.stop().await;
            };
            operator::back_up(&config, &to, stop).await?;
            Ok(format!("backed up to {}\n", to.display()))
        }),
        Command::Restore { file: from, force } => run_once(file, async |config| {
            operator::restore(&config, &from, force).await?;
            Ok(format!("restored {} into {}\n", from.display(), config.data_dir.display()))
        }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            threads::say(move || drop(writeln!(std::io::stderr(), "rookery: {line}")));
            ExitCode::FAILURE
        }
    }
}

fn print_config(file: Option<&Path>) -> Result<(), String> {
    let environment = Environment::of_process();
    let (config, text) = config::describe(file, &environment).map_err(|e| e.to_string())?;
    print(&text)?;
    server::check(&config).map_err(|e| e.to_string())
}

/// Does one thing with the settings in force, and prints what it says.
fn run_once(
    file: Option<&Path>,
    work: impl AsyncFnOnce(Config) -> Result<String, String>,
) -> Result<(), String> {
    let config = config::load(file, &Environment::of_process()).map_err(|e| e.to_string())?;
    let runtime = runtime()?;
    let said = runtime.block_on(work(config))?;
    print(&said)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = threads::runtime("rookery")
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    runtime.block_on(async { signal::outlive_large_files() }).map_err(no_signals)?;
    Ok(runtime)
}

fn serve(file: Option<&Path>, demo: bool) -> Result<(), String> {
    let environment = Environment::of_process();
    let mut config = config::load(file, &environment).map_err(|e| e.to_string())?;
    if demo && config.log.level == config::Log::LEVEL_AS_SHIPPED {
        // Each request is shown already, as a line to paste.
        config.log.level = "warn".to_owned();
    }
    let _log = crate::log::start(&config.log);
    for setting in config::without_effect(&environment) {
        tracing::warn!(setting, "{}", config::NO_EFFECT);
    }
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        let mut signals = signals()?;
        // A start may have to wait: for a database, or for another process that migrates it.
        let server = tokio::select! {
            started = server::start(config, Hooks::default()) => started.map_err(|e| e.to_string())?,
            _ = signals.stop() => return Ok(()),
        };
        // Nobody has to listen on standard output for the server to serve.
        let greeting = greeting(&server);
        threads::say(move || drop(print(&greeting)));
        let done = if demo { show(&server).await } else { Ok(()) };
        let ended = match done {
            Ok(()) => tokio::select! {
                signal = signals.stop() => {
                    tracing::info!(signal, "draining");
                    Ok(())
                }
                () = server.state().rooms.runtime.broken() => {
                    Err(BROKEN.to_owned())
                }
            },
            Err(line) => Err(line),
        };
        let state = server.state().clone();
        tokio::select! {
            () = stop(server) => match state.rooms.writer.health().broken {
                // The last commits, made while the server stopped, may have found the disk broken.
                true => Err(BROKEN.to_owned()),
                false => ended,
            },
            () = signals.insist() => Err("interrupted twice: ended without waiting".to_owned()),
        }
    });
    // What still blocks a thread was given its time; it must not hold up the exit.
    runtime.shutdown_background();
    result
}

/// Ends `server`, where the store is broken within [`BROKEN_STOP_MAX`].
async fn stop(server: server::Server) {
    if server.state().rooms.writer.health().broken {
        // What is still running comes to no good end, and whoever starts it again waits.
        drop(timeout(BROKEN_STOP_MAX, server.stop()).await);
    } else {
        server.stop().await;
    }
}

fn signals() -> Result<Signals, String> {
    Signals::new().map_err(no_signals)
}

fn no_signals(error: std::io::Error) -> String {
    format!("cannot listen to signals: {error}")
}

async fn show(server: &server::Server) -> Result<(), String> {
    let state = server.state();
    // Otherwise `public_url` may be another server's, on which no demo may run.
    state.mailer.readable_mailbox().ok_or_else(|| DemoError::NoMailbox.to_string())?;
    demo::run(&state.public_url).await.map_err(|error| error.to_string())?;
    print("\nThe apps go on running; Ctrl-C stops the server.\n")
}

/// Three lines: where it listens, where the docs are, what to do next.
fn greeting(server: &server::Server) -> String {
    let url = &server.state().public_url;
    format!(
        "Rookery listens on http://{} (operators: http://{})\n\
         Docs: {url}/docs\n\
         Next: {url}/llms.txt leads an agent from nothing to a deployed app\n",
        server.site_address(),
        server.ops_address(),
    )
}

fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| error.to_string()),
    }
}

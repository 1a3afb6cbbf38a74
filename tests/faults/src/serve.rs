//! The server that the campaign breaks, in this binary: the product's own command line; or, with
//! one of the variables below, the same server with faults inside.
//!
//! `ROOKERY_FAULTS_COMMIT` names what goes wrong in commits: `<point>,<nth time>,<fault>` as
//! `rookery_storage::faults` spells them. `ROOKERY_FAULTS_SYNCHRONOUS=normal` opens SQLite without
//! an fsync at each commit: the control that has to lose something. `ROOKERY_FAULTS_ORDERS=on`
//! takes orders on standard input, one a line: `panic <app>`, `check <app>` (whether it is there)
//! and `clock <seconds>` (how far the server's clock is from the system's). Each is answered by a
//! line: `done` or `no`.

use std::{
    io::{BufRead as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use rookery::{
    Hooks, Server,
    config::{self, Environment},
    server::signal::Signals,
};
use rookery_domain::time::Clock;
use rookery_storage::faults::{self, Fault, Faults, Point};
use tokio::{runtime::Runtime, sync::mpsc};

/// What goes wrong in commits.
pub const COMMIT: &str = "ROOKERY_FAULTS_COMMIT";
/// How SQLite syncs.
pub const SYNCHRONOUS: &str = "ROOKERY_FAULTS_SYNCHRONOUS";
/// Whether orders are taken.
pub const ORDERS: &str = "ROOKERY_FAULTS_ORDERS";

/// How often the server's clock follows the system's.
const TICK: Duration = Duration::from_millis(1);
/// Orders that wait.
const ORDERS_MAX: usize = 64;

/// Runs the server as `rookery serve` does.
#[must_use]
pub fn run() -> ExitCode {
    if [COMMIT, SYNCHRONOUS, ORDERS].iter().all(|name| std::env::var_os(name).is_none()) {
        return rookery::cli::run();
    }
    match run_with_faults() {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            let _ = writeln!(std::io::stderr(), "rookery-faults serve: {line}");
            ExitCode::FAILURE
        }
    }
}

fn run_with_faults() -> Result<(), String> {
    let config =
        config::load(None, &Environment::of_process()).map_err(|error| error.to_string())?;
    let _log = rookery::log::start(&config.log);
    let faults = match std::env::var(COMMIT) {
        Ok(text) => Faults::listed([commit_fault(&text).ok_or_else(|| format!("{COMMIT}?"))?]),
        Err(_) => Faults::default(),
    };
    if std::env::var(SYNCHRONOUS).is_ok_and(|how| how == "normal") {
        faults::sync_at_checkpoints_only();
    }
    let takes_orders = std::env::var_os(ORDERS).is_some();
    let clock = match takes_orders {
        true => Clock::manual(Clock::system().now()),
        false => Clock::system(),
    };
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::new().map_err(|error| error.to_string())?;
        let hooks = Hooks { clock: clock.clone(), faults, ..Hooks::default() };
        let server = rookery::start(config, hooks).await.map_err(|error| error.to_string())?;
        let (site, ops) = (server.site_address(), server.ops_address());
        say(&format!("Rookery listens on http://{site} (operators: http://{ops})"));
        let ended = tokio::select! {
            _ = signals.stop() => Ok(()),
            () = server.state().rooms.runtime.broken() => Err("the store is broken".to_owned()),
            () = obey(&server, &clock), if takes_orders => Ok(()),
        };
        server.stop().await;
        ended
    });
    runtime.shutdown_background();
    ended
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever started it and left hears nothing.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn commit_fault(text: &str) -> Option<(Point, u64, Fault)> {
    let mut words = text.split(',');
    let (point, nth, fault) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    let point = Point::ALL.into_iter().find(|one| format!("{one:?}") == point)?;
    let all = [Fault::Refuse, Fault::Full, Fault::Panic, Fault::Lose, Fault::Fsync];
    let fault = all.into_iter().find(|one| format!("{one:?}") == fault)?;
    Some((point, nth, fault))
}

/// Carries out orders and lets the clock run, until standard input ends.
async fn obey(server: &Server, clock: &Clock) {
    let (orders, mut ordered) = mpsc::channel(ORDERS_MAX);
    // A thread of its own: a blocking read must not hold the runtime up.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if orders.blocking_send(line).is_err() {
                return;
            }
        }
    });
    let mut distance_s = 0;
    let mut tick = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = tick.tick() => clock.set(Clock::system().now().plus_seconds(distance_s)),
            order = ordered.recv() => {
                let Some(order) = order else { return };
                let done = match order.split_once(' ') {
                    Some(("panic", app)) => panic_in(server, app).await,
                    Some(("check", app)) => server.state().rooms.apps().find(app).await.is_ok(),
                    Some(("clock", seconds)) => {
                        distance_s = seconds.parse().unwrap_or(distance_s);
                        clock.set(Clock::system().now().plus_seconds(distance_s));
                        true
                    }
                    _ => false,
                };
                say(if done { "done" } else { "no" });
            }
        }
    }
}

async fn panic_in(server: &Server, app: &str) -> bool {
    let found = server.state().rooms.apps().find(app).await;
    found.is_ok_and(|app| app.inject_panic())
}

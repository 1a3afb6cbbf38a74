//! Log lines: to standard error, through a bounded queue and a thread of its own, so that a slow
//! terminal or disk never slows a request. What is logged is decided where it happens; requests
//! are logged once, at the boundary (`http::edge`).

use std::str::FromStr as _;

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use crate::{
    config::{Log, LogFormat},
    threads,
};

/// Lines that wait for the writer thread; further ones are dropped and counted.
const QUEUED_LINES_MAX: usize = 32_768;

/// The filter that `directives` describe, if they are well formed.
#[must_use]
pub fn filter(directives: &str) -> Option<EnvFilter> {
    if directives.trim().is_empty() {
        return None;
    }
    let is_level = |level: &str| LevelFilter::from_str(level.trim()).is_ok();
    // The filter takes a lone word for a target; here it is a level, and a misspelt one no silence.
    let sound = directives.split(',').all(|one| one.contains(['=', '[']) || is_level(one));
    EnvFilter::builder().parse(directives).ok().filter(|_| sound)
}

/// Lines are logged as long as this is held; those that wait then are written, if anybody takes them.
pub struct Logging(Option<WorkerGuard>);

impl Drop for Logging {
    fn drop(&mut self) {
        // The guard tells of lines that nobody took on standard output, which may be the same terminal.
        let guard = self.0.take();
        threads::say(move || drop(guard));
    }
}

/// Starts logging for the whole process, panics included. A second call changes nothing: the first
/// subscriber stays.
pub fn start(settings: &Log) -> Logging {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(QUEUED_LINES_MAX)
        .thread_name("log")
        .finish(std::io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(&settings.level).unwrap_or_default())
        .with_writer(writer);
    // Already set: another server of the same process (a test) logs for this one too.
    let _ = match settings.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        // A literal tells nothing about a request; a formatted text may quote one, so it stays out.
        let words = panic.payload().downcast_ref::<&'static str>().copied();
        tracing::error!(panic.at = at, panic.message = words, "panic");
    }));
    Logging(Some(guard))
}

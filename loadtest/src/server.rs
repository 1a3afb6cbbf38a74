//! A server of the run's own: the `rookery` binary over a temporary folder, on free ports, with its
//! limits out of the way. All of it goes with the run.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::failure::{Failure, Result};

/// What the server's own limits are raised to; everything else stays as it ships, the limiter, the
/// log and the permission checks included.
const SETTINGS: &[(&str, &str)] = &[
    ("ROOKERY__OPS__LISTEN", "127.0.0.1:0"),
    ("ROOKERY__SERVER__CONNECTIONS_MAX", "100000"),
    ("ROOKERY__RATE_LIMIT__PER_MINUTE", "100000000"),
    ("ROOKERY__RATE_LIMIT__BURST", "10000000"),
    ("ROOKERY__FEED__WAITERS_PER_IP_MAX", "100000"),
    ("ROOKERY__APPS__IDLE_AFTER_S", "86400"),
    ("ROOKERY__APPS__MEMORY_BUDGET_BYTES", "1099511627776"),
    ("MAX_ROWS_PER_APP", "10000000"),
    ("MAX_ROWS_PER_ACCOUNT", "1000000000"),
    ("MAX_APPS_PER_ACCOUNT", "1000000"),
    ("MAX_STORAGE_BYTES_PER_APP", "100000000000"),
];
/// The line with which it says where it listens begins so.
const GREETING: &str = "Rookery listens on http://";
/// The operators' listener in the same line.
const OPERATORS: &str = "(operators: ";
/// Time for the server to end in order before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// How often it is looked whether it ended.
const STOP_POLL: Duration = Duration::from_millis(20);
/// Lines of its log that are shown when it does not start.
const LOG_LINES_SHOWN: usize = 5;

/// How a server is made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By SIGTERM: it answers what it has begun.
    InOrder,
    /// By SIGKILL: it is gone at once.
    Killed,
}

impl Ending {
    /// Its name in figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InOrder => "SIGTERM",
            Self::Killed => "kill -9",
        }
    }
}

/// A running server process.
pub struct Server {
    child: Child,
    folder: TempDir,
    binary: PathBuf,
    settings: Vec<(String, String)>,
    port: u16,
    /// Its origin, without a slash at the end.
    pub url: String,
    /// Its operators' listener, the same way, where its greeting names it.
    pub ops_url: Option<String>,
}

impl Server {
    /// Starts `binary`; it listens on return. `settings` come after this tool's own.
    ///
    /// # Errors
    /// [`Failure::Server`] with the end of its log.
    pub fn start(binary: &Path, settings: &[(String, String)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("rookery-load-").tempdir();
        let folder = folder.map_err(|error| Failure::Server(error.to_string()))?;
        let (child, Greeting { port, ops_url }) = launch(binary, folder.path(), settings, 0)?;
        let (binary, settings) = (binary.to_path_buf(), settings.to_vec());
        let url = format!("http://localhost:{port}");
        Ok(Self { child, folder, binary, settings, port, url, ops_url })
    }

    /// Ends the process, and starts another one over the same data at the same address; it
    /// listens on return. How long that took from the start of the new process.
    ///
    /// # Errors
    /// [`Failure::Server`] with the end of its log.
    pub fn restart(&mut self, ending: Ending) -> Result<Duration> {
        self.end(ending);
        let began = Instant::now();
        let folder = self.folder.path();
        let (child, greeting) = launch(&self.binary, folder, &self.settings, self.port)?;
        (self.child, self.ops_url) = (child, greeting.ops_url);
        Ok(began.elapsed())
    }

    /// Returns when the process is gone, whether or not it ends when asked to.
    fn end(&mut self, ending: Ending) {
        let pid = i32::try_from(self.child.id()).map(Pid::from_raw);
        let asked = ending == Ending::InOrder
            // If it cannot be asked, it is gone or is killed below.
            && pid.is_ok_and(|pid| kill(pid, Signal::SIGTERM).is_ok());
        let deadline = Instant::now() + STOP_TIMEOUT;
        while asked && Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(STOP_POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Ending::InOrder);
    }
}

/// Starts `binary` over the data in `folder`, listening on `port` (0: a free one), as its
/// greeting says once it listens.
fn launch(
    binary: &Path,
    folder: &Path,
    settings: &[(String, String)],
    port: u16,
) -> Result<(Child, Greeting)> {
    let log_path = folder.join("server.log");
    let log = File::create(&log_path).map_err(|error| Failure::Server(error.to_string()))?;
    let mut child = Command::new(binary)
        .env_clear()
        .env("ROOKERY__DATA_DIR", folder.join("data"))
        .env("ROOKERY__SERVER__LISTEN", format!("127.0.0.1:{port}"))
        .envs(SETTINGS.iter().copied())
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        // Ctrl-C in the terminal is for this tool, which then stops the server itself.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| Failure::Server(format!("{}: {error}", binary.display())))?;
    let mut first = String::new();
    if let Some(out) = child.stdout.take() {
        // An error reads like an early end.
        let _ = BufReader::new(out).read_line(&mut first);
    }
    match Greeting::read(&first) {
        Some(greeting) => Ok((child, greeting)),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(Failure::Server(format!("it did not start: {}", last_lines(&log_path))))
        }
    }
}

/// What a server says once it listens.
struct Greeting {
    port: u16,
    /// The operators' listener, where it is named.
    ops_url: Option<String>,
}

impl Greeting {
    fn read(line: &str) -> Option<Self> {
        let address = line.strip_prefix(GREETING)?.split([' ', '\n']).next()?;
        let port = address.rsplit_once(':')?.1.parse().ok()?;
        let ops_url = line.split_once(OPERATORS).and_then(|(_, rest)| rest.split(')').next());
        Some(Self { port, ops_url: ops_url.map(str::to_owned) })
    }
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(LOG_LINES_SHOWN).collect();
    if lines.is_empty() {
        return "it said nothing".to_owned();
    }
    lines.into_iter().rev().collect::<Vec<_>>().join("; ")
}

/// The server's binary: the one that was named, else the one beside this tool.
///
/// # Errors
/// [`Failure::Usage`] that says how to name it, or [`Failure::File`] where there is no working folder.
pub fn binary(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = named {
        // The server has a working folder of its own.
        return std::path::absolute(named)
            .map_err(|source| Failure::File { path: named.display().to_string(), source });
    }
    let beside = std::env::current_exe().ok().map(|tool| tool.with_file_name("rookery"));
    beside.filter(|path| path.is_file()).ok_or_else(|| {
        let hint = "build it (cargo build --release), or name it with --server-bin or ROOKERY_BIN";
        Failure::Usage(format!("--spawn: no `rookery` beside this program; {hint}"))
    })
}

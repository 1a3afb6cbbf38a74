//! The server as a process of its own, which can be killed, ended in order and started again over
//! the same data.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::{sleep, timeout},
};

use crate::failure::{Failure, Result};

/// What is raised out of the way; everything else stays as it ships.
const SETTINGS: &[(&str, &str)] = &[
    ("ROOKERY__SERVER__LISTEN", "127.0.0.1:0"),
    ("ROOKERY__OPS__LISTEN", "127.0.0.1:0"),
    ("ROOKERY__SERVER__CONNECTIONS_MAX", "100000"),
    ("ROOKERY__RATE_LIMIT__ENABLED", "false"),
    ("ROOKERY__FEED__WAITERS_PER_IP_MAX", "100000"),
    ("ROOKERY__FEED__RETENTION_EVENTS", "10000000"),
    ("ROOKERY__LOG__LEVEL", "error"),
    ("MAX_ROWS_PER_APP", "1000000"),
    ("MAX_ROWS_PER_ACCOUNT", "100000000"),
    ("MAX_APPS_PER_ACCOUNT", "1000000"),
    ("MAX_STORAGE_BYTES_PER_APP", "10000000000"),
];
/// The line with which it says where it listens begins so.
const GREETING: &str = "Rookery listens on http://";
/// A start that takes longer has failed.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is asked whether it is ready.
const READY_POLL: Duration = Duration::from_millis(5);

/// How to start a server.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The binary; it is started with the argument `serve`.
    pub program: PathBuf,
    /// The folder of its data.
    pub data: PathBuf,
    /// Variables of its environment.
    pub settings: Vec<(String, String)>,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    /// Its origin, without a slash at the end.
    pub url: String,
    /// The operator's listener.
    pub ops: String,
    /// From the start of the process until `/ready` agreed.
    pub ready_after: Duration,
}

impl Launch {
    /// A server over `data`.
    #[must_use]
    pub fn new(program: &Path, data: &Path) -> Self {
        Self { program: program.to_owned(), data: data.to_owned(), settings: Vec::new() }
    }

    /// With this variable set.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// Starts it, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not get ready in time, with the end of its log.
    pub async fn start(&self) -> Result<Server> {
        let begin = Instant::now();
        let mut server = self.listen().await?;
        let client = crate::api::client();
        loop {
            let ready = client.get(format!("{}/ready", server.url)).send().await;
            if ready.is_ok_and(|answer| answer.status().is_success()) {
                break;
            }
            if begin.elapsed() > START_TIMEOUT || server.child.try_wait()?.is_some() {
                return Err(Failure(format!("the server is not ready: {}", self.last_lines())));
            }
            sleep(READY_POLL).await;
        }
        server.ready_after = begin.elapsed();
        Ok(server)
    }

    /// Starts it, and waits until it listens.
    ///
    /// # Errors
    /// When it does not, with the end of its log.
    pub async fn listen(&self) -> Result<Server> {
        std::fs::create_dir_all(&self.data)?;
        let log = std::fs::File::options().append(true).create(true).open(self.log())?;
        let mut child = Command::new(&self.program)
            .arg("serve")
            .env_clear()
            .env("ROOKERY__DATA_DIR", &self.data)
            .envs(SETTINGS.iter().copied())
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let out = child.stdout.take().ok_or_else(|| Failure::new("no standard output"))?;
        let mut out = BufReader::new(out).lines();
        let line = timeout(START_TIMEOUT, out.next_line()).await;
        let line = line.ok().transpose()?.flatten().unwrap_or_default();
        let mut ports = line.strip_prefix(GREETING).into_iter().flat_map(|rest| {
            rest.split([' ', ')']).filter_map(|word| word.rsplit_once(':')?.1.parse::<u16>().ok())
        });
        let (Some(site), Some(ops)) = (ports.next(), ports.next()) else {
            let status = child.wait().await?;
            let lines = self.last_lines();
            return Err(Failure(format!("the server did not start ({status}): {lines}")));
        };
        Ok(Server {
            child,
            out,
            url: format!("http://localhost:{site}"),
            ops: format!("http://127.0.0.1:{ops}"),
            ready_after: Duration::ZERO,
        })
    }

    fn log(&self) -> PathBuf {
        self.data.with_extension("log")
    }

    /// Lines of its log so far with this in them.
    #[must_use]
    pub fn lines_with(&self, what: &str) -> usize {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().filter(|line| line.contains(what)).count()
    }

    /// Lines of its log so far.
    #[must_use]
    pub fn log_lines(&self) -> usize {
        std::fs::read_to_string(self.log()).map_or(0, |text| text.lines().count())
    }

    /// The end of its log.
    #[must_use]
    pub fn last_lines(&self) -> String {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let mut lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.reverse();
        lines.join("; ")
    }
}

impl Server {
    /// Ends it at once, whatever it is doing.
    ///
    /// # Errors
    /// When the system refuses.
    pub async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Gives an order to a server with [`crate::serve::ORDERS`]; whether it was carried out.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn order(&mut self, order: &str) -> Result<bool> {
        let silent = || Failure::new("the server takes no orders");
        let input = self.child.stdin.as_mut().ok_or_else(silent)?;
        input.write_all(format!("{order}\n").as_bytes()).await?;
        Ok(self.out.next_line().await?.ok_or_else(silent)? == "done")
    }

    /// Sends SIGTERM; the status it ended with and how long it took. None when it did not end
    /// within `patience`, and was killed.
    ///
    /// # Errors
    /// When the system refuses.
    pub async fn terminate(mut self, patience: Duration) -> Result<(Option<ExitStatus>, Duration)> {
        let begin = Instant::now();
        self.signal(Signal::SIGTERM)?;
        let status = self.ends_within(patience).await?;
        let took = begin.elapsed();
        if status.is_none() {
            self.child.kill().await?;
        }
        Ok((status, took))
    }

    /// How it ended, if it does within `patience`.
    ///
    /// # Errors
    /// When the system refuses.
    pub async fn ends_within(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        Ok(timeout(patience, self.child.wait()).await.ok().transpose()?)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let gone = || Failure::new("the server has ended");
        let pid = self.pid().ok_or_else(gone)?;
        kill(Pid::from_raw(pid), signal).map_err(|error| Failure(error.to_string()))
    }

    /// Its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.child.id().and_then(|pid| i32::try_from(pid).ok())
    }

    /// Bytes of memory that it has resident.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let Some(pid) = self.pid() else { return 0 };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.unwrap_or(0) * 1024
    }
}

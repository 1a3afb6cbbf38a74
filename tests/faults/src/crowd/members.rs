//! `rookery-faults crowd`: the client process that holds a crowd's connections. It prints a line
//! when they are open, and one when the last of them has ended.

use std::{
    io::{Read as _, Write as _},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use clap::{Parser, ValueEnum as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::Builder,
    task::JoinSet,
    time::timeout,
};

use super::Kind;
use crate::failure::{Failure, Result};

/// Its word on the command line.
pub const NAME: &str = "crowd";
/// The line that says that all are connected.
pub const OPENED: &str = "opened";

/// Between two connections: 2,000 come in a second. As fast as they can be opened they would take
/// all processors of the machine that they share with the server.
const EVERY: Duration = Duration::from_micros(500);
/// Who has neither an answer nor an end by then never gets one.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests that a slow reader sends ahead: its answers do not fit into the sockets.
const AHEAD: usize = 100;
/// A slow reader sends until its socket takes no more for so long.
const AHEAD_PATIENCE: Duration = Duration::from_millis(20);

/// The command line, from [`NAME`] on.
#[derive(Debug, Parser)]
struct Cli {
    kind: String,
    count: usize,
    url: String,
}

/// Runs the process.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse_from(std::env::args().skip(1));
    // One thread: it shares the machine with the server.
    let runtime = Builder::new_current_thread().enable_all().build();
    let ended = runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(come(&cli)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(line)) => {
            let _ = writeln!(std::io::stderr(), "rookery-faults {NAME}: {line}");
            ExitCode::FAILURE
        }
    }
}

async fn come(cli: &Cli) -> Result<()> {
    let kind = Kind::from_str(&cli.kind, false).map_err(Failure)?;
    let mut request = Vec::new();
    std::io::stdin().lock().read_to_end(&mut request)?;
    let request: Arc<[u8]> = request.into();
    let mut members = JoinSet::new();
    let begin = Instant::now();
    for index in 0..cli.count {
        let stream = open(&cli.url, index, begin).await?;
        let mut member = Member { stream, since: Instant::now(), request: Arc::clone(&request) };
        match kind {
            Kind::Readers => member.send_ahead().await,
            Kind::Polls => member.stream.write_all(&request).await?,
            Kind::Idle | Kind::Senders => {}
        }
        members.spawn(member.stay(kind));
    }
    accepted(&cli.url).await?;
    writeln!(std::io::stdout(), "{OPENED}")?;
    let ends = members.join_all().await;
    let latest = ends.iter().flatten().max().map_or(0, Duration::as_micros);
    writeln!(std::io::stdout(), "{} {latest}", ends.iter().flatten().count())?;
    Ok(())
}

/// Opens a connection every [`EVERY`].
async fn open(url: &str, index: usize, begin: Instant) -> Result<TcpStream> {
    tokio::time::sleep_until((begin + EVERY * u32::try_from(index).unwrap_or(u32::MAX)).into())
        .await;
    let address = url.trim_start_matches("http://").replace("localhost", "127.0.0.1");
    let opened = TcpStream::connect(&address).await;
    opened
        .map_err(|error| Failure(format!("connection {index}: {error}; more open files may help")))
}

/// Returns when the server has accepted every connection that was opened before: those in the
/// system's queue are open on this side only, and it is served in order.
async fn accepted(url: &str) -> Result<()> {
    crate::api::client().get(format!("{url}/alive")).send().await?;
    Ok(())
}

struct Member {
    stream: TcpStream,
    since: Instant,
    request: Arc<[u8]>,
}

impl Member {
    /// Sends its request until the socket takes no more; the rest of its wish is its own affair.
    async fn send_ahead(&mut self) {
        let _ = timeout(AHEAD_PATIENCE, async {
            for _ in 0..AHEAD {
                self.stream.write_all(&self.request).await?;
            }
            Ok::<_, std::io::Error>(())
        })
        .await;
    }

    /// Stays until the server ends it, as [`super::Ended`] tells.
    async fn stay(mut self, kind: Kind) -> Option<Duration> {
        match kind {
            Kind::Idle => timeout(PATIENCE, self.closed()).await.ok(),
            Kind::Senders => timeout(PATIENCE, self.drip()).await.ok(),
            Kind::Readers => {
                tokio::time::sleep(PATIENCE).await;
                None
            }
            Kind::Polls => timeout(PATIENCE, self.answered()).await.ok().flatten(),
        }
    }

    /// Until the other side closes; after which time.
    async fn closed(&mut self) -> Duration {
        let mut buffer = [0; 512];
        while self.stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
        self.since.elapsed()
    }

    /// Sends a byte of a head each second until the other side has enough; after which time.
    async fn drip(&mut self) -> Duration {
        let mut buffer = [0; 512];
        while self.stream.write_all(b"G").await.is_ok() {
            let read = timeout(Duration::from_secs(1), self.stream.read(&mut buffer)).await;
            if matches!(read, Ok(Ok(0) | Err(_))) {
                break;
            }
        }
        self.since.elapsed()
    }

    /// When the answer to a poll came, since 1970; none when it has no event.
    async fn answered(&mut self) -> Option<Duration> {
        let mut text = Vec::with_capacity(1024);
        let mut first = None;
        while self.stream.read_buf(&mut text).await.ok()? > 0 {
            first.get_or_insert_with(SystemTime::now);
        }
        let has_event = text.windows(11).any(|window| window == b"row.created");
        first.filter(|_| has_event)?.duration_since(SystemTime::UNIX_EPOCH).ok()
    }
}

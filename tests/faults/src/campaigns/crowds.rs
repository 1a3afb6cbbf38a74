//! Crowds that do nothing useful: idle connections, senders of a byte a second, readers who do not
//! read. The others hardly notice, memory stays, and the idle ones are closed.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    api::{Api, expect},
    failure::{Failure, Result},
    pulse::{Quiet, factor},
    verdict::Verdict,
    world::{App, World},
};

/// Connections of the long form, of each kind.
const IDLE: usize = 10_000;
const SLOW_SENDERS: usize = 1_000;
const SLOW_READERS: usize = 200;
/// Connections that are opened before the server has to show that it accepted them: fewer than the
/// system keeps for it.
const OPENING: usize = 500;
/// `server.header_timeout_s` as it ships; the short form has less of it, to be short.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
const HEADER_TIMEOUT_SHORT: Duration = Duration::from_secs(4);
/// What may come on top of it.
const GRACE: Duration = Duration::from_secs(2);
/// Who is still connected by then is never closed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Healthy apps and requests a second to all of them.
const QUIET_APPS: usize = 10;
const QUIET_PER_SECOND: u32 = 100;
/// How long they are measured alone.
const ALONE: Duration = Duration::from_secs(5);
/// Bytes that all of the crowd may cost.
const GROWTH_MAX_BYTES: u64 = 100 << 20;
/// What the others' p99 may rise to.
const FACTOR_MAX: f64 = 1.5;
/// Rows of about 1 KiB that a slow reader asks for again and again.
const ROWS: usize = 200;
/// Requests that a slow reader sends ahead: its answers do not fit into the sockets.
const AHEAD: usize = 100;

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let (idle, senders, readers) =
        (world.count(IDLE, 100), world.count(SLOW_SENDERS, 20), world.count(SLOW_READERS, 5));
    let header_timeout = if world.is_short() { HEADER_TIMEOUT_SHORT } else { HEADER_TIMEOUT };
    let target = format!(
        "{idle} idle connections, {senders} slow senders, {readers} slow readers: at most 100 MiB \
         more, closed within {} s, the others' p99 at most {FACTOR_MAX} of alone",
        header_timeout.as_secs()
    );
    let mut verdict = Verdict::new("crowds", target);
    // What it may not raise shows when the connections are opened.
    let _ = rookery_load::machine::raise_open_files();
    let scratch = tempfile::tempdir()?;
    let launch = world
        .launch(scratch.path())
        .set("ROOKERY__SERVER__HEADER_TIMEOUT_S", header_timeout.as_secs());
    let server = launch.start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let quiet = Quiet::deploy(&api, QUIET_APPS).await?;
    let app = App::deploy(&api).await?;
    let rows: Vec<_> =
        (0..ROWS).map(|n| json!({"data": {"n": n, "text": "x".repeat(1000)}})).collect();
    let batch = api.request(Method::POST, &format!("{}/batch", app.rows()));
    expect(batch.json(&json!({"rows": rows})), 200).await?;
    let alone = quiet.alone(QUIET_PER_SECOND, world.time(ALONE)).await?;
    let before = server.resident_bytes();

    let pulse = quiet.start(QUIET_PER_SECOND);
    let address = api.url.trim_start_matches("http://").to_owned();
    let list = format!(
        "GET {}?limit=200 HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\r\n",
        app.rows(),
        api.key
    );
    let mut reading = open(&api, readers).await?;
    for stream in &mut reading {
        // Until the socket takes no more; the rest of its wish is its own affair.
        let _ = timeout(Duration::from_millis(20), async {
            for _ in 0..AHEAD {
                stream.write_all(list.as_bytes()).await?;
            }
            Ok::<_, std::io::Error>(())
        })
        .await;
    }
    let sending = open(&api, senders).await?;
    let sending: Vec<_> = sending.into_iter().map(|one| tokio::spawn(drip(one))).collect();
    let idling = open(&api, idle).await?;
    let opened = Instant::now();
    let idling: Vec<_> = idling.into_iter().map(|one| tokio::spawn(wait_for_end(one))).collect();

    let mut most = 0;
    while opened.elapsed() < header_timeout - GRACE {
        most = most.max(server.resident_bytes());
        sleep(Duration::from_millis(200)).await;
    }
    let beside = pulse.stop().await?;
    for words in alone.failed.iter().chain(&beside.failed) {
        verdict.violations.add(format!("a healthy request: {words}"));
    }
    let (mut closed, mut latest) = (0, Duration::ZERO);
    for one in sending.into_iter().chain(idling) {
        if let Some(after) = one.await? {
            closed += 1;
            latest = latest.max(after);
        }
    }
    drop(reading);
    let crowd = idle + senders;
    verdict.violations.unless(closed == crowd, || format!("{} never closed", crowd - closed));
    verdict.expect(
        latest <= header_timeout + GRACE,
        format!("{closed} of {crowd} closed, the last after {latest:.1?}"),
    );
    let grown = most.saturating_sub(before);
    verdict.expect(grown <= GROWTH_MAX_BYTES, format!("at most {} MiB more", grown >> 20));
    let times = factor(beside.p99(), alone.p99());
    verdict.expect(
        times <= FACTOR_MAX,
        format!(
            "the others' p99 {:.1?} beside, {:.1?} alone: {times:.2} times",
            beside.p99(),
            alone.p99()
        ),
    );
    super::kill::stop(server).await?;
    Ok(verdict)
}

/// Opens connections that the server has accepted: those beyond the system's queue would be open on
/// this side only.
pub(super) async fn open(api: &Api, count: usize) -> Result<Vec<TcpStream>> {
    let address = api.url.trim_start_matches("http://").replace("localhost", "127.0.0.1");
    let mut streams = Vec::with_capacity(count);
    while streams.len() < count {
        for _ in streams.len()..count.min(streams.len() + OPENING) {
            streams.push(TcpStream::connect(&address).await.map_err(|error| {
                Failure(format!("{count} connections: {error}; more open files may help"))
            })?);
        }
        // The queue is served in order: who comes last is answered when all are accepted.
        let client = crate::api::client();
        client.get(format!("{}/alive", api.url)).send().await?;
    }
    Ok(streams)
}

/// Sends a byte of a head each second until the other side has enough; after which time.
async fn drip(mut stream: TcpStream) -> Option<Duration> {
    let begin = Instant::now();
    let mut buffer = [0; 512];
    while begin.elapsed() < PATIENCE {
        if stream.write_all(b"G").await.is_err() {
            return Some(begin.elapsed());
        }
        let read = timeout(Duration::from_secs(1), stream.read(&mut buffer)).await;
        if matches!(read, Ok(Ok(0) | Err(_))) {
            return Some(begin.elapsed());
        }
    }
    None
}

/// Waits until the other side closes; after which time.
async fn wait_for_end(mut stream: TcpStream) -> Option<Duration> {
    let begin = Instant::now();
    let mut buffer = [0; 512];
    let ended = timeout(PATIENCE, async {
        while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    });
    ended.await.ok().map(|()| begin.elapsed())
}

//! Crowds that do nothing useful: idle connections, senders of a byte a second, readers who do not
//! read. The others hardly notice, memory stays, and the idle ones are closed.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    api::{Api, expect},
    crowd::{Crowd, Kind},
    failure::Result,
    pulse::{Quiet, factor},
    verdict::Verdict,
    world::{App, World},
};

/// Connections of the long form, of each kind.
const IDLE: usize = 10_000;
const SLOW_SENDERS: usize = 1_000;
const SLOW_READERS: usize = 200;
/// `server.header_timeout_s` as it ships; the short form has less of it, to be short.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
const HEADER_TIMEOUT_SHORT: Duration = Duration::from_secs(4);
/// What may come on top of it.
const GRACE: Duration = Duration::from_secs(2);
/// Healthy apps and requests a second to all of them.
const QUIET_APPS: usize = 10;
const QUIET_PER_SECOND: u32 = 100;
/// How long they are measured alone.
const ALONE: Duration = Duration::from_secs(15);
/// Bytes that all of the crowd may cost.
const GROWTH_MAX_BYTES: u64 = 100 << 20;
/// What the others' p99 may rise to.
const FACTOR_MAX: f64 = 1.5;
/// Rows of about 1 KiB that slow readers ask for again and again, some by their list, some by the
/// feed.
const ROWS: usize = 200;
/// Bytes of the file that the others ask for.
const FILE_BYTES: usize = 4 << 20;

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
    let file = json!({"path": "picture.bin", "content_type": "application/octet-stream",
        "text": "x".repeat(FILE_BYTES)});
    let version = api.request(Method::POST, &format!("/v1/apps/{}/versions", app.id));
    expect(version.json(&json!({"html": "<p>app</p>", "assets": [file]})), 201).await?;
    let alone = quiet.alone(QUIET_PER_SECOND, world.time(ALONE)).await?;
    let before = server.resident_bytes();

    let pulse = quiet.start(QUIET_PER_SECOND);
    let address = api.url.trim_start_matches("http://").to_owned();
    let bearing = |path: String| {
        let key = &api.key;
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\r\n")
    };
    let asked = [
        bearing(format!("{}?limit=200", app.rows())),
        bearing(format!("/v1/apps/{}/feed?limit=200&wait=0&since={}", app.id, app.start)),
        format!("GET /picture.bin HTTP/1.1\r\nhost: {}.{address}\r\n\r\n", app.slug),
    ];
    let mut reading = Vec::new();
    for (index, request) in asked.iter().enumerate() {
        let count = (readers + index) / asked.len();
        reading.push(Crowd::come(world, &api, Kind::Readers, count, request).await?);
    }
    let sending = Crowd::come(world, &api, Kind::Senders, senders, "").await?;
    let idling = Crowd::come(world, &api, Kind::Idle, idle, "").await?;
    let opened = Instant::now();

    let mut most = 0;
    while opened.elapsed() < header_timeout - GRACE {
        most = most.max(server.resident_bytes());
        sleep(Duration::from_millis(200)).await;
    }
    let beside = pulse.stop().await?;
    let (sending, idling) = (sending.ended().await?, idling.ended().await?);
    drop(reading);
    for words in alone.failed.iter().chain(&beside.failed) {
        verdict.violations.add(format!("a healthy request: {words}"));
    }
    let closed = sending.count + idling.count;
    let latest = sending.latest.max(idling.latest);
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

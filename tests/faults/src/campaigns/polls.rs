//! A crowd waits for one app: a commit reaches all of them soon, and does not delay its own answer.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::crowds::open;
use crate::{
    api::{Api, expect},
    failure::{Failure, Result},
    pulse::{factor, timed},
    verdict::Verdict,
    world::{App, World},
};

/// Long-polls of the long form.
const POLLS: usize = 10_000;
/// Rounds: the median counts.
const ROUNDS: usize = 5;
/// Writes without anybody waiting, for comparison.
const WRITES_ALONE: usize = 50;
/// A commit has reached everybody after this time.
const REACHED_MAX: Duration = Duration::from_millis(500);
/// What the writer's own answer may take, in times of alone.
const FACTOR_MAX: f64 = 2.0;
/// A poll that has no answer by then is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let polls = world.count(POLLS, 100);
    let target = format!(
        "{polls} long-polls on one app: a commit reaches all within 500 ms, its own answer takes \
         at most twice as long"
    );
    let mut verdict = Verdict::new("polls", target);
    // What it may not raise shows when the connections are opened.
    let _ = rookery_load::machine::raise_open_files();
    let scratch = tempfile::tempdir()?;
    let server = world.launch(scratch.path()).start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let app = App::deploy(&api).await?;
    let mut alone = Vec::new();
    for n in 0..WRITES_ALONE {
        alone.push(write(&api, &app, &format!("alone{n}")).await?);
    }
    alone.sort_unstable();
    let alone = alone[alone.len() / 2];
    let (mut answers, mut reached, mut lost) = (Vec::new(), Vec::new(), 0);
    for round in 0..ROUNDS {
        let cursor = api.get(&format!("/v1/apps/{}/feed", app.id)).await?["cursor"].clone();
        let cursor = cursor.as_str().unwrap_or_default().to_owned();
        let waiting = wait(&api, &app, &cursor, polls).await?;
        await_waiters(&api, &server.ops, polls).await?;
        let begin = Instant::now();
        answers.push(write(&api, &app, &format!("round{round}")).await?);
        let mut last = Duration::ZERO;
        for one in waiting {
            match one.await? {
                Some(at) => last = last.max(at.saturating_duration_since(begin)),
                None => lost += 1,
            }
        }
        reached.push(last);
    }
    super::kill::stop(server).await?;
    verdict.violations.unless(lost == 0, || format!("{lost} polls did not get the event"));
    answers.sort_unstable();
    reached.sort_unstable();
    let (answer, last) = (answers[ROUNDS / 2], reached[ROUNDS / 2]);
    verdict.expect(
        last <= REACHED_MAX,
        format!(
            "the last of {polls} was reached after {last:.0?} (rounds: {:.0?} to {:.0?})",
            reached[0],
            reached[ROUNDS - 1]
        ),
    );
    let times = factor(answer, alone);
    verdict.expect(
        times <= FACTOR_MAX,
        format!("the writer's answer took {answer:.1?}, {alone:.1?} alone: {times:.1} times"),
    );
    Ok(verdict)
}

async fn write(api: &Api, app: &App, key: &str) -> Result<Duration> {
    let row = json!({"key": key, "data": {"n": 1}});
    let request = api.request(Method::POST, &app.rows()).json(&row);
    let (done, took) = timed(expect(request, 201)).await;
    done.map(|_| took)
}

/// When the answer to a poll came; none when it did not, or was empty.
type Poll = tokio::task::JoinHandle<Option<Instant>>;

async fn wait(api: &Api, app: &App, cursor: &str, polls: usize) -> Result<Vec<Poll>> {
    let address = api.url.trim_start_matches("http://").to_owned();
    let request = format!(
        "GET /v1/apps/{}/feed?wait=60&since={cursor} HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {}\r\nconnection: close\r\n\r\n",
        app.id, api.key
    );
    let mut waiting = Vec::with_capacity(polls);
    for mut stream in open(api, polls).await? {
        stream.write_all(request.as_bytes()).await?;
        waiting.push(tokio::spawn(async move {
            timeout(LOST_AFTER, answer(&mut stream)).await.ok().flatten()
        }));
    }
    Ok(waiting)
}

async fn answer(stream: &mut TcpStream) -> Option<Instant> {
    let mut text = Vec::with_capacity(1024);
    let mut first = None;
    while stream.read_buf(&mut text).await.ok()? > 0 {
        first.get_or_insert_with(Instant::now);
    }
    let has_event = text.windows(11).any(|window| window == b"row.created");
    first.filter(|_| has_event)
}

/// Waits until the server counts so many open polls.
async fn await_waiters(api: &Api, ops: &str, polls: usize) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < LOST_AFTER {
        let metrics = api.client.get(format!("{ops}/metrics")).send().await?.text().await?;
        let waiters = metrics.lines().find_map(|line| line.strip_prefix("rookery_feed_waiters "));
        if waiters.and_then(|count| count.parse::<usize>().ok()).is_some_and(|now| now >= polls) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(Failure::new("the polls do not wait"))
}

//! A crowd waits for one app: a commit reaches all of them soon, and does not delay its own answer.

use std::time::{Duration, Instant, SystemTime};

use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    api::{Api, expect, text},
    crowd::{Crowd, Kind},
    failure::{Failure, Result},
    pulse::{factor, timed},
    verdict::Verdict,
    world::{App, World},
};

/// Long-polls of the long form.
const POLLS: usize = 10_000;
/// Rounds, each with a crowd and without: the median counts.
const ROUNDS: usize = 9;
/// A commit has reached everybody after this time.
const REACHED_MAX: Duration = Duration::from_millis(500);
/// What the writer's own answer may take, in times of alone.
const FACTOR_MAX: f64 = 2.0;
/// Polls that do not wait by then never will.
const WAITING_MAX: Duration = Duration::from_secs(30);

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
    let (mut alone, mut answers, mut reached, mut lost) = (vec![], vec![], vec![], 0);
    for round in 0..ROUNDS {
        let request = poll(&api, &app).await?;
        let begin = Instant::now();
        let crowd = Crowd::come(world, &api, Kind::Polls, polls, &request).await?;
        await_waiters(&api, &server.ops, polls).await?;
        let silence = begin.elapsed();
        let begin = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        answers.push(write(&api, &app, &format!("round{round}")).await?);
        let ended = crowd.ended().await?;
        lost += polls - ended.count;
        reached.push(ended.latest.saturating_sub(begin));
        // The same without a crowd: a write after as long a silence.
        poll(&api, &app).await?;
        sleep(silence).await;
        await_waiters(&api, &server.ops, 0).await?;
        alone.push(write(&api, &app, &format!("alone{round}")).await?);
    }
    super::kill::stop(server).await?;
    verdict.violations.unless(lost == 0, || format!("{lost} polls did not get the event"));
    for times in [&mut alone, &mut answers, &mut reached] {
        times.sort_unstable();
    }
    let (alone, answer, last) = (alone[ROUNDS / 2], answers[ROUNDS / 2], reached[ROUNDS / 2]);
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

/// The bytes of a long-poll for what comes after this position.
async fn poll(api: &Api, app: &App) -> Result<String> {
    let cursor = text(&api.get(&format!("/v1/apps/{}/feed", app.id)).await?["cursor"])?;
    let address = api.url.trim_start_matches("http://");
    Ok(format!(
        "GET /v1/apps/{}/feed?wait=60&since={cursor} HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {}\r\nconnection: close\r\n\r\n",
        app.id, api.key
    ))
}

/// Waits until the server counts so many open polls.
async fn await_waiters(api: &Api, ops: &str, polls: usize) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < WAITING_MAX {
        let metrics = api.client.get(format!("{ops}/metrics")).send().await?.text().await?;
        let waiters = metrics.lines().find_map(|line| line.strip_prefix("rookery_feed_waiters "));
        if waiters.and_then(|count| count.parse::<usize>().ok()).is_some_and(|now| now >= polls) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(Failure::new("the polls do not wait"))
}

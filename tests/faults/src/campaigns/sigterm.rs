//! SIGTERM under load: the process ends in time and in order, nothing is lost, and who waits for
//! events hears that there are none.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::Value;
use tokio::{sync::Barrier, task::JoinHandle};

use crate::{
    api::{Api, expect},
    check::Book,
    crew::{Crew, OnSilence},
    failure::Result,
    follower::Follower,
    verdict::Verdict,
    world::{App, World},
};

/// Times of the long form.
const TIMES: usize = 100;
/// Requests that write at the same time.
const WRITERS: usize = 64;
/// Acknowledged changes before the signal.
const ACKNOWLEDGED: usize = 300;
/// Long-polls on an app in which nothing happens.
const POLLS: usize = 16;
/// `server.drain_timeout_s`.
const EXIT_MAX: Duration = Duration::from_secs(10);
/// Who still runs by then does not end.
const EXIT_PATIENCE: Duration = Duration::from_secs(30);
/// So many acknowledgements take this long at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let times = world.count(TIMES, 3);
    let target = format!("{times} times: exit within 10 s, nothing lost, polls end empty");
    let mut verdict = Verdict::new("sigterm", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path());
    let mut server = launch.start().await?;
    let mut api = Api::enroll(&server.url, "owner@example.org").await?;
    let (app, idle) = (App::deploy(&api).await?, App::deploy(&api).await?);
    let mut book = Book::default();
    let (mut acknowledged, mut open, mut polled) = (0, 0, 0);
    let mut slowest = Duration::ZERO;
    for time in 0..times {
        let polls = poll(&api, &idle).await?;
        let crew =
            Crew::start(&api, &app, &format!("t{time}"), WRITERS, OnSilence::CredentialWatch);
        let follower = Follower::start(&api, &app);
        crew.reach(ACKNOWLEDGED, PATIENCE).await?;
        let (status, took) = server.terminate(EXIT_PATIENCE).await?;
        slowest = slowest.max(took);
        let violations = &mut verdict.violations;
        violations.unless(status.is_some_and(|status| status.success()), || {
            format!("time {time}: it ended with {status:?} after {took:?}")
        });
        for poll in join_all(polls).await {
            match poll? {
                Ok(page) if page["events"].as_array().is_some_and(Vec::is_empty) => polled += 1,
                other => violations.add(format!("time {time}: a poll ended with {other:?}")),
            }
        }
        let (journal, seen) = (crew.finish().await?, follower.finish().await?);
        acknowledged += journal.acknowledged;
        open += journal.open.len();
        server = launch.start().await?;
        api = api.at(&server.url);
        let applied = book.check(&api, &app, journal, &seen, violations).await?;
        violations.unless(applied == 0, || {
            format!("time {time}: {applied} requests were carried out and not answered")
        });
    }
    super::kill::stop(server).await?;
    verdict.saw(format!(
        "{times} times, {acknowledged} acknowledged writes, {open} requests cut off, {polled} \
         polls ended empty"
    ));
    verdict
        .expect(slowest <= EXIT_MAX, format!("the slowest exit took {} ms", slowest.as_millis()));
    Ok(verdict)
}

/// Long-polls that wait when this returns.
async fn poll(api: &Api, idle: &App) -> Result<Vec<JoinHandle<Result<Value>>>> {
    let path = format!("/v1/apps/{}/feed?wait=60&since={}", idle.id, idle.start);
    let barrier = std::sync::Arc::new(Barrier::new(POLLS + 1));
    let polls = (0..POLLS)
        .map(|_| {
            let (api, path, barrier) = (api.clone(), path.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                expect(api.request(Method::GET, &path), 200).await
            })
        })
        .collect();
    barrier.wait().await;
    Ok(polls)
}

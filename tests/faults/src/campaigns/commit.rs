//! The writer fails at each named point of a commit, in each way, under writers: it panics, a
//! statement is refused, no space is left, the connection is lost, an fsync fails.

use std::time::Duration;

use rookery_storage::faults::{Fault, Point};

use crate::{
    api::Api,
    check::Book,
    crew::{Crew, OnSilence},
    failure::Result,
    follower::Follower,
    serve,
    verdict::Verdict,
    world::{App, World},
};

/// Passes of a point after which it fails, in the long form: one run for each.
const PASSES: usize = 10;
/// Requests that write at the same time.
const WRITERS: usize = 32;
/// Acknowledged changes after which a fault has struck, if it can.
const ACKNOWLEDGED: usize = 600;
/// So many acknowledgements take this long at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let passes = world.count(PASSES, 1);
    let faults = [Fault::Panic, Fault::Refuse, Fault::Full, Fault::Lose, Fault::Fsync];
    let runs = passes * faults.len() * Point::ALL.len();
    let target = format!("{runs} broken commits: nothing lost, no request hangs, writing goes on");
    let mut verdict = Verdict::new("commit", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path());
    let mut server = launch.start().await?;
    let mut api = Api::enroll(&server.url, "owner@example.org").await?;
    let (mut acknowledged, mut open, mut unavailable, mut ended) = (0, 0, 0, 0);
    for pass in 0..passes {
        for fault in faults {
            // An app for each way, so that its feed stays short.
            let app = App::deploy(&api).await?;
            let mut book = Book::default();
            for point in Point::ALL {
                server.kill().await?;
                // The first commits are those of the start itself.
                let nth = 12 + 7 * pass;
                let faulty =
                    launch.clone().set(serve::COMMIT, format!("{point:?},{nth},{fault:?}"));
                server = faulty.start().await?;
                api = api.at(&server.url);
                let label = format!("c{pass}{point:?}");
                let crew = Crew::start(&api, &app, &label, WRITERS, OnSilence::GoOn);
                let follower = Follower::start(&api, &app);
                tokio::select! {
                    reached = crew.reach(ACKNOWLEDGED, PATIENCE) => reached?,
                    status = server.ends_within(PATIENCE) => {
                        ended += 1;
                        verdict.violations.unless(status?.is_some_and(|s| !s.success()), || {
                            format!("{point:?} {fault:?}: it ended as if all were well")
                        });
                    }
                }
                let (journal, seen) = (crew.finish().await?, follower.finish().await?);
                acknowledged += journal.acknowledged;
                open += journal.open.len();
                unavailable += journal.unavailable;
                // What is served now, and what the next process reads.
                if server.ends_within(Duration::ZERO).await?.is_some() {
                    server = launch.start().await?;
                    api = api.at(&server.url);
                }
                let before = verdict.violations.count();
                book.check(&api, &app, journal, &seen, &mut verdict.violations).await?;
                if verdict.violations.count() > before {
                    verdict.violations.add(format!("(these at {point:?}, {fault:?}, {nth})"));
                }
            }
        }
    }
    super::kill::stop(server).await?;
    verdict.saw(format!(
        "{runs} runs: {acknowledged} acknowledged writes, {unavailable} answered unavailable, \
         {open} without an outcome; {ended} times the process ended and was started again"
    ));
    Ok(verdict)
}

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
/// The ways in which it fails.
const FAULTS: [Fault; 5] = [Fault::Panic, Fault::Refuse, Fault::Full, Fault::Lose, Fault::Fsync];
/// Runs that one app goes through before it is left for a new one, so that its feed stays short.
const RUNS_PER_APP: usize = Point::ALL.len();
/// Requests that write at the same time.
const WRITERS: usize = 16;
/// The commit that breaks first: those before it are of the start itself.
const FIRST: usize = 12;
/// Further commits before the one that breaks, with each pass.
const STEP: usize = 7;
/// Acknowledged changes that need at least one commit.
const PER_COMMIT: usize = 20;
/// So many acknowledgements take this long at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// One broken commit.
struct Break {
    point: Point,
    fault: Fault,
    nth: usize,
}

/// The `number`-th of all; the first [`Point::ALL`] of them visit each point and each way.
fn broken(number: usize) -> Break {
    let (row, place) = (number / Point::ALL.len(), number % Point::ALL.len());
    let pass = row / FAULTS.len();
    Break {
        point: Point::ALL[place],
        fault: FAULTS[(row + place) % FAULTS.len()],
        nth: FIRST + STEP * pass,
    }
}

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let runs = world.count(PASSES * FAULTS.len() * Point::ALL.len(), Point::ALL.len());
    let target = format!("{runs} broken commits: nothing lost, no request hangs, writing goes on");
    let mut verdict = Verdict::new("commit", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path());
    let mut server = launch.start().await?;
    let mut api = Api::enroll(&server.url, "owner@example.org").await?;
    let mut app = App::deploy(&api).await?;
    let mut book = Book::default();
    let (mut acknowledged, mut open, mut unavailable) = (0, 0, 0);
    let (mut ended, mut struck) = (0, 0);
    for run in 0..runs {
        if run > 0 && run % RUNS_PER_APP == 0 {
            (app, book) = (App::deploy(&api).await?, Book::default());
        }
        let Break { point, fault, nth } = broken(run);
        server.kill().await?;
        let faulty = launch.clone().set(serve::COMMIT, format!("{point:?},{nth},{fault:?}"));
        server = faulty.start().await?;
        api = api.at(&server.url);
        let crew = Crew::start(&api, &app, &format!("c{run}"), WRITERS, OnSilence::GoOn);
        let follower = Follower::start(&api, &app);
        tokio::select! {
            reached = crew.reach(nth * PER_COMMIT, PATIENCE) => reached?,
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
        struck += usize::from(journal.unavailable + journal.open.len() > 0);
        // What is served now; or what the next process reads.
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
    super::kill::stop(server).await?;
    verdict.saw(format!(
        "{runs} runs, {struck} of them felt by writers: {acknowledged} acknowledged writes, \
         {unavailable} answered unavailable, {open} without an outcome; {ended} times the process \
         ended and was started again"
    ));
    Ok(verdict)
}

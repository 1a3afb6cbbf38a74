//! PostgreSQL fails under writers: its backends are ended or killed, its answers are cut off after
//! the statement was carried out. No false 2xx, and all is well again soon.

use std::time::{Duration, Instant};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    api::Api,
    check::Book,
    crew::{Crew, OnSilence},
    failure::{Failure, Result},
    follower::Follower,
    proxy::Proxy,
    verdict::Verdict,
    world::{App, World},
};

/// Faults of the long form.
const FAULTS: usize = 120;
/// Faults that one app goes through before it is left for a new one.
const FAULTS_PER_APP: usize = 12;
/// Requests that write at the same time.
const WRITERS: usize = 32;
/// Acknowledged changes before a fault, and again after it.
const ACKNOWLEDGED: usize = 150;
/// Answers that are cut off at once.
const CUTS: usize = 6;
/// Writing goes on within this time.
const HEAL_MAX: Duration = Duration::from_secs(5);
/// So many acknowledgements take this long at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is done to PostgreSQL, in turn.
const WAYS: [Way; 4] = [Way::Cut, Way::End, Way::Cut, Way::Kill];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Answers are cut off.
    Cut,
    /// Every backend ends, as at `pg_terminate_backend`.
    End,
    /// One backend is killed, upon which PostgreSQL restarts all of them and recovers.
    Kill,
}

/// Runs it.
///
/// # Errors
/// When it could not be carried out; also where PostgreSQL is not installed.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let faults = world.count(FAULTS, WAYS.len());
    let target = format!("{faults} faults: no false 2xx, nothing lost, heals within 5 s");
    let mut verdict = Verdict::new("postgres", target);
    let cluster = rookery_testkit::postgres();
    let cluster = cluster.ok_or_else(|| Failure::new("PostgreSQL is not installed"))?;
    let database = cluster.empty_database().await;
    let scratch = tempfile::tempdir()?;
    let proxy = Proxy::start(scratch.path(), &database.url)?;
    let launch = world.launch_sqlite(scratch.path());
    let launch = launch.set("ROOKERY__STORAGE__DATABASE_URL", &proxy.url);
    let server = launch.start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let (mut acknowledged, mut open, mut unavailable, mut applied) = (0, 0, 0, 0);
    let mut slowest = Duration::ZERO;
    let mut app = App::deploy(&api).await?;
    let mut book = Book::default();
    for (fault, way) in (0..faults).zip(WAYS.into_iter().cycle()) {
        if fault % FAULTS_PER_APP == 0 && fault > 0 {
            (app, book) = (App::deploy(&api).await?, Book::default());
        }
        let crew = Crew::start(&api, &app, &format!("g{fault}"), WRITERS, OnSilence::GoOn);
        let follower = Follower::start(&api, &app);
        crew.reach(ACKNOWLEDGED, PATIENCE).await?;
        match way {
            Way::Cut => proxy.cut(CUTS),
            Way::End => signal(&database.backends().await, Signal::SIGTERM),
            Way::Kill => signal(&database.backends().await[..1], Signal::SIGKILL),
        }
        let (begin, reached) = (Instant::now(), crew.acknowledged());
        if let Err(Failure(words)) = crew.reach(reached + ACKNOWLEDGED, PATIENCE).await {
            verdict.violations.add(format!("{way:?} {fault}: it does not heal: {words}"));
        }
        slowest = slowest.max(begin.elapsed());
        let (journal, seen) = (crew.finish().await?, follower.finish().await?);
        acknowledged += journal.acknowledged;
        open += journal.open.len();
        unavailable += journal.unavailable;
        let before = verdict.violations.count();
        applied += book.check(&api, &app, journal, &seen, &mut verdict.violations).await?;
        if verdict.violations.count() > before {
            verdict.violations.add(format!("(the violations before this were of {way:?} {fault})"));
        }
    }
    super::kill::stop(server).await?;
    verdict.saw(format!(
        "{acknowledged} acknowledged writes, {unavailable} answered unavailable, {open} told that \
         the outcome is unknown, of which {applied} were applied"
    ));
    verdict.expect(
        slowest <= HEAL_MAX,
        format!("{ACKNOWLEDGED} more writes within {slowest:.1?} after a fault at worst"),
    );
    Ok(verdict)
}

fn signal(backends: &[i32], signal: Signal) {
    for pid in backends {
        // It may have left meanwhile.
        let _ = kill(Pid::from_raw(*pid), signal);
    }
}

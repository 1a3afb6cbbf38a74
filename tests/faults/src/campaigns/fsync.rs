//! fsync answers EIO: once, or from then on. No acknowledgement for what it was to make durable, no
//! event either; the process ends, and the next one starts cleanly.

use std::{path::Path, time::Duration};

use crate::{
    api::Api,
    check::Book,
    crew::{Crew, OnSilence},
    failure::{Failure, Result},
    follower::{Events, Follower},
    journal::Journal,
    shim::{Failing, Shim},
    spender::{Ledger, Spender},
    verdict::Verdict,
    world::{App, World},
};

/// The long form fails the 1st, 2nd, ... 300th fsync after the start of the process; the short
/// one some of the first 60.
const NUMBERS: usize = 300;
const NUMBERS_SHORT: usize = 60;
/// Requests that write at the same time.
const WRITERS: usize = 8;
/// More acknowledgements than the highest number of an fsync needs.
const ACKNOWLEDGED: usize = 20 * NUMBERS;
/// Time for the process to end after the failure.
const END_MAX: Duration = Duration::from_secs(30);
/// Time for the failure to come about.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let runs = world.count(NUMBERS, 6);
    let target = format!(
        "{runs} places, once and from then on: nothing acknowledged or told is lost, the process \
         ends, the next start is clean"
    );
    let mut verdict = Verdict::new("fsync", target);
    let scratch = tempfile::tempdir()?;
    let shim = Shim::build(scratch.path())?;
    let (launch, api, app) = super::with_app(world, scratch.path()).await?;
    let base = scratch.path().join("base");
    copy(&launch.data, &base)?;
    let mut totals = Totals::default();
    let range = if world.is_short() { NUMBERS_SHORT } else { NUMBERS };
    for run in 0..runs {
        let number = 1 + run * range / runs;
        for failing in [Failing::Once, Failing::Always] {
            std::fs::remove_dir_all(&launch.data)?;
            copy(&base, &launch.data)?;
            let faulty = shim.failing(launch.clone(), number, failing);
            let name = format!("fsync {number} {failing:?}");
            let mut book = Book::default();
            let (journal, seen, ledger) =
                break_one(&faulty, &api, &app, &name, &mut totals, &mut verdict).await?;
            let server = launch
                .start()
                .await
                .map_err(|Failure(words)| Failure(format!("{name}: no clean start: {words}")))?;
            let api = api.at(&server.url);
            totals.acknowledged += journal.acknowledged;
            totals.open += journal.open.len();
            let before = verdict.violations.count();
            book.check(&api, &app, journal, &seen, &mut verdict.violations).await?;
            ledger.check(&api, &mut verdict.violations).await?;
            totals.spent += ledger.acknowledged();
            if verdict.violations.count() > before {
                verdict.violations.add(format!("(the violations before this were of {name})"));
            }
            server.kill().await?;
        }
    }
    verdict.saw(format!(
        "{} failures: {} while the server started, which then refused; {} under writes, after \
         which it ended by itself, the slowest within {} ms",
        2 * runs,
        totals.refused,
        totals.ended,
        totals.slowest.as_millis()
    ));
    verdict.saw(format!(
        "{} acknowledged writes, {} requests without an outcome; {} links, codes and keys spent",
        totals.acknowledged, totals.open, totals.spent
    ));
    Ok(verdict)
}

#[derive(Default)]
struct Totals {
    refused: usize,
    ended: usize,
    acknowledged: usize,
    open: usize,
    spent: usize,
    slowest: Duration,
}

/// Runs a server into its failure; what its clients were told.
async fn break_one(
    faulty: &crate::server::Launch,
    api: &Api,
    app: &App,
    name: &str,
    totals: &mut Totals,
    verdict: &mut Verdict,
) -> Result<(Journal, Events, Ledger)> {
    let Ok(mut server) = faulty.listen().await else {
        totals.refused += 1;
        return Ok((Journal::default(), Events::new(), Ledger::default()));
    };
    let api = api.at(&server.url);
    let crew = Crew::start(&api, app, "f", WRITERS, OnSilence::GoOn);
    let follower = Follower::start(&api, app);
    let spender = Spender::start(&api);
    let ready = format!("{}/ready", server.url);
    tokio::select! {
        reached = crew.reach(ACKNOWLEDGED, PATIENCE) => {
            reached?;
            verdict.violations.add(format!("{name}: it went on"));
        }
        status = server.ends_within(PATIENCE) => match status? {
            Some(status) if !status.success() => totals.ended += 1,
            status => verdict.violations.add(format!("{name}: it ended with {status:?}")),
        },
        // Once it says that it is not ready, it has to end soon.
        took = until_ended(&api, &ready) => {
            totals.slowest = totals.slowest.max(took);
            match took < END_MAX {
                true => totals.ended += 1,
                false => verdict.violations.add(format!("{name}: not ready, and did not end")),
            }
        }
    }
    let (journal, seen) = (crew.finish().await?, follower.finish().await?);
    // It has ended, or is to be ended.
    let _ = server.kill().await;
    Ok((journal, seen, spender.finish().await?))
}

/// From the first time that `/ready` refuses until nobody answers; at most [`END_MAX`].
async fn until_ended(api: &Api, ready: &str) -> Duration {
    let mut refused_at = None;
    loop {
        match api.client.get(ready).send().await {
            Ok(answer) if answer.status().is_success() => {}
            Ok(_) => drop(refused_at.get_or_insert_with(std::time::Instant::now)),
            Err(_) => return refused_at.map_or(Duration::ZERO, |at| at.elapsed()),
        }
        if let Some(at) = refused_at
            && at.elapsed() > END_MAX
        {
            return at.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Copies the files of a folder.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

//! kill -9 in the middle of 64 writers, a follower, visitors, and somebody who spends and revokes.

use std::time::Duration;

use crate::{
    api::Api,
    check::Book,
    crew::{Crew, OnSilence},
    failure::Result,
    follower::Follower,
    server::Server,
    spender::{Guests, Spender},
    verdict::Verdict,
    world::{App, World},
};

/// Kills of the long form.
const KILLS: usize = 500;
/// Acknowledged changes before a kill, on average.
const ACKNOWLEDGED: usize = 400;
/// Requests that write at the same time.
const WRITERS: usize = 64;
/// Kills that one app goes through before it is left for a new one.
const KILLS_PER_APP: usize = 8;
/// Anonymous writes between two kills: an app's budget outlasts its kills.
const GUEST_WRITES: usize = 20;
/// So many acknowledgements take this long at most.
const PATIENCE: Duration = Duration::from_secs(60);
/// A killed server is ready again within this time, at the 99th percentile.
const READY_MAX: Duration = Duration::from_secs(2);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let kills = world.count(KILLS, 4);
    let target = format!("{kills} kills, nothing lost; ready again within 2 s at p99");
    let mut verdict = Verdict::new("kill", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path());
    let mut server = launch.start().await?;
    let mut api = Api::enroll(&server.url, "owner@example.org").await?;
    let (mut acknowledged, mut open, mut refused, mut spent) = (0, 0, 0, 0);
    let mut ready = Vec::with_capacity(kills);
    let mut place: Option<Place> = None;
    for kill in 0..kills {
        let here = match &mut place {
            Some(here) if kill % KILLS_PER_APP != 0 => here,
            _ => {
                if let Some(left) = place.take() {
                    Guests::spend_the_rest(&api, &left.app, &mut verdict.violations).await?;
                }
                place.insert(Place::of(App::deploy(&api).await?))
            }
        };
        let crew =
            Crew::start(&api, &here.app, &format!("k{kill}"), WRITERS, OnSilence::CredentialWatch);
        let follower = Follower::start(&api, &here.app);
        let spender = Spender::start(&api);
        let guests = Guests::start(&api, &here.app, GUEST_WRITES);
        crew.reach(before_kill(kill), PATIENCE).await?;
        server.kill().await?;
        let journal = crew.finish().await?;
        let (seen, ledger) = (follower.finish().await?, spender.finish().await?);
        here.guests.absorb(&guests.await?);

        server = launch.start().await?;
        ready.push(server.ready_after);
        api = api.at(&server.url);
        acknowledged += journal.acknowledged;
        open += journal.open.len();
        refused += journal.refused;
        spent += ledger.acknowledged();
        let violations = &mut verdict.violations;
        here.book.check(&api, &here.app, journal, &seen, violations).await?;
        here.guests.check(&api, &here.app, violations).await?;
        ledger.check(&api, violations).await?;
    }
    if let Some(left) = place {
        Guests::spend_the_rest(&api, &left.app, &mut verdict.violations).await?;
    }
    stop(server).await?;
    verdict.saw(format!(
        "{kills} kills, {acknowledged} acknowledged writes, {refused} refusals, {open} requests \
         cut off, {spent} links, codes and keys spent or revoked"
    ));
    let p99 = percentile(&mut ready, 99);
    verdict.expect(p99 <= READY_MAX, format!("ready again after {} ms at p99", p99.as_millis()));
    Ok(verdict)
}

struct Place {
    app: App,
    book: Book,
    guests: Guests,
}

impl Place {
    fn of(app: App) -> Self {
        Self { app, book: Book::default(), guests: Guests::default() }
    }
}

/// Acknowledgements before this kill: spread around the average, so that kills come at all times.
const fn before_kill(kill: usize) -> usize {
    ACKNOWLEDGED / 2 + (kill * 137) % ACKNOWLEDGED
}

/// The value that so many percent do not exceed.
pub(super) fn percentile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    values.get(rank).copied().unwrap_or_default()
}

/// Ends a server in order, at the end of a campaign.
pub(super) async fn stop(server: Server) -> Result<()> {
    server.terminate(Duration::from_secs(20)).await.map(drop)
}

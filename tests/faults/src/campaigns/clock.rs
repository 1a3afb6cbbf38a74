//! The server's clock jumps, back and forth: no budget refills, nothing spent comes back, what was
//! written stays. There are no schedules to run twice yet.

use crate::{
    api::Api,
    check::Book,
    crew::{Crew, OnSilence},
    failure::{Failure, Result},
    follower::Follower,
    serve,
    spender::{Guests, Spender},
    verdict::Verdict,
    world::{App, World},
};

/// Jumps of the long form: the list below, so many times in all.
const JUMPS: usize = 80;
/// Where the clock is put, in seconds from the system's. Every other one is the present, where
/// today's budget must be as spent as it was. None goes as far as the shortest time for which
/// something is kept: idempotent answers, a day.
const PLACES: [i64; 8] = [-3_600, 0, 3_600, 0, -72_000, 0, 72_000, 0];
/// Requests that write at the same time.
const WRITERS: usize = 8;
/// Acknowledged changes between two jumps.
const ACKNOWLEDGED: usize = 60;
/// So many acknowledgements take this long at most.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let jumps = world.count(JUMPS, PLACES.len());
    let target = format!("{jumps} jumps: no budget refilled, nothing spent twice, nothing lost");
    let mut verdict = Verdict::new("clock", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path()).set(serve::ORDERS, "on");
    let mut server = launch.start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let (app, spent_app) = (App::deploy(&api).await?, App::deploy(&api).await?);
    let mut book = Book::default();
    let violations = &mut verdict.violations;
    Guests::spend_the_rest(&api, &spent_app, violations).await?;
    let (mut acknowledged, mut spent, mut tried) = (0, 0, 0);
    for (jump, place) in (0..jumps).zip(PLACES.into_iter().cycle()) {
        let crew = Crew::start(&api, &app, &format!("j{jump}"), WRITERS, OnSilence::GoOn);
        let follower = Follower::start(&api, &app);
        let spender = Spender::start(&api);
        crew.reach(ACKNOWLEDGED / 2, PATIENCE).await?;
        if !server.order(&format!("clock {place}")).await? {
            return Err(Failure::new("the server does not let its clock be moved"));
        }
        crew.reach(ACKNOWLEDGED, PATIENCE).await?;
        let (journal, seen) = (crew.finish().await?, follower.finish().await?);
        let ledger = spender.finish().await?;
        acknowledged += journal.acknowledged;
        spent += ledger.acknowledged();
        book.check(&api, &app, journal, &seen, violations).await?;
        ledger.check(&api, violations).await?;
        if place == 0 {
            Guests::spend_the_rest(&api, &spent_app, violations).await?;
            tried += 1;
        }
    }
    super::kill::stop(server).await?;
    verdict.saw(format!(
        "{jumps} jumps of an hour and twenty: {acknowledged} acknowledged writes, {spent} links, \
         codes and keys spent or revoked, a spent budget tried {tried} times"
    ));
    Ok(verdict)
}

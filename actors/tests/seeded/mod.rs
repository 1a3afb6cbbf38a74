//! Seeded interleavings: real slots and actors over a store whose writer commits, aborts, leaves
//! outcomes unknown and dies, with rests, crashes, deploys, deletes and purges in between, in an
//! order that a seed decides. `ROOKERY_SEED=n` runs one of them alone.

mod clients;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use rookery_actors::{AppHandle, feed::FeedQuery};
use rookery_domain::ErrorCode;
use rookery_testkit::until;
use tokio::task::JoinHandle;

use crate::support::{Bench, Fate, expect_panics, paused};
use clients::{Client, EMAILS, Plan};

/// Seeds that run.
const SEEDS: u64 = 10_000;
/// Steps of one seed.
const STEPS: u32 = 40;
/// Turns that everybody gets after the last step, until all is answered.
const TURNS_MAX: u32 = 20_000;

#[test]
fn no_interleaving_loses_an_acknowledged_write_or_shows_an_unpublished_one() {
    expect_panics();
    if let Some(seed) = std::env::var("ROOKERY_SEED").ok().and_then(|seed| seed.parse().ok()) {
        paused().block_on(run(seed));
        return;
    }
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= SEEDS {
                        return;
                    }
                    let run = AssertUnwindSafe(|| paused().block_on(run(seed)));
                    assert!(catch_unwind(run).is_ok(), "seed {seed} failed: see above");
                }
            });
        }
    });
}

/// One world, from its start to its end.
async fn run(seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let bench = Arc::new(Bench::start().await);
    bench.store.hold();
    let apps = [bench.app().await, bench.app().await];
    let clients = apps.each_ref().map(|app| Arc::new(Client::new(&bench, app)));
    let mut running: Vec<JoinHandle<()>> = Vec::new();
    for client in &clients {
        let client = client.clone();
        running.push(tokio::spawn(async move { client.follow().await }));
    }
    for step in 0..STEPS {
        let client = &clients[usize::from(rng.random_bool(0.3))];
        match rng.random_range(0..100) {
            0..45 => {
                for _ in 0..rng.random_range(1..5) {
                    let (client, plan) = (client.clone(), Plan::draw(&mut rng, seed, step));
                    running.push(tokio::spawn(async move { client.send(plan).await }));
                }
            }
            45..75 => drop(bench.store.end(fate(&mut rng))),
            75..80 => client.app.ask_to_hibernate(),
            80..83 => drop(client.app.inject_panic()),
            83..86 => {
                let (client, with_entries) = (client.clone(), rng.random_bool(0.5));
                running.push(tokio::spawn(async move { client.deploy(with_entries).await }));
            }
            86..89 => {
                let (client, again) = (client.clone(), rng.random_bool(0.8));
                running.push(tokio::spawn(async move { client.delete(again).await }));
            }
            89 if rng.random_bool(0.3) => {
                let client = client.clone();
                running.push(tokio::spawn(async move { client.destroy().await }));
            }
            _ => {}
        }
        for _ in 0..rng.random_range(0..6) {
            tokio::task::yield_now().await;
        }
        clients.iter().for_each(|client| client.look());
    }
    clients.iter().for_each(|client| client.finish());
    settle(&bench, &mut running).await;
    for client in &clients {
        probe(&bench, client).await;
    }
    check_end(&bench, &apps).await;
    bench.rig.stop().await;
}

fn fate(rng: &mut SmallRng) -> Fate {
    match rng.random_range(0..100) {
        0..72 => Fate::Commit,
        72..82 => Fate::Refuse,
        82..87 => Fate::Full,
        87..95 => Fate::Unknown { applied: rng.random() },
        _ => Fate::Die { applied: rng.random() },
    }
}

/// Lets the writer commit and everybody run, until every request is answered.
async fn settle(bench: &Bench, running: &mut Vec<JoinHandle<()>>) {
    for _ in 0..TURNS_MAX {
        bench.store.end(Fate::Commit);
        tokio::task::yield_now().await;
        if running.iter().all(JoinHandle::is_finished) {
            for task in running.drain(..) {
                task.await.expect("a client's check holds");
            }
            return;
        }
    }
    panic!("{} requests were never answered", running.iter().filter(|t| !t.is_finished()).count());
}

/// Runs one request while the writer commits.
async fn while_committing<T>(bench: &Bench, request: impl Future<Output = T>) -> T {
    let mut request = std::pin::pin!(request);
    loop {
        tokio::select! {
            biased;
            done = &mut request => return done,
            () = tokio::task::yield_now() => drop(bench.store.end(Fate::Commit)),
        }
    }
}

/// Asks the actor as it is for every unique value: its index says what its rows say.
async fn probe(bench: &Bench, client: &Client) {
    let app = &client.app;
    app.lift_quarantine();
    let Ok(root) = while_committing(bench, app.root()).await else { return };
    if root.live_rows("entries").is_none() {
        return;
    }
    for email in EMAILS {
        let rows = app.published_rows("entries");
        let holders =
            rows.iter().filter(|row| row.data().contains(&format!("\"{email}\""))).count();
        let taken = while_committing(bench, client.take(email)).await;
        match taken {
            Ok(_) => assert_eq!(holders, 0, "{email} was free and is held"),
            Err(error) if error.code == ErrorCode::UniqueConflict => assert_eq!(holders, 1),
            Err(error) => {
                let dead = [ErrorCode::SoftDeleted, ErrorCode::AppNotFound];
                assert!(dead.contains(&error.code), "{error:?}");
            }
        }
    }
}

async fn check_end(bench: &Bench, apps: &[AppHandle]) {
    assert_eq!(bench.store.violations(), Vec::<String>::new());
    let counted = bench.rig.apps.account_rows(bench.owner).await;
    assert_eq!(counted, bench.store.rows_of(bench.owner).cast_signed(), "rows of the account");
    for app in apps {
        assert_eq!(app.observe().queued, 0, "permits are given back");
        let Some((seq, stored)) = bench.store.picture(app.id()) else { continue };
        // Once more from the beginning: what storage holds is what is served.
        app.ask_to_hibernate();
        until("the actor left", || app.peek().is_none()).await;
        let Ok(root) = while_committing(bench, app.root()).await else { continue };
        assert_eq!(root.seq, seq);
        for name in ["entries", "log"] {
            let served = app.published_rows(name);
            let kept = stored.keys().filter(|(collection, _)| collection == name).count();
            assert_eq!(served.len(), kept);
        }
        let everything =
            FeedQuery { since: None, wait: std::time::Duration::ZERO, limit: 1, collection: None };
        let _ = app.feed(&bench.caller, &everything).await;
    }
}

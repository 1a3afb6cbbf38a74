//! The workers, each asked for a round by hand over a real database.

use std::time::Duration;

use rookery_actors::{
    RuntimeOptions, SlotState, WorkerKind,
    app::message::{AppOp, Op},
    feed::FeedQuery,
};
use rookery_domain::{
    ErrorCode,
    app::{AppRecord, AppStatus},
    time::DAY_S,
};
use rookery_storage::{
    apps::purge,
    closing,
    commit::RowState,
    faults::{self, Faults},
    feed, retention,
};
use rookery_testkit::{until, until_async};

use crate::support::{NOW, asleep, delete, expect_panics, real::House, record};

/// Bounds the rows of `entries` by number and by age.
fn bounded() -> String {
    crate::support::MANIFEST.replace(
        "\"unique\": [\"email\"]",
        "\"unique\": [\"email\"], \"retention\": {\"maxRows\": 3, \"maxAgeDays\": 10}",
    )
}

/// Creates a row and waits until the permits that the request held are free: its answer
/// comes a moment before.
async fn use_it(house: &House, app: &rookery_actors::AppHandle) {
    house.create(app, "a").await.unwrap();
    until("an empty queue", || app.observe().queued == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_app_is_put_to_rest_and_a_used_one_is_not() {
    let idle = RuntimeOptions { idle_after: Duration::ZERO, ..RuntimeOptions::default() };
    for (options, rests) in [(idle, true), (RuntimeOptions::default(), false)] {
        let house = House::open_with(Faults::default(), options).await;
        let app = house.app("notes").await;
        use_it(&house, &app).await;
        let asked = house.runtime.workers().run(WorkerKind::Hibernation).await.unwrap();
        assert_eq!(asked, u64::from(rests));
        if rests {
            until("the app rests", || app.state() == SlotState::Dormant).await;
            assert_eq!(app.root().await.unwrap().live_rows("entries"), Some(1));
        }
        assert_eq!(app.state(), SlotState::Live);
        house.close().await;
    }
}

#[tokio::test]
async fn a_dormant_app_that_nobody_asks_for_is_forgotten_and_found_again_as_it_was() {
    let idle = RuntimeOptions { idle_after: Duration::ZERO, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), idle).await;
    let apps = house.runtime.apps();
    let stored = AppRecord { slug: "notes".into(), ..record(house.owner) };
    let id = stored.id;
    house.store(stored, crate::support::MANIFEST, Vec::new()).await;
    let rows = house.rows(3, RowState::Live);
    house.commit(id, |group| (group.totals.live, group.writes.rows) = (3, rows)).await;
    let app = apps.find("notes").await.unwrap();
    app.root().await.unwrap();
    let sweep = async || house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap();

    sweep().await;
    assert_eq!(apps.counts().known, 1, "it is live");
    house.runtime.workers().run(WorkerKind::Hibernation).await.unwrap();
    until("the app rests", || app.state() == SlotState::Dormant).await;
    sweep().await;
    assert_eq!(apps.counts().known, 1, "somebody holds it");
    drop(app);
    until_async("nobody holds it", async || {
        sweep().await;
        apps.counts().known == 0
    })
    .await;

    let app = apps.find("notes").await.unwrap();
    assert_eq!(app.id(), id);
    assert_eq!(app.root().await.unwrap().live_rows("entries"), Some(3));
    let counted = house.runtime.apps().account_rows(house.owner).await;
    assert_eq!(counted, 3, "its rows are counted once");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_somebody_follows_takes_no_place_in_a_round_of_rest() {
    let idle = RuntimeOptions { idle_after: Duration::ZERO, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), idle).await;
    let (followed, other) = (house.app("followed").await, house.app("other").await);
    for app in [&followed, &other] {
        use_it(&house, app).await;
    }
    let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 10, collection: None };
    let cursor = followed.feed(&house.caller, &now).await.unwrap().cursor;
    let poll = FeedQuery { since: Some(cursor), wait: Duration::from_secs(60), ..now };
    let polling = {
        let (app, caller) = (followed.clone(), house.caller.clone());
        tokio::spawn(async move { app.feed(&caller, &poll).await })
    };
    until("a follower", || followed.observe().followers > 0).await;
    assert_eq!(house.runtime.workers().run(WorkerKind::Hibernation).await.unwrap(), 1);
    until("the other app rests", || other.state() == SlotState::Dormant).await;
    assert_eq!(followed.state(), SlotState::Live);
    polling.abort();
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_due_app_is_destroyed_and_one_that_is_not_due_stays() {
    let house = House::open(Faults::default()).await;
    let (early, late) = (house.app("early").await, house.app("late").await);
    house.create(&early, "a").await.unwrap();
    let trash = |app: &rookery_actors::AppHandle| {
        let (app, caller) = (app.clone(), house.caller.clone());
        async move { app.apply(caller, Op::App(AppOp::Delete)).await }
    };
    trash(&early).await.unwrap();
    house.clock.set(NOW.plus_seconds(10 * DAY_S));
    trash(&late).await.unwrap();
    house.clock.set(NOW.plus_seconds(30 * DAY_S));
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
    let gone = house.runtime.apps().by_id(early.id()).await.expect_err("it is destroyed");
    assert_eq!(gone.code, ErrorCode::AppNotFound);
    assert_eq!(house.account_rows().await, 0);
    assert_eq!(house.app("early").await.record().slug.as_ref(), "early");
    late.apply(house.caller.clone(), Op::App(AppOp::Restore)).await.unwrap();
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rows_of_a_destroyed_app_are_given_back_to_its_account_once() {
    let house = House::open(Faults::default()).await;
    let kept = house.app("kept").await;
    for key in ["a", "b", "c"] {
        house.create(&kept, key).await.unwrap();
    }
    let counted = || async { house.runtime.apps().account_rows(house.owner).await };
    for by_sweeper in [false, true] {
        let gone = house.app("gone").await;
        house.create(&gone, "a").await.unwrap();
        house.create(&gone, "b").await.unwrap();
        assert_eq!(counted().await, 5);
        gone.apply(house.caller.clone(), Op::App(AppOp::Delete)).await.unwrap();
        if by_sweeper {
            house.clock.set(NOW.plus_seconds(31 * DAY_S));
            assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
        } else {
            house.runtime.control().purge(&gone, house.caller.clone()).await.unwrap();
        }
        assert_eq!(counted().await, 3);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_that_was_cut_short_is_finished() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    house.create(&app, "a").await.unwrap();
    for op in [AppOp::Delete, AppOp::Destroy] {
        app.apply(house.caller.clone(), Op::App(op)).await.unwrap();
    }
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
    house.app("notes").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_is_destroyed_though_storage_fails_before_all_of_it_is_gone() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    house.create(&app, "a").await.unwrap();
    app.apply(house.caller.clone(), Op::App(AppOp::Delete)).await.unwrap();
    // The writer has a connection of its own.
    house.db.close().await;
    house.runtime.control().purge(&app, house.caller.clone()).await.expect("it is destroyed");
    assert_eq!(app.record().status, AppStatus::Purging);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_asks_no_app_that_can_only_refuse() {
    let house = House::open(Faults::default()).await;
    let app = house.app_with("notes", &bounded()).await;
    for key in ["a", "b", "c", "d"] {
        house.create(&app, key).await.unwrap();
    }
    app.apply(house.caller.clone(), Op::App(AppOp::Delete)).await.unwrap();
    assert_eq!(app.state(), SlotState::Live);
    let asked = || house.runtime.apps().totals().all.message_count();
    let before = asked();
    assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 0);
    assert_eq!(asked(), before);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_leave_the_trash_after_their_time_also_of_a_collection_that_is_gone() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    for key in ["old", "young", "kept"] {
        house.create(&app, key).await.unwrap();
    }
    app.apply(house.caller.clone(), delete("old")).await.unwrap();
    house.clock.set(NOW.plus_seconds(20 * DAY_S));
    app.apply(house.caller.clone(), delete("young")).await.unwrap();
    let without = crate::support::MANIFEST.replace("\"entries\"", "\"others\"");
    house.deploy(&app, &without).await;
    house.clock.set(NOW.plus_seconds(31 * DAY_S));
    asleep(&app).await;
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
    let totals = app.root().await.unwrap().totals;
    assert_eq!((totals.live, totals.trashed, totals.detached), (0, 1, 1));
    assert_eq!(house.account_rows().await, 1);
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_cannot_be_loaded_keeps_nobody_elses_trash() {
    let house = House::open(Faults::default()).await;
    // As many rows as one round looks at.
    let trashed = house.rows(10_000, RowState::Trashed(NOW));
    house.store(record(house.owner), "no manifest", trashed).await;
    let app = house.app("notes").await;
    house.create(&app, "a").await.unwrap();
    house.clock.set(NOW.plus_seconds(1));
    app.apply(house.caller.clone(), delete("a")).await.unwrap();
    house.clock.set(NOW.plus_seconds(31 * DAY_S));
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 0);
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_whose_id_cannot_be_read_keeps_no_other_from_what_is_due() {
    let house = House::open(Faults::default()).await;
    let purging =
        AppRecord { status: AppStatus::Purging, purge_at: Some(NOW), ..record(house.owner) };
    house.store(purging.clone(), crate::support::MANIFEST, Vec::new()).await;
    assert!(faults::damage::app_id(&house.db, purging.id).await.unwrap());
    let app = house.app("notes").await;
    house.create(&app, "a").await.unwrap();
    app.apply(house.caller.clone(), delete("a")).await.unwrap();
    house.clock.set(NOW.plus_seconds(31 * DAY_S));
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_cannot_be_loaded_keeps_no_other_orphan() {
    let house = House::open(Faults::default()).await;
    // As many as are looked at together.
    for _ in 0..100 {
        house.store(record(house.owner), "no manifest", Vec::new()).await;
    }
    let orphan = record(house.owner);
    house.store(orphan.clone(), crate::support::MANIFEST, Vec::new()).await;
    closing::close(&house.db, house.owner, Some("ada@example.com".into()), NOW).await.unwrap();
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 1);
    let app = house.runtime.apps().by_id(orphan.id).await.unwrap();
    assert_eq!(app.record().status, AppStatus::Closed);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_purge_does_not_keep_the_process_from_ending() {
    let house = House::open(Faults::default()).await;
    let purging =
        AppRecord { status: AppStatus::Purging, purge_at: Some(NOW), ..record(house.owner) };
    let rows = house.rows(purge::CHUNK as usize + 1, RowState::Live);
    house.store(purging.clone(), crate::support::MANIFEST, rows).await;
    house.runtime.end_polls();
    house.runtime.control().finish_purge(purging.id).await.unwrap();
    assert_eq!(house.runtime.workers().run(WorkerKind::Sweeper).await.unwrap(), 0);
    let marked = purge::marked(&house.db, None, 10).await.unwrap();
    let marked: Vec<_> = marked.iter().map(|due| due.app).collect();
    assert_eq!(marked, [purging.id], "the next start goes on");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_of_retention_goes_on_behind_the_last_one() {
    let options = RuntimeOptions { retention_apps_max: 1, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), options).await;
    let mut apps = Vec::new();
    for slug in ["first", "second", "third"] {
        let app = house.app_with(slug, &bounded()).await;
        for i in 0..5 {
            house.create(&app, &format!("k{i}")).await.unwrap();
        }
        asleep(&app).await;
        apps.push(app);
    }
    for app in &apps {
        assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 2);
        assert_eq!(app.root().await.unwrap().totals.trashed, 2);
    }
    assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 0);
    house.create(&apps[0], "late").await.unwrap();
    asleep(&apps[0]).await;
    assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 1, "anew");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_beyond_their_bounds_are_pruned_also_of_a_sleeping_app() {
    let house = House::open(Faults::default()).await;
    let app = house.app_with("notes", &bounded()).await;
    let plain = house.app("plain").await;
    for i in 0..5 {
        house.create(&app, &format!("k{i}")).await.unwrap();
        house.create(&plain, &format!("k{i}")).await.unwrap();
    }
    assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 2);
    assert_eq!(house.stored_keys(app.id()).await, ["k2", "k3", "k4"]);
    asleep(&app).await;
    asleep(&plain).await;
    assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 0);
    assert_eq!(app.state(), SlotState::Dormant, "nothing was due, so nothing woke");
    house.clock.set(NOW.plus_seconds(11 * DAY_S));
    assert_eq!(house.runtime.workers().run(WorkerKind::RowRetention).await.unwrap(), 3);
    assert_eq!(plain.state(), SlotState::Dormant);
    assert_eq!(app.root().await.unwrap().totals.trashed, 5);
    let found = retention::bounded(&house.db, None, 10).await.unwrap();
    assert_eq!(found.iter().map(|one| one.app).collect::<Vec<_>>(), [app.id()]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_loses_its_oldest_events_and_a_cursor_below_them_starts_anew() {
    let options = RuntimeOptions { feed_retention_events: 10, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), options).await;
    let app = house.app("notes").await;
    let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 100, collection: None };
    let first = app.feed(&house.caller, &now).await.unwrap().cursor;
    for i in 0..30 {
        house.create(&app, &format!("k{i}")).await.unwrap();
    }
    let last = app.feed(&house.caller, &now).await.unwrap().cursor;
    assert_eq!(house.runtime.workers().run(WorkerKind::FeedRetention).await.unwrap(), 21);
    let from = |since: &str| FeedQuery { since: Some(since.to_owned()), ..now.clone() };
    let stale = app.feed(&house.caller, &from(&first)).await.expect_err("it is below the floor");
    assert_eq!(stale.code, ErrorCode::ResyncRequired);
    assert!(app.feed(&house.caller, &from(&last)).await.unwrap().events.is_empty());
    let keep = feed::FeedRetention {
        events: 10,
        not_before: NOW,
        not_after: NOW.plus_seconds(60),
        bytes: 1 << 40,
    };
    assert_eq!(feed::due(&house.db, keep, None, 10).await.unwrap(), []);
    // By age, in storage alone: the app sleeps.
    asleep(&app).await;
    house.clock.set(NOW.plus_seconds(31 * DAY_S));
    assert_eq!(house.runtime.workers().run(WorkerKind::FeedRetention).await.unwrap(), 10);
    assert_eq!(app.state(), SlotState::Dormant);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_writes_much_keeps_so_many_bytes_beside_its_rows() {
    let options = RuntimeOptions { feed_retention_bytes: 8 << 10, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), options).await;
    let app = house.app("notes").await;
    let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 100, collection: None };
    let first = app.feed(&house.caller, &now).await.unwrap().cursor;
    for i in 0..60 {
        house.create(&app, &format!("k{i}")).await.unwrap();
    }
    let pruned = house.runtime.workers().run(WorkerKind::FeedRetention).await.unwrap();
    assert!((20..60).contains(&pruned), "{pruned}");
    let stale = FeedQuery { since: Some(first), ..now };
    let stale = app.feed(&house.caller, &stale).await.expect_err("it is below the floor");
    assert_eq!(stale.code, ErrorCode::ResyncRequired);
    // The rows are all there, and there is nothing more to take.
    assert_eq!(app.root().await.unwrap().totals.live, 60);
    assert_eq!(house.runtime.workers().run(WorkerKind::FeedRetention).await.unwrap(), 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_crashes_is_replaced() {
    expect_panics();
    let house = House::open(Faults::default()).await;
    let workers = house.runtime.workers();
    for kind in WorkerKind::ALL {
        workers.inject_panic(kind);
    }
    until("each worker's restart", || workers.observe().iter().all(|worker| worker.restarts > 0))
        .await;
    for kind in WorkerKind::ALL {
        workers.run(kind).await.expect("its successor works");
    }
    assert!(workers.observe().iter().all(|worker| worker.rounds >= 1));
    house.close().await;
}

//! Waking and admission: one load for everybody, a bounded queue, cheap dormant slots.

use std::time::Duration;

use rookery_actors::{
    RuntimeOptions, SlotState,
    app::message::{AppOp, Op},
    feed::FeedQuery,
    observe::hot::{Measure, Window},
};
use rookery_domain::{
    ErrorCode, app::AppRecord, field_patch::FieldPatch, id::AppId, manifest::Visibility,
};
use rookery_testkit::until;

use crate::support::{
    Bench, Fate, MANIFEST, asleep, create, delete, expect_panics, paused, record,
};

#[test]
fn a_thousand_readers_of_a_dormant_app_share_one_load() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let readers = (0..1_000).map(|_| {
            let app = app.clone();
            tokio::spawn(async move { app.root().await.map(|root| root.seq) })
        });
        for reader in futures::future::join_all(readers).await {
            assert_eq!(reader.unwrap().unwrap(), 0);
        }
        assert_eq!(bench.store.loads(), 1);
    });
}

#[test]
fn a_wake_outlives_whoever_asked_for_it() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let impatient = tokio::time::timeout(Duration::ZERO, app.root());
        assert!(impatient.await.is_err());
        until("the app is live", || app.state() == SlotState::Live).await;
        assert_eq!(bench.store.loads(), 1);
    });
}

#[test]
fn a_full_mailbox_refuses_and_says_so() {
    paused().block_on(async {
        let options = RuntimeOptions { mailbox_limit: 8, ..RuntimeOptions::default() };
        let bench = Bench::start_with(options).await;
        let app = bench.app().await;
        bench.store.hold();
        let requests = async {
            let keys: Vec<String> = (0..20).map(|i| format!("k{i}")).collect();
            futures::future::join_all(keys.iter().map(|key| bench.create(&app, key))).await
        };
        let writer = async {
            until("a full queue", || app.observe().queued >= 8 && bench.store.held() > 0).await;
            let all_committed = || {
                let is_empty = app.observe().queued == 0;
                if !is_empty {
                    bench.store.end(Fate::Commit);
                }
                is_empty
            };
            until("an empty queue", all_committed).await;
        };
        let (answers, ()) = tokio::join!(requests, writer);
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert_eq!(refused.len(), 12);
        assert!(refused.iter().all(|error| error.code == ErrorCode::Unavailable));
        assert_eq!(bench.store.rows_of(bench.owner), 8);
    });
}

#[test]
fn one_apps_requests_hold_a_part_of_the_bytes_that_all_may() {
    paused().block_on(async {
        // Room for 32 small requests, of which an app gets an eighth.
        let options = RuntimeOptions { inflight_bytes_max: 32 * 512, ..RuntimeOptions::default() };
        let bench = Bench::start_with(options).await;
        let (crowded, other) = (bench.app().await, bench.app().await);
        bench.store.hold();
        let requests = async {
            let keys: Vec<String> = (0..20).map(|i| format!("k{i}")).collect();
            futures::future::join_all(keys.iter().map(|key| bench.create(&crowded, key))).await
        };
        let writer = async {
            until("a full queue", || crowded.observe().queued == 4).await;
            let (written, ()) = tokio::join!(bench.create(&other, "k"), async {
                let queued = || crowded.observe().queued + other.observe().queued;
                let all_committed = || queued() == 0 || !bench.store.end(Fate::Commit);
                until("somebody waits", || queued() == 5).await;
                until("an empty queue", || all_committed() && queued() == 0).await;
            });
            written.expect("another app has room");
        };
        let (answers, ()) = tokio::join!(requests, writer);
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert_eq!(refused.len(), 16);
        assert!(refused.iter().all(|error| error.message.contains("for this app")));
    });
}

#[test]
fn ten_thousand_dormant_apps_have_no_actor_and_no_load() {
    paused().block_on(async {
        let bench = Bench::start().await;
        for _ in 0..10_000 {
            let record = record(bench.owner);
            let app = bench.rig.apps.adopt(record).await.expect("it is not being destroyed");
            assert_eq!(app.state(), SlotState::Dormant);
        }
        let counts = bench.rig.apps.counts();
        assert_eq!((counts.known, counts.live), (10_000, 0));
        assert_eq!(bench.store.loads(), 0);
    });
}

#[test]
fn an_app_nobody_has_deployed_is_not_found_and_leaves_nothing_behind() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let missing = bench.rig.apps.by_id(AppId::new()).await.expect_err("there is none");
        assert_eq!(missing.code, ErrorCode::AppNotFound);
        assert_eq!(bench.rig.apps.counts().known, 0);
    });
}

#[test]
fn a_wake_that_takes_too_long_is_refused() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let (other, app) = (bench.app().await, bench.app().await);
        bench.store.hold();
        let (caller, row) = (bench.caller.clone(), create("k", "{}"));
        let held = tokio::spawn(async move { other.apply(caller, row).await });
        bench.until_held().await;
        let limit = RuntimeOptions::default().request_timeout + Duration::from_secs(1);
        let woken = tokio::time::timeout(limit, app.wake()).await.expect("it is answered in time");
        assert_eq!(woken.unwrap_err().code, ErrorCode::Unavailable);
        assert!(bench.store.end(Fate::Commit));
        held.await.unwrap().expect("it is committed");
        until("the app is awake all the same", || app.state() == SlotState::Live).await;
    });
}

#[test]
fn an_app_that_a_load_does_not_find_is_forgotten() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.store.remove(app.id());
        assert_eq!(app.root().await.err().unwrap().code, ErrorCode::AppNotFound);
        let id = app.id();
        drop(app);
        until("it is forgotten", || {
            bench.rig.forget_dormant(Duration::ZERO);
            bench.rig.apps.counts().known == 0
        })
        .await;
        let missing = bench.rig.apps.by_id(id).await.expect_err("there is none");
        assert_eq!(missing.code, ErrorCode::AppNotFound);
    });
}

#[test]
fn what_an_app_did_keeps_nobody_from_forgetting_it() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        app.apply(bench.caller.clone(), delete("none")).await.expect_err("there is no such row");
        bench.rig.apps.tick();
        assert_eq!(bench.rig.apps.hot(Measure::Messages, Window::TenSeconds).len(), 1);
        asleep(&app).await;
        drop(app);
        until("it is forgotten", || {
            bench.rig.apps.tick();
            bench.rig.forget_dormant(Duration::ZERO);
            bench.rig.apps.counts().known == 0
        })
        .await;
        bench.rig.apps.tick();
        assert_eq!(bench.rig.apps.hot(Measure::Messages, Window::TenSeconds).len(), 0);
    });
}

#[test]
fn a_load_that_panics_counts_as_a_crash_and_does_not_block_the_slot() {
    expect_panics();
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.store.panic_at_load(true);
        assert_eq!(app.root().await.err().expect("it panics").code, ErrorCode::Internal);
        assert_eq!(app.observe().crashes, 1);
        bench.store.panic_at_load(false);
        app.root().await.expect("the next one loads");
    });
}

#[test]
fn a_follower_hears_of_what_a_lost_outcome_turns_out_to_have_been() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let since = bench.create(&app, "a").await.map(|_| ());
        since.unwrap();
        let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 10, collection: None };
        let cursor = app.feed(&bench.caller, &now).await.unwrap().cursor;
        let poll = FeedQuery { since: Some(cursor), wait: Duration::from_secs(50), ..now };
        bench.store.hold();
        let write = async {
            let unknown = bench.create(&app, "b");
            let end = async {
                until("a commit to end", || bench.store.end(Fate::Unknown { applied: true })).await;
            };
            let (unknown, ()) = tokio::join!(unknown, end);
            assert_eq!(unknown.unwrap_err().details.unwrap()["outcome"], "unknown");
            // Somebody asks for the app, and so it wakes.
            app.root().await.unwrap();
        };
        let began = tokio::time::Instant::now();
        let (page, ()) = tokio::join!(app.feed(&bench.caller, &poll), write);
        assert_eq!(page.unwrap().events.len(), 1);
        assert!(began.elapsed() < Duration::from_secs(1), "it waited for its time to pass");
    });
}

#[test]
fn whoever_finds_an_app_after_a_lost_outcome_finds_what_it_turned_out_to_be() {
    for applied in [true, false] {
        for fate in [Fate::Unknown { applied }, Fate::Die { applied }] {
            paused().block_on(async {
                let bench = Bench::start().await;
                let app = bench.app().await;
                let (visibility, share) = (Some(Visibility::Public), None);
                let op =
                    AppOp::Settings { visibility, share, timezone: None, org: FieldPatch::Keep };
                bench.store.hold();
                let (unknown, ()) =
                    tokio::join!(app.apply(bench.caller.clone(), Op::App(op)), async {
                        until("a commit to end", || bench.store.end(fate)).await;
                    });
                assert!(unknown.is_err());
                let found = bench.rig.apps.by_id(app.id()).await.expect("storage answers");
                let is_public = found.record().visibility == Visibility::Public;
                assert_eq!(is_public, applied, "{fate:?}");
            });
        }
    }
}

#[test]
fn the_manifest_of_these_tests_is_one() {
    let value = rookery_domain::json::parse(MANIFEST.as_bytes()).unwrap();
    assert_eq!(rookery_domain::manifest::reload(&value).unwrap().collections.len(), 2);
}

#[test]
fn a_slug_that_leads_to_a_destroyed_app_is_asked_of_storage_again() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let dead = bench.app().await;
        let record = AppRecord::clone(&dead.record());
        bench.store.remove(record.id);
        dead.forget();
        let next = AppRecord { id: AppId::new(), ..record.clone() };
        bench.store.deploy(next.clone(), MANIFEST);
        let apps = &bench.rig.apps;
        apps.adopt(next.clone()).await.expect("it has taken the slug");
        // A list that had read the record before the purge ended.
        let stale = apps.adopt(record.clone()).await.expect("nobody knows yet that it is gone");
        assert_eq!(stale.root().await.err().map(|e| e.code), Some(ErrorCode::AppNotFound));
        let found = apps.find(&record.slug).await.expect("storage knows whose the slug is");
        assert_eq!(found.id(), next.id);
    });
}

//! Crashes of actors: what becomes of their requests, and of their neighbours.

use std::time::Duration;

use rookery_actors::{
    SlotState,
    app::message::{AppOp, Op},
    supervision::policy::{CrashStreak, Verdict},
};
use rookery_domain::{ErrorCode, field_patch::FieldPatch, manifest::Visibility};
use rookery_testkit::until;

use crate::support::{Bench, Fate, asleep, expect_panics, paused};

#[test]
fn requests_queued_behind_a_crash_are_answered_by_the_next_incarnation() {
    expect_panics();
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.create(&app, "before").await.unwrap();
        let first = app.observe().incarnation;
        assert!(app.inject_panic());
        let keys: Vec<String> = (0..50).map(|i| format!("k{i}")).collect();
        let answers = futures::future::join_all(keys.iter().map(|key| bench.create(&app, key)));
        for answer in answers.await {
            answer.expect("the next incarnation answers");
        }
        assert_ne!(app.observe().incarnation, first);
        assert_eq!(app.observe().rows, 51);
        assert_eq!(app.observe().crashes, 1);
    });
}

#[test]
fn a_crash_leaves_an_unfinished_commit_unknown_and_an_unsent_one_refused() {
    expect_panics();
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        app.root().await.unwrap();
        bench.store.hold();
        let sealed = bench.create(&app, "sealed");
        let open = bench.create(&app, "open");
        let crash = async {
            until("one sealed and one open", || {
                bench.store.held() > 0 && app.observe().queued >= 2
            })
            .await;
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            app.inject_panic();
        };
        let later = async {
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            open.await
        };
        let (sealed, open, ()) = tokio::join!(sealed, later, crash);
        let sealed = sealed.unwrap_err();
        assert_eq!(sealed.code, ErrorCode::Internal);
        assert_eq!(sealed.details.unwrap()["outcome"], "unknown");
        assert_eq!(open.unwrap_err().code, ErrorCode::Unavailable);
        // The group lands all the same, before the next incarnation loads.
        let (root, ended) = tokio::join!(app.root(), async { bench.store.end(Fate::Commit) });
        assert!(ended);
        assert_eq!(root.unwrap().live_rows("entries"), Some(1));
        assert_eq!(bench.rig.apps.account_rows(bench.owner).await, 1);
    });
}

#[test]
fn an_app_that_always_panics_is_quarantined_and_its_neighbours_never_notice() {
    expect_panics();
    paused().block_on(async {
        let bench = Bench::start().await;
        let mut neighbours = Vec::new();
        for _ in 0..100 {
            neighbours.push(bench.app().await);
        }
        let app = bench.app().await;
        let (mut crashes, mut waits) = (0, Vec::new());
        let cause = loop {
            assert!(crashes < 20, "it is never quarantined");
            match app.state() {
                SlotState::Quarantined { cause } => break cause,
                SlotState::BackingOff(wait) => {
                    let refused = app.root().await.err().expect("it waits");
                    assert_eq!(refused.code, ErrorCode::Unavailable);
                    waits.push(wait);
                    tokio::time::advance(wait).await;
                }
                _ => {}
            }
            app.root().await.expect("it starts again");
            app.inject_panic();
            crashes += 1;
            until("a crash", || app.observe().crashes >= crashes).await;
            let key = format!("k{crashes}");
            for neighbour in &neighbours {
                bench.create(neighbour, &key).await.expect("a neighbour answers");
            }
        };
        assert!(cause.contains("injected"), "{cause}");
        assert_eq!(waits.len(), 7, "{waits:?}");
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1] * 2));
        assert_eq!(bench.create(&app, "k").await.unwrap_err().code, ErrorCode::Unavailable);
        for neighbour in &neighbours {
            assert_eq!(neighbour.observe().crashes, 0);
        }
        assert!(app.lift_quarantine());
        assert!(!app.lift_quarantine());
        bench.create(&app, "k").await.expect("it serves again");
        assert_eq!(app.observe().crashes, 0);
    });
}

#[test]
fn an_app_that_must_not_start_is_found_as_its_last_commit_left_it() {
    expect_panics();
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.store.hold();
        let (mut crashes, mut held_back) = (0, 0);
        loop {
            match app.state() {
                SlotState::Quarantined { .. } => break,
                SlotState::BackingOff(wait) => tokio::time::advance(wait).await,
                _ => {}
            }
            app.root().await.expect("it starts again");
            crashes += 1;
            assert!(crashes < 20, "it is never quarantined");
            let public = crashes % 2 == 1;
            let visibility = if public { Visibility::Public } else { Visibility::Private };
            let (share, timezone) = (None, None);
            let op = AppOp::Settings {
                visibility: Some(visibility),
                share,
                timezone,
                org: FieldPatch::Keep,
            };
            let (lost, ()) = tokio::join!(app.apply(bench.caller.clone(), Op::App(op)), async {
                bench.until_held().await;
                app.inject_panic();
            });
            assert_eq!(lost.unwrap_err().details.unwrap()["outcome"], "unknown");
            until("a crash", || app.observe().crashes >= crashes).await;
            assert!(bench.store.end(Fate::Commit));

            let state = app.state();
            held_back += u32::from(state != SlotState::Dormant);
            let found = bench.rig.apps.by_id(app.id()).await.expect("it is found all the same");
            assert_eq!(found.record().visibility, visibility);
            assert_eq!(found.state(), state, "looking starts nothing");
        }
        assert!(held_back > 1, "most of these crashes keep it from starting");
    });
}

#[test]
fn a_streak_of_crashes_backs_off_twice_as_long_each_time() {
    let mut streak = CrashStreak::default();
    let mut now = Duration::from_secs(100);
    let mut crash = |after: u64| {
        now += Duration::from_secs(after);
        streak.crashed(now, 1.0)
    };
    assert_eq!(crash(0), Verdict::Restart);
    assert_eq!(crash(1), Verdict::Restart);
    for wait in [1, 2, 4, 8, 16, 32, 60] {
        assert_eq!(crash(wait), Verdict::Backoff(Duration::from_secs(wait)));
    }
    assert_eq!(crash(60), Verdict::Quarantine);
}

#[test]
fn jitter_shortens_a_wait_by_at_most_half() {
    for (jitter, millis) in [(0.0, 500), (0.5, 750), (1.0, 1_000), (7.0, 1_000)] {
        let mut streak = CrashStreak::default();
        streak.crashed(Duration::ZERO, jitter);
        streak.crashed(Duration::ZERO, jitter);
        let third = streak.crashed(Duration::ZERO, jitter);
        assert_eq!(third, Verdict::Backoff(Duration::from_millis(millis)));
    }
}

#[test]
fn a_minute_without_a_crash_ends_a_streak() {
    let mut streak = CrashStreak::default();
    streak.crashed(Duration::ZERO, 0.0);
    streak.crashed(Duration::from_secs(1), 0.0);
    assert_eq!(streak.crashed(Duration::from_secs(62), 0.0), Verdict::Restart);
    assert_eq!(streak.crashes(Duration::from_secs(62)), 1);
    assert_eq!(streak.crashes(Duration::from_secs(122)), 1);
    assert_eq!(streak.crashes(Duration::from_secs(123)), 0, "also where no other crash comes");
}

#[test]
fn a_quarantine_outlasts_any_time() {
    let mut streak = CrashStreak::default();
    while streak.crashed(Duration::ZERO, 0.0) != Verdict::Quarantine {}
    let crashes = streak.crashes(Duration::ZERO);
    assert_eq!(streak.crashes(Duration::from_secs(86_400)), crashes);
}

#[test]
fn an_app_that_crashed_is_forgotten_once_its_streak_is_over() {
    expect_panics();
    paused().block_on(async {
        // One crash starts the app again at once, the third of a streak has it wait.
        for crashes in [1, 3] {
            let bench = Bench::start().await;
            let app = bench.app().await;
            for crash in 1..=crashes {
                app.root().await.expect("it starts");
                assert!(app.inject_panic());
                until("a crash", || app.observe().crashes == crash).await;
            }
            until("what follows from it", || app.state() != SlotState::Waking).await;
            if crashes == 1 {
                app.root().await.expect("it starts again");
                asleep(&app).await;
            }
            let id = app.id();
            drop(app);
            let apps = &bench.rig.apps;
            let kept = || {
                bench.rig.forget_dormant(Duration::ZERO);
                apps.counts().known == 1
            };
            for _ in 0..10 {
                tokio::task::yield_now().await;
                assert!(kept(), "its streak is known");
            }
            tokio::time::advance(Duration::from_secs(59)).await;
            assert!(kept(), "its streak is known");
            tokio::time::advance(Duration::from_secs(3)).await;
            assert_eq!(apps.by_id(id).await.unwrap().observe().crashes, 0, "the streak has ended");
            until("it is forgotten", || !kept()).await;
            assert_eq!(apps.by_id(id).await.unwrap().state(), SlotState::Dormant);
        }
    });
}

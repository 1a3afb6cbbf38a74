//! What operators see of the runtime: every message counted once, apps by state, the hottest
//! apps, crashes one by one; and what operators may do to an app.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Wake, Waker},
};

use rookery_actors::{
    Apps, SlotState,
    observe::{
        counters::{MessageKind, MessageOutcome},
        histogram::{BOUNDS_US, Histogram},
        hot::{Measure, Window},
        lifecycle::{CountedState, CrashDecision, StopCause},
    },
};
use rookery_domain::ErrorCode;
use rookery_testkit::until;

use crate::support::{Bench, delete, expect_panics, paused};

#[test]
fn every_message_is_counted_once_by_kind_and_outcome() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        for key in ["a", "b", "c"] {
            bench.create(&app, key).await.unwrap();
        }
        app.apply_with(bench.caller.clone(), delete("a"), None, 10).await.unwrap();
        let gone = app.apply_with(bench.caller.clone(), delete("never"), None, 10).await;
        assert_eq!(gone.unwrap_err().code, ErrorCode::RowNotFound);
        // Whoever asked leaves while the commit is held up.
        bench.store.hold();
        let asked = bench.create(&app, "d");
        let left = async {
            bench.until_held().await;
        };
        tokio::select! { _ = asked => panic!("it was held"), () = left => {} }

        let totals = bench.rig.apps.totals();
        let of = |kind: MessageKind, outcome: MessageOutcome| {
            totals.all.messages[kind as usize][outcome as usize]
        };
        assert_eq!(of(MessageKind::Create, MessageOutcome::Ok), 3);
        assert_eq!(of(MessageKind::Create, MessageOutcome::Abandoned), 1);
        assert_eq!(of(MessageKind::Delete, MessageOutcome::Ok), 1);
        assert_eq!(of(MessageKind::Delete, MessageOutcome::Refused), 1);
        assert_eq!(totals.all.message_count(), 6);
        assert_eq!((totals.all.wait.count(), totals.all.handle.count()), (6, 6));
        assert_eq!(totals.all.resident_rows, 2);
        let shards: u64 = totals.shards.iter().map(|shard| shard.message_count()).sum();
        assert_eq!(shards, 6);
    });
}

/// Wakes `task`, and notes how many messages were queued then.
struct Spy {
    apps: Apps,
    queued: Mutex<Option<u64>>,
    task: Waker,
}

impl Wake for Spy {
    fn wake(self: Arc<Self>) {
        *self.queued.lock().unwrap() = Some(self.apps.totals().all.queued);
        self.task.wake_by_ref();
    }
}

#[test]
fn whoever_hears_its_answer_is_queued_no_more() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        app.root().await.unwrap();
        let mut asked = pin!(bench.create(&app, "a"));
        let mut spy: Option<Arc<Spy>> = None;
        let answer = poll_fn(|context| {
            let spy = spy.get_or_insert_with(|| {
                let (apps, task) = (bench.rig.apps.clone(), context.waker().clone());
                Arc::new(Spy { apps, queued: Mutex::default(), task })
            });
            asked.as_mut().poll(&mut Context::from_waker(&spy.clone().into()))
        });
        answer.await.unwrap();
        assert_eq!(*spy.unwrap().queued.lock().unwrap(), Some(0));
    });
}

#[test]
fn states_and_stops_follow_apps_through_their_lives() {
    expect_panics();
    paused().block_on(async {
        let bench = Bench::start().await;
        let (app, other) = (bench.app().await, bench.app().await);
        let states = || bench.rig.apps.totals().lifecycle.states;
        assert_eq!(states(), [0; 4]);
        bench.create(&app, "a").await.unwrap();
        other.root().await.unwrap();
        assert_eq!(states()[CountedState::Live as usize], 2);
        assert!(bench.rig.apps.totals().all.resident_bytes > 0);

        app.hibernate().await.unwrap();
        assert_eq!(app.state(), SlotState::Dormant);
        other.kill().await.unwrap();
        assert_eq!(other.state(), SlotState::Dormant);
        let totals = bench.rig.apps.totals();
        assert_eq!(totals.lifecycle.states, [0; 4]);
        assert_eq!(totals.lifecycle.stops[StopCause::Hibernated as usize], 1);
        assert_eq!(totals.lifecycle.stops[StopCause::Ended as usize], 1);
        assert_eq!((totals.all.resident_rows, totals.all.resident_bytes), (0, 0));
        assert_eq!((totals.lifecycle.started, totals.lifecycle.wake.count()), (2, 2));

        // Crashes until it is quarantined, each one remembered.
        let mut crashes = 0;
        while !matches!(app.state(), SlotState::Quarantined { .. }) {
            if app.root().await.is_ok() {
                let first = app.observe().incarnation;
                assert!(app.inject_panic());
                until("the next incarnation", || app.observe().incarnation != first).await;
                crashes += 1;
            } else {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
        }
        assert_eq!(states()[CountedState::Quarantined as usize], 1);
        let held = bench.rig.apps.held(10);
        assert_eq!(held.iter().map(|app| app.id()).collect::<Vec<_>>(), [app.id()]);
        let ring = bench.rig.apps.crashes(None, 1_000);
        assert_eq!(ring.len(), crashes);
        assert_eq!(ring[0].decision, CrashDecision::Quarantine);
        assert_eq!((ring[0].app, ring[0].number), (Some(app.id()), crashes as u64));
        assert_eq!(ring.last().unwrap().decision, CrashDecision::Restart);
        let older = bench.rig.apps.crashes(Some(ring[0].number), 1);
        assert_eq!(older[0].number, ring[0].number - 1);
        assert!(app.lift_quarantine());
        assert_eq!(states(), [0; 4]);
        assert!(bench.rig.apps.held(10).is_empty());
    });
}

#[test]
fn a_restart_finishes_what_is_begun_and_hands_on_what_is_queued() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let keys: Vec<String> = (0..100).map(|i| format!("k{i}")).collect();
        let first = app.root().await.map(|_| app.observe().incarnation).unwrap();
        let writes = futures::future::join_all(keys.iter().map(|key| bench.create(&app, key)));
        let (written, restarted) = tokio::join!(writes, app.restart());
        restarted.unwrap();
        assert!(written.iter().all(Result::is_ok), "nobody is refused");
        assert_ne!(app.observe().incarnation, first);
        assert_eq!(app.observe().rows, 100);
        let stops = bench.rig.apps.totals().lifecycle.stops;
        assert_eq!(stops[StopCause::Restarted as usize], 1);
        assert_eq!(bench.store.violations(), Vec::<String>::new());
    });
}

#[test]
fn the_hottest_apps_lead_their_window_and_fade_out_of_it() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let (busy, quiet) = (bench.app().await, bench.app().await);
        let _never_asked = bench.app().await;
        for key in 0..20 {
            bench.create(&busy, &format!("k{key}")).await.unwrap();
        }
        bench.create(&quiet, "k").await.unwrap();
        let _ = quiet.apply_with(bench.caller.clone(), delete("never"), None, 9_000).await;
        bench.rig.apps.tick();
        let ids = |measure, window| {
            let hot = bench.rig.apps.hot(measure, window);
            hot.iter().map(|hot| hot.app.id()).collect::<Vec<_>>()
        };
        assert_eq!(ids(Measure::Messages, Window::TenSeconds), [busy.id(), quiet.id()]);
        assert_eq!(ids(Measure::Errors, Window::Minute), [quiet.id()]);
        assert_eq!(ids(Measure::Bytes, Window::QuarterHour), [quiet.id()]);
        let rate = bench.rig.apps.hot(Measure::Messages, Window::TenSeconds)[0].rates.messages;
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        let faded = bench.rig.apps.hot(Measure::Messages, Window::TenSeconds)[0].rates.messages;
        assert!((faded / rate - (-1.0_f64).exp()).abs() < 0.01, "{faded} of {rate}");
    });
}

#[test]
fn an_app_is_watched_only_while_somebody_looks() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.create(&app, "before").await.unwrap();
        assert!(app.watch().watched.recent.is_empty(), "nobody looked then");
        bench.create(&app, "seen").await.unwrap();
        bench.rig.apps.tick();
        let view = app.watch();
        assert_eq!(view.watched.recent.len(), 1);
        assert_eq!(view.watched.recent[0].kind, MessageKind::Create);
        assert_eq!(view.watched.recent[0].outcome, MessageOutcome::Ok);
        assert_eq!(view.watched.seconds.last().unwrap().messages, 1);
        assert_eq!(view.watched.wait.count(), 1);
        assert!(view.last_wake_us.is_some());
        tokio::time::sleep(std::time::Duration::from_secs(32)).await;
        bench.rig.apps.tick();
        bench.create(&app, "unseen").await.unwrap();
        assert!(app.watch().watched.recent.is_empty(), "the watch had ended");
    });
}

#[test]
fn of_too_many_watched_apps_the_one_nobody_has_looked_at_for_longest_is_let_go() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let (looked_at, left_alone) = (bench.app().await, bench.app().await);
        for app in [&looked_at, &left_alone] {
            app.root().await.unwrap();
            drop(app.watch());
            bench.create(app, "seen").await.unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        for _ in 2..64 {
            drop(bench.app().await.watch());
        }
        drop(looked_at.watch());
        // One more than are watched at a time.
        drop(bench.app().await.watch());
        assert_eq!(looked_at.watch().watched.recent.len(), 1);
        assert!(left_alone.watch().watched.recent.is_empty(), "its watch has begun anew");
    });
}

#[test]
fn the_tree_is_read_in_pages() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let mut ids = Vec::new();
        for _ in 0..60 {
            let app = bench.app().await;
            app.root().await.unwrap();
            ids.push(app.id());
        }
        let mut seen = Vec::new();
        for size in bench.rig.apps.shard_sizes() {
            let (mut after, mut of_shard) = (0, 0);
            loop {
                let page = bench.rig.apps.shard_page(size.shard, after, 3).unwrap();
                of_shard += page.apps.len();
                seen.extend(page.apps.iter().map(|app| app.id()));
                assert!(page.apps.len() <= 3);
                let Some(next) = page.next else { break };
                after = next;
            }
            assert_eq!(of_shard, size.apps);
        }
        seen.sort();
        ids.sort();
        assert_eq!(seen, ids);
        assert!(bench.rig.apps.shard_page(1_000, 0, 3).is_none());
    });
}

#[test]
fn a_quantile_is_inside_the_bucket_it_falls_in() {
    let histogram = Histogram::default();
    assert_eq!(histogram.read().quantile_us(0.99), None);
    for _ in 0..99 {
        histogram.record(std::time::Duration::from_micros(80));
    }
    histogram.record(std::time::Duration::from_secs(3_600));
    let read = histogram.read();
    let p50 = read.quantile_us(0.5).unwrap();
    assert!((50..=100).contains(&p50), "{p50}");
    assert_eq!(read.quantile_us(1.0), BOUNDS_US.last().copied());
    assert_eq!((read.count(), read.sum_us), (100, 99 * 80 + 3_600_000_000));
}

//! Rest under load: an app that is asked to rest again and again loses nothing.

use std::time::Duration;

use rookery_actors::{SlotState, feed::FeedQuery};
use rookery_testkit::until;

use crate::support::{Bench, asleep, delete, paused};

#[test]
fn a_hammered_app_that_is_put_to_rest_all_the_time_loses_nothing() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let keys: Vec<String> = (0..960).map(|i| format!("k{i}")).collect();
        let mut incarnations = std::collections::HashSet::new();
        for (round, chunk) in keys.chunks(40).enumerate() {
            let writes = futures::future::join_all(chunk.iter().map(|key| async {
                bench.create(&app, key).await.expect("no request is lost to a rest");
                if round % 2 == 0 {
                    let reply = app.apply(bench.caller.clone(), delete(key)).await;
                    reply.expect("nor is the next one");
                }
            }));
            let rests = async {
                for _ in 0..50 {
                    app.ask_to_hibernate();
                    tokio::task::yield_now().await;
                }
            };
            tokio::join!(writes, rests);
            asleep(&app).await;
            incarnations.insert(round);
            assert!(app.peek().is_none());
        }
        let root = app.root().await.unwrap();
        assert_eq!(root.live_rows("entries"), Some(480));
        assert_eq!(root.totals.trashed, 480);
        assert!(bench.store.loads() >= incarnations.len() as u64);
        assert_eq!(bench.store.violations(), Vec::<String>::new());
        assert_eq!(bench.rig.apps.account_rows(bench.owner).await, 480);
    });
}

#[test]
fn a_follower_keeps_its_app_awake_only_while_it_waits() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 10, collection: None };
        let cursor = app.feed(&bench.caller, &now).await.unwrap().cursor;
        let poll = FeedQuery { since: Some(cursor), wait: Duration::from_secs(20), ..now };
        let polling = {
            let (app, caller) = (app.clone(), bench.caller.clone());
            tokio::spawn(async move { app.feed(&caller, &poll).await })
        };
        until("a follower", || app.observe().followers > 0).await;
        for _ in 0..20 {
            app.ask_to_hibernate();
            tokio::task::yield_now().await;
        }
        assert_eq!(app.state(), SlotState::Live);
        assert!(polling.await.unwrap().unwrap().events.is_empty());
        asleep(&app).await;
        assert_eq!(app.state(), SlotState::Dormant);
    });
}

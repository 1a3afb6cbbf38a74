//! What the apps of an account may hold together: room is free once a deletion is durable, whatever
//! becomes of commits of other apps meanwhile.

use rookery_actors::{
    AppHandle, RuntimeOptions,
    app::message::{AppOp, Op},
};
use rookery_domain::{ErrorCode, limits::Limits, principal::Caller};

use super::support::{Bench, Fate, create, delete, paused, row};

const ROWS_MAX: u64 = 2;

/// An app that holds as many rows as its account may, `a` and `b`, and another one without any, both
/// awake.
async fn full() -> (Bench, AppHandle, AppHandle) {
    let limits = Limits { max_rows_per_account: ROWS_MAX, ..Limits::default() };
    let bench = Bench::limited(RuntimeOptions::default(), limits).await;
    let (one, other) = (bench.app().await, bench.app().await);
    for key in ["a", "b"] {
        bench.create(&one, key).await.expect("room");
    }
    other.root().await.expect("it wakes");
    (bench, one, other)
}

#[test]
fn a_row_makes_room_in_other_apps_once_its_deletion_is_durable() {
    for fate in [Fate::Commit, Fate::Refuse] {
        paused().block_on(async {
            let (bench, one, other) = full().await;
            bench.store.hold();
            let deleting = one.apply(bench.caller.clone(), delete("a"));
            let (deleted, ()) = tokio::join!(deleting, async {
                bench.until_held().await;
                let refused = bench.create(&other, "c").await.expect_err("no room yet");
                assert_eq!(refused.code, ErrorCode::AccountQuotaExceeded, "{refused:?}");
                assert!(bench.store.end(fate));
            });
            let committed = fate == Fate::Commit;
            assert_eq!(deleted.is_ok(), committed, "{fate:?}");
            let counted = bench.rig.apps.account_rows(bench.owner).await;
            assert_eq!(counted, if committed { 1 } else { 2 }, "{fate:?}");
            let (created, ()) = tokio::join!(bench.create(&other, "c"), async {
                if committed {
                    bench.until_held().await;
                    assert!(bench.store.end(Fate::Commit));
                }
            });
            assert_eq!(created.is_ok(), committed, "{fate:?}");
            assert_eq!(bench.rig.apps.account_rows(bench.owner).await, 2, "{fate:?}");
        });
    }
}

#[test]
fn an_app_fills_the_room_that_it_makes_itself_at_once() {
    paused().block_on(async {
        let (bench, app, _) = full().await;
        bench.store.hold();
        let others = async {
            // The deletion is with the writer while these are decided behind it.
            bench.until_held().await;
            tokio::join!(
                app.apply(bench.caller.clone(), create("c", "{}")),
                app.apply(bench.caller.clone(), create("d", "{}")),
                async {
                    tokio::task::yield_now().await;
                    for _ in 0..2 {
                        bench.until_held().await;
                        bench.store.end(Fate::Commit);
                    }
                },
            )
        };
        let (first, (second, third, ())) =
            tokio::join!(app.apply(bench.caller.clone(), delete("a")), others);
        row(first).expect("deleted");
        row(second).expect("in its place");
        let refused = row(third).expect_err("there is no more");
        assert_eq!(refused.code, ErrorCode::AccountQuotaExceeded, "{refused:?}");
        assert_eq!(bench.rig.apps.account_rows(bench.owner).await, 2);
    });
}

#[test]
fn an_app_in_the_trash_makes_room_once_that_is_durable() {
    paused().block_on(async {
        let (bench, one, other) = full().await;
        bench.store.hold();
        let op = Op::App(AppOp::Delete);
        let (trashed, ()) = tokio::join!(one.apply(Caller::System, op), async {
            bench.until_held().await;
            let refused = bench.create(&other, "c").await.expect_err("no room yet");
            assert_eq!(refused.code, ErrorCode::AccountQuotaExceeded, "{refused:?}");
            assert!(bench.store.end(Fate::Refuse));
        });
        trashed.expect_err("not applied");
        assert_eq!(bench.rig.apps.account_rows(bench.owner).await, 2);
        let refused = bench.create(&other, "c").await.expect_err("and never any");
        assert_eq!(refused.code, ErrorCode::AccountQuotaExceeded, "{refused:?}");
    });
}

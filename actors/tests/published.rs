//! What storage tells of an app is told no sooner than its actor has published it: a commit is durable
//! a little earlier.

use rookery_actors::{
    AppHandle,
    app::message::{Idempotency, Op, Reply, RowTarget},
};
use rookery_domain::{ErrorCode, Result, idempotency::IdempotentRequest, query::PageLimit};
use rookery_testkit::until;
use tokio::task::JoinHandle;

use crate::support::{Bench, Fate, create, delete, paused};

/// A request that is sent again and again.
fn request() -> (Op, Idempotency) {
    let idempotency = Idempotency {
        request: IdempotentRequest { scope: [7; 32], body_hash: [7; 32] },
        collection: Some("entries".into()),
        location_base: "/".to_owned(),
        render: None,
    };
    (create("a", "{}"), idempotency)
}

/// That request, sent.
fn sent(app: &AppHandle, bench: &Bench) -> JoinHandle<Result<Reply>> {
    let (app, caller, (op, idempotency)) = (app.clone(), bench.caller.clone(), request());
    tokio::spawn(async move { app.apply_idempotent(caller, op, idempotency, 0).await })
}

#[test]
fn a_repeated_request_is_answered_when_everybody_reads_what_the_first_one_did() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        app.root().await.expect("it wakes");
        bench.store.hold();
        let ask = || sent(&app, &bench);
        let first = ask();
        until("it is with the writer", || bench.store.held() == 1).await;
        let tell = bench.store.commit_untold();
        let again = ask();
        turns().await;
        assert!(!again.is_finished(), "nobody reads the row yet");
        tell();
        assert!(matches!(first.await.unwrap(), Ok(Reply::Row(_))));
        let again: Result<Reply> = again.await.unwrap();
        assert!(matches!(again, Ok(Reply::Replayed(_))), "{again:?}");
        assert_eq!(app.root().await.expect("it is awake").totals.live, 1);
    });
}

#[test]
fn a_repeated_request_waits_for_no_commit_that_comes_to_nothing() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let (op, idempotency) = request();
        app.apply_idempotent(bench.caller.clone(), op, idempotency, 0).await.expect("a row");
        bench.store.hold();
        for fate in [Fate::Full, Fate::Unknown { applied: false }] {
            let other = tokio::spawn({
                let (app, caller) = (app.clone(), bench.caller.clone());
                async move { app.apply(caller, create("b", "{}")).await }
            });
            until("another is with the writer", || bench.store.held() == 1).await;
            let (op, idempotency) = request();
            let (again, caller) = (app.clone(), bench.caller.clone());
            let again =
                tokio::spawn(
                    async move { again.apply_idempotent(caller, op, idempotency, 0).await },
                );
            turns().await;
            assert!(!again.is_finished(), "it cannot know which one is with the writer");
            assert!(bench.store.end(fate));
            assert!(matches!(again.await.unwrap(), Ok(Reply::Replayed(_))), "{fate:?}");
            assert!(other.await.unwrap().is_err());
        }
    });
}

#[test]
fn a_purge_has_nobody_answer_a_repeated_request_anew() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        for key in ["a", "b"] {
            bench.create(&app, key).await.expect("a row");
        }
        bench.store.hold();
        let ask = || sent(&app, &bench);
        // The row is there already, so that this has no event.
        let first = ask();
        until("it is with the writer", || bench.store.held() == 1).await;
        let purged = tokio::spawn({
            let (app, caller) = (app.clone(), bench.caller.clone());
            let target = RowTarget { key: "b".into(), if_match: None };
            async move {
                app.apply(caller, Op::Purge { collection: "entries".into(), target }).await
            }
        });
        turns().await;
        let again = ask();
        turns().await;
        bench.store.go_on();
        assert!(bench.store.end(Fate::Commit));
        assert!(matches!(first.await.unwrap(), Ok(Reply::Row(_))));
        assert!(purged.await.unwrap().is_ok());
        let again: Result<Reply> = again.await.unwrap();
        assert!(matches!(again, Ok(Reply::Replayed(_))), "{again:?}");
    });
}

#[test]
fn the_trash_shows_no_row_that_others_still_read() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.create(&app, "a").await.expect("a row");
        bench.store.hold();
        let gone = tokio::spawn({
            let (app, caller) = (app.clone(), bench.caller.clone());
            async move { app.apply(caller, delete("a")).await }
        });
        until("it is with the writer", || bench.store.held() == 1).await;
        let tell = bench.store.commit_untold();
        let trash = tokio::spawn({
            let (app, caller) = (app.clone(), bench.caller.clone());
            async move { app.deleted_rows(&caller, "entries", PageLimit::default(), None).await }
        });
        turns().await;
        assert!(!trash.is_finished(), "the row is still live to everybody");
        tell();
        assert!(trash.await.unwrap().expect("a page").contains(r#""key":"a""#));
        gone.await.unwrap().expect("it is deleted");
    });
}

#[test]
fn a_row_that_leaves_the_trash_is_found_at_any_moment() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.create(&app, "a").await.expect("a row");
        app.apply(bench.caller.clone(), delete("a")).await.expect("it is deleted");
        bench.store.hold();
        let back = tokio::spawn({
            let (app, caller) = (app.clone(), bench.caller.clone());
            async move { app.restore_row(&caller, "entries", "a").await }
        });
        until("it is with the writer", || bench.store.held() == 1).await;
        let tell = bench.store.commit_untold();
        let look = |key: &'static str| {
            let (app, caller) = (app.clone(), bench.caller.clone());
            tokio::spawn(async move { app.row(&caller, "entries", key, true).await })
        };
        let (found, never) = (look("a"), look("b"));
        turns().await;
        assert!(!found.is_finished(), "it is in the trash no more, and not back yet");
        tell();
        assert_eq!(found.await.unwrap().expect("it was always there").deleted_at, None);
        assert_eq!(never.await.unwrap().unwrap_err().code, ErrorCode::RowNotFound);
        back.await.unwrap().expect("it is restored");
    });
}

/// Lets everybody else go on until they wait.
async fn turns() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

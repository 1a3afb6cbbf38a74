//! The real writer, made to fail at each step of a commit: nobody is told of a success that is
//! not durable, no event is heard of that is not, and what is served afterwards is what is stored.

use std::time::Duration;

use rookery_actors::{WorkerKind, app::message::Reply, feed::FeedQuery};
use rookery_domain::ErrorCode;
use rookery_storage::faults::{Fault, Faults, Point};

use crate::support::{create, real::House};

/// Breaks one commit there; what was told, heard and stored agree.
async fn broken_at(point: Point, fault: Fault) {
    let faults = Faults::listed([(point, 2, fault)]);
    let house = House::open(faults).await;
    let app = house.app("notes").await;
    house.create(&app, "before").await.expect("the first commit is sound");
    let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 100, collection: None };
    let cursor = app.feed(&house.caller, &now).await.unwrap().cursor;
    let told = house.create(&app, "broken").await;
    let since = FeedQuery { since: Some(cursor), ..now };
    if (point, fault) == (Point::AtCommit, Fault::Lose) {
        // On one file, a commit that may or may not be there can only be told by a new process. Nobody
        // reads meanwhile what that one may find otherwise.
        let error = told.expect_err("nobody knows");
        assert_eq!(error.details.as_ref().unwrap()["outcome"], "unknown");
        let refused = app.feed(&house.caller, &since).await.expect_err("nor does whoever asks");
        assert_eq!(refused.code, ErrorCode::Unavailable);
        house.runtime.broken().await;
        return house.close().await;
    }
    let heard = app.feed(&house.caller, &since).await.expect("the feed answers");
    let stored = house.stored_keys(app.id()).await;
    let is_stored = stored.iter().any(|key| key == "broken");
    match &told {
        Ok(_) => assert!(is_stored, "{point:?} {fault:?}: told and not there"),
        Err(error) if error.code == ErrorCode::Unavailable => {
            assert!(!is_stored, "{point:?} {fault:?}: refused and there");
        }
        Err(error) => {
            assert_eq!(error.code, ErrorCode::Internal);
            assert_eq!(error.details.as_ref().unwrap()["outcome"], "unknown");
        }
    }
    assert_eq!(!heard.events.is_empty(), is_stored, "{point:?} {fault:?}: heard and not there");
    // Whatever happened, the app goes on from what is stored.
    let after = house.create(&app, "after").await;
    assert!(after.is_ok(), "{point:?} {fault:?}: {told:?}, then {after:?}");
    let root = app.root().await.unwrap();
    let stored = house.stored_keys(app.id()).await;
    assert_eq!(root.live_rows("entries"), Some(stored.len() as u64));
    assert_eq!(house.account_rows().await, stored.len() as u64, "{point:?} {fault:?}");
    house.close().await;
}

async fn at_each_point(fault: Fault) {
    for point in Point::ALL {
        // Points that this group does not pass do not break it.
        broken_at(point, fault).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_statement_is_never_a_success() {
    at_each_point(Fault::Refuse).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_never_a_success() {
    at_each_point(Fault::Full).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_never_a_success() {
    at_each_point(Fault::Lose).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_panics_is_restarted_and_told_no_success() {
    at_each_point(Fault::Panic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_fsync_says_that_the_process_must_end() {
    let house = House::open(Faults::listed([(Point::AtCommit, 2, Fault::Fsync)])).await;
    let app = house.app("notes").await;
    house.create(&app, "before").await.expect("the first commit is sound");
    assert!(!house.runtime.is_broken());
    let told = house.create(&app, "broken").await.expect_err("it is not durable");
    assert_eq!(told.code, ErrorCode::Internal);
    tokio::time::timeout(Duration::from_secs(10), house.runtime.broken())
        .await
        .expect("the server is told");
    house.runtime.workers().run(WorkerKind::Writer).await.expect("another look changes nothing");
    assert!(house.runtime.is_broken());
    assert!(house.create(&app, "late").await.is_err());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_one_commit_and_one_root() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    let answers = futures::future::join_all((0..100).map(|i| {
        let (app, caller) = (app.clone(), house.caller.clone());
        let op = create(&format!("k{i}"), "{}");
        async move { app.apply(caller, op).await }
    }));
    for answer in answers.await {
        assert!(matches!(answer, Ok(Reply::Row(_))), "{answer:?}");
    }
    assert_eq!(house.stored_keys(app.id()).await.len(), 100);
    assert_eq!(app.root().await.unwrap().totals.live, 100);
    house.close().await;
}

//! Shutdown: what was admitted is finished, what comes later is refused, and polls end.

use std::time::Duration;

use rookery_actors::feed::FeedQuery;
use rookery_domain::ErrorCode;
use rookery_storage::faults::Faults;
use rookery_testkit::until;

use crate::support::real::House;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admitted_requests_are_answered_and_durable_before_the_tree_stops() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    let keys: Vec<String> = (0..100).map(|i| format!("k{i}")).collect();
    let mut admitted: Vec<_> = keys.iter().map(|key| Box::pin(house.create(&app, key))).collect();
    // Each has its permits once it was polled.
    for request in &mut admitted {
        assert!(futures::poll!(request.as_mut()).is_pending());
    }
    let (answers, ()) = tokio::join!(futures::future::join_all(admitted), house.runtime.stop());
    for answer in answers {
        answer.expect("it was admitted");
    }
    assert_eq!(house.stored_keys(app.id()).await.len(), 100);
    let late = house.create(&app, "late").await.expect_err("the service is shutting down");
    assert_eq!(late.code, ErrorCode::Unavailable);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_polls_end_empty_and_new_ones_are_refused() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    let now = FeedQuery { since: None, wait: Duration::ZERO, limit: 10, collection: None };
    let cursor = app.feed(&house.caller, &now).await.unwrap().cursor;
    let poll = FeedQuery { since: Some(cursor), wait: Duration::from_secs(50), ..now };
    let polling = {
        let (app, caller, poll) = (app.clone(), house.caller.clone(), poll.clone());
        tokio::spawn(async move { app.feed(&caller, &poll).await })
    };
    until("a follower", || app.observe().followers > 0).await;
    house.runtime.end_polls();
    let ended = tokio::time::timeout(Duration::from_secs(10), polling).await.expect("it ends");
    assert!(ended.unwrap().unwrap().events.is_empty());
    let refused = app.feed(&house.caller, &poll).await.expect_err("no new poll waits");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    house.close().await;
}

//! `/ready` means it: only while a commit can be made.

use reqwest::Method;
use rookery_domain::ErrorCode;
use rookery_storage::{
    faults::{Fault, Faults, Point},
    meta,
};
use rookery_testkit::until_async;
use serde_json::json;

use crate::{
    harness::{Answer, TestServer, apps::guestbook},
    outage::Log,
};

#[tokio::test]
async fn what_is_of_the_moment_is_kept_by_no_cache() {
    let server = TestServer::start().await;
    for path in ["/alive", "/ready"] {
        assert_eq!(server.get(path).await.header("cache-control"), "no-store", "{path}");
    }
    for path in ["/alive", "/ready", "/metrics", "/ops/api/overview"] {
        let answer = Answer::of(server.ops(Method::GET, path)).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, "no-store"), "{path}");
    }
}

#[tokio::test]
async fn a_failed_fsync_ends_readiness_on_both_listeners_and_acknowledges_nothing() {
    // The third commit through the writer finds the disk broken.
    let faults = Faults::listed([(Point::AtCommit, 3, Fault::Fsync)]);
    let server = TestServer::builder().on_sqlite().with_faults(faults.clone()).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    assert_eq!(server.get("/ready").await.status, 200);
    let mut refused = None;
    for n in 0..4 {
        let path = app.path("/collections/entries");
        let body = json!({"key": format!("k{n}"), "data": {"n": n}});
        let answer = server.send(Method::POST, &owner, &path, &body).await;
        if answer.status != 201 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a commit hit the fault");
    assert!(refused.status >= 500, "{}", refused.text);
    assert_eq!(faults.fired(), 1);
    server.state().rooms.runtime.broken().await;
    server.get("/ready").await.error(ErrorCode::Unavailable);
    let on_ops = Answer::of(server.ops(Method::GET, "/ready")).await;
    let error = on_ops.error(ErrorCode::Unavailable);
    assert!(error["message"].as_str().unwrap().contains("broken"), "{error}");
    assert_eq!(server.get("/alive").await.status, 200, "the process answers all the same");
}

#[tokio::test]
async fn a_full_disk_ends_readiness_until_space_returns_though_nobody_writes() {
    let full = |point, first, last| (first..=last).map(move |nth| (point, nth, Fault::Full));
    let faults = full(Point::AtCommit, 3, 3).chain(full(Point::AtCheckpoint, 1, 2));
    let faults = Faults::listed(faults);
    let log = Log::default();
    let _guards = log.listen(tracing::Level::INFO);
    let server = TestServer::builder().on_sqlite().with_faults(faults).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let path = app.path("/collections/entries");
    let mut refused = false;
    for n in 0..4 {
        let body = json!({"key": format!("k{n}"), "data": {"n": n}});
        refused = server.send(Method::POST, &owner, &path, &body).await.status == 503;
        if refused {
            break;
        }
    }
    assert!(refused, "a commit hit the fault");
    let ready = async || server.get("/ready").await;
    until_async("the lane's look at the disk", async || ready().await.status == 503).await;
    let error = ready().await;
    let message = error.error(ErrorCode::Unavailable)["message"].clone();
    assert!(message.as_str().unwrap().contains("no space"), "{message}");
    until_async("the next look at the disk", async || ready().await.status == 200).await;
    let told = || log.said_by("rookery::ops::readiness");
    // The line of the way back comes no sooner than a second after the other one.
    until_async("the line of the way back", async || {
        ready().await;
        told().len() > 1
    })
    .await;
    let told = told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((&told[0]["level"], &told[0]["message"]), (&json!("WARN"), &json!("not ready")));
    assert!(told[0]["error"].as_str().unwrap().contains("no space"), "{told:?}");
    assert_eq!((&told[1]["level"], &told[1]["message"]), (&json!("INFO"), &json!("ready again")));
}

#[tokio::test]
async fn an_idle_server_proves_its_readiness_with_a_commit_of_its_own() {
    let server = TestServer::start().await;
    for _ in 0..3 {
        server.until_ready().await;
    }
    let db = &server.state().rooms.db;
    assert!(meta::get(db, "readiness").await.unwrap().is_some(), "a commit was tried");
}

#[tokio::test]
async fn a_draining_server_says_that_it_is_not_ready_until_its_last_request_is_answered() {
    let server = TestServer::start().await;
    let ready = format!("http://{}/ready", server.ops_address());
    let client = reqwest::Client::new();
    Answer::of(client.get(&ready)).await.expect(200);
    // A request whose body is still to come: the server waits for it.
    let mut slow = server.raw().await;
    let head = "POST /v1/register HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
        content-type: application/json\r\ncontent-length: 16\r\n\r\n";
    slow.send(head).await;
    slow.read_until("100 Continue\r\n\r\n").await;
    let stopping = tokio::spawn(server.stop());
    let refused = loop {
        let answer = Answer::of(client.get(&ready)).await;
        if answer.status != 200 {
            break answer;
        }
    };
    let error = refused.error(ErrorCode::Unavailable);
    assert!(error["message"].as_str().unwrap().contains("draining"), "{error}");
    slow.send(r#"{"name": "late"}"#).await;
    let answer = slow.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 "), "it was answered: {answer}");
    stopping.await.unwrap();
    assert!(client.get(&ready).send().await.is_err(), "nobody listens any more");
}

//! The figures: overview, hot apps, tree, one app.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner, guestbook},
};

async fn look(server: &TestServer, path: &str) -> Value {
    Answer::of(server.ops(Method::GET, path)).await.expect(200)
}

async fn write(server: &TestServer, owner: &Owner, app: &App, rows: u32) {
    for n in 0..rows {
        let path = app.path("/collections/entries");
        let body = json!({"key": format!("k{n}"), "data": {"n": n}});
        server.send(Method::POST, owner, &path, &body).await.expect(201);
    }
}

#[tokio::test]
async fn the_overview_tells_apps_messages_commits_and_memory() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    server.deploy(&owner, json!({"manifest": guestbook()})).await;
    write(&server, &owner, &app, 5).await;
    let state = server.state();
    state.ops.count_stored(state).await;
    state.ops.tick(state);
    let seen = look(&server, "/ops/api/overview").await;
    assert_eq!(seen["apps"]["live"], 1);
    assert_eq!(seen["apps"]["dormant"], 1);
    assert!(seen["messages"]["total"].as_u64().unwrap() >= 5);
    assert_eq!(seen["memory"]["resident_rows"], 5);
    assert!(seen["memory"]["resident_bytes"].as_u64().unwrap() > 0);
    assert!(seen["memory"]["process_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(seen["writer"]["ok"], true);
    assert_eq!(seen["draining"], false);
    let seconds = seen["seconds"].as_array().unwrap();
    assert!((1..=60).contains(&seconds.len()));
}

#[tokio::test]
async fn the_hottest_app_leads_by_each_measure() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let busy = server.deploy(&owner, json!({"slug": "busy-app", "manifest": guestbook()})).await;
    let quiet = server.deploy(&owner, json!({"slug": "quiet-app", "manifest": guestbook()})).await;
    write(&server, &owner, &busy, 8).await;
    write(&server, &owner, &quiet, 1).await;
    let gone = quiet.path("/collections/entries/none");
    server.send(Method::DELETE, &owner, &gone, &json!({})).await.error(ErrorCode::RowNotFound);
    let state = server.state();
    state.ops.tick(state);
    let hot = look(&server, "/ops/api/hot").await;
    assert_eq!(hot["items"][0]["slug"], "busy-app");
    assert_eq!(hot["items"][1]["slug"], "quiet-app");
    let hot = look(&server, "/ops/api/hot?by=errors&window=15m").await;
    assert_eq!(hot["items"].as_array().unwrap().len(), 1);
    assert_eq!(hot["items"][0]["id"], quiet.id);
    for wrong in ["by=luck", "window=1y", "limit=5"] {
        let path = format!("/ops/api/hot?{wrong}");
        Answer::of(server.ops(Method::GET, &path)).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn the_tree_lists_each_live_app_under_one_shard() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
        write(&server, &owner, &app, 1).await;
        ids.push(app.id);
    }
    let tree = look(&server, "/ops/api/tree").await;
    assert_eq!((&tree["writer"]["ok"], &tree["directory"]["ok"]), (&json!(true), &json!(true)));
    assert!(tree["workers"].as_array().unwrap().iter().any(|w| w["kind"] == "hibernation"));
    assert_eq!(tree["apps"], json!([]));
    let mut seen = Vec::new();
    for shard in tree["shards"].as_array().unwrap() {
        let mut after = 0;
        loop {
            let path = format!("/ops/api/tree?limit=1&shard={}&after={after}", shard["shard"]);
            let page = look(&server, &path).await;
            let apps = page["apps"].as_array().unwrap();
            seen.extend(apps.iter().map(|app| app["id"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_u64() else { break };
            after = next;
        }
    }
    seen.sort();
    ids.sort();
    assert_eq!(seen, ids);
    let unknown = server.ops(Method::GET, "/ops/api/tree?shard=99");
    Answer::of(unknown).await.error(ErrorCode::NotFound);
}

#[tokio::test]
async fn one_app_is_seen_message_by_message_from_the_first_look_on_and_looking_wakes_nothing() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "watched", "manifest": guestbook()})).await;
    let path = "/ops/api/apps/watched";
    let seen = look(&server, path).await;
    assert_eq!((&seen["state"], &seen["recent"]), (&json!("dormant"), &json!([])));
    write(&server, &owner, &app, 2).await;
    let state = server.state();
    state.ops.tick(state);
    let seen = look(&server, path).await;
    assert_eq!(seen["state"], "live");
    assert_eq!(seen["rows"], 2);
    assert!(seen["last_wake_seconds"].as_f64().unwrap() > 0.0);
    let kinds: Vec<_> = seen["recent"].as_array().unwrap().iter().map(|m| &m["kind"]).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "create").count(), 2);
    assert!(!seen.to_string().contains("\"data\""), "no content is in it");
    assert!(seen["wait"]["count"].as_u64().unwrap() >= 2);
    assert!(!seen["seconds"].as_array().unwrap().is_empty());
    let unknown = server.ops(Method::GET, "/ops/api/apps/no-such-app");
    Answer::of(unknown).await.error_of_its_own(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn a_tick_does_not_wait_for_the_database() {
    let server = TestServer::start().await;
    let state = server.state();
    let mut ticks = state.ops.ticks();
    ticks.borrow_and_update();
    // Polled once: nothing of storage has had the time to answer.
    let mut clock = std::pin::pin!(rookery::ops::run(state));
    assert!(futures::poll!(clock.as_mut()).is_pending());
    assert!(ticks.has_changed().unwrap());
}

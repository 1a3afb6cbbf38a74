//! The pages for operators: whole without their script, strict, and kept current by a stream of
//! what changes.

use reqwest::{Method, Response};
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, apps::guestbook};

const PAGES: [&str; 6] =
    ["/ops", "/ops/tree", "/ops/tree?shard=0", "/ops/hot", "/ops/restarts", "/ops/apps/shown"];

#[tokio::test]
async fn every_page_is_whole_and_strict() {
    let server = TestServer::builder().set("ROOKERY__OPS__ACTIONS", "true").start().await;
    let owner = server.owner("ann").await;
    server.deploy(&owner, json!({"slug": "shown", "manifest": guestbook()})).await;
    let state = server.state();
    state.ops.tick(state);
    for path in PAGES {
        let page = Answer::of(server.ops(Method::GET, path)).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("cache-control"), "no-store");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for forbidden in ["<script>", " style=", " onclick=", "https://"] {
            assert!(!page.text.contains(forbidden), "{path}: {forbidden}");
        }
        assert!(page.text.contains("name=\"viewport\"") && page.text.contains("data-live="));
        // A table beside each chart.
        let count = |what: &str| page.text.matches(what).count();
        assert_eq!(count("<svg"), count("<details><summary>Table"), "{path}");
    }
    let tree = Answer::of(server.ops(Method::GET, "/ops/tree")).await;
    assert!(
        tree.text.contains("role=\"treegrid\"") && tree.text.contains("aria-expanded=\"false\"")
    );
    // A table that is a treegrid gives its rows and cells their roles.
    for given in ["role=\"row\"", "role=\"gridcell\"", "role=\"columnheader\""] {
        assert!(!tree.text.contains(given), "{given}");
    }
    for (path, kind) in [("console.js", "text/javascript"), ("console.css", "text/css")] {
        let asset = Answer::of(server.ops(Method::GET, &format!("/ops/{path}"))).await;
        assert!(asset.header("content-type").starts_with(kind));
    }
    let form = Answer::of(server.ops(Method::GET, "/ops/apps/shown")).await;
    assert!(form.text.contains("<form class=\"act\""));
    let unknown = server.ops(Method::GET, "/ops/apps/no-such-app");
    Answer::of(unknown).await.error_of_its_own(ErrorCode::AppNotFound);
    for (path, status) in [
        ("/ops/apps/no-such-app", 404),
        ("/ops/tree?shard=4096", 404),
        ("/ops/nothing", 404),
        ("/nothing", 404),
        ("/ops/hot?bye=messages", 400),
        ("/ops/tree?shard=first", 400),
    ] {
        let unknown = server.ops(Method::GET, path).header("accept", "text/html");
        let unknown = Answer::of(unknown).await;
        assert_eq!(unknown.status, status, "{path}");
        assert_eq!(unknown.header("content-type"), "text/html; charset=utf-8", "{path}");
        assert!(unknown.text.contains("href=\"/ops\""), "no way back: {path}: {}", unknown.text);
    }
    let unknown = server.ops(Method::GET, "/ops/api/nothing").header("accept", "text/html");
    Answer::of(unknown).await.error(ErrorCode::NotFound);
    let misspelt = server.ops(Method::GET, "/ops/hot?bye=messages");
    Answer::of(misspelt).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn actions_are_offered_only_where_they_are_switched_on() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    server.deploy(&owner, json!({"slug": "shown", "manifest": guestbook()})).await;
    let page = Answer::of(server.ops(Method::GET, "/ops/apps/shown")).await;
    assert!(!page.text.contains("<form"));
}

/// The next event of a stream.
async fn event(stream: &mut Response, rest: &mut String) -> Value {
    loop {
        if let Some((event, after)) = rest.split_once("\n\n") {
            let data = event.strip_prefix("data: ").map(|data| serde_json::from_str(data).unwrap());
            *rest = after.to_owned();
            match data {
                Some(data) => return data,
                None => continue,
            }
        }
        let chunk = stream.chunk().await.unwrap().expect("the stream goes on");
        rest.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

#[tokio::test]
async fn an_open_page_hears_first_everything_and_then_only_what_changed() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "shown", "manifest": guestbook()})).await;
    let mut stream = server.ops(Method::GET, "/ops/live?view=hot").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut rest = String::new();
    let all = event(&mut stream, &mut rest).await;
    assert_eq!(all.as_object().unwrap().len(), 50 * 12, "every place of the grid");
    assert_eq!(all["0.0.level"], "0", "nobody is hot");

    let path = app.path("/collections/entries");
    let body = json!({"key": "k", "data": {}});
    server.send(Method::POST, &owner, &path, &body).await.expect(201);
    let changed = loop {
        let changed = event(&mut stream, &mut rest).await;
        if changed.get("0.0.0").is_some() {
            break changed;
        }
    };
    assert_eq!(changed["0.0.0"], "shown");
    assert_eq!(changed["0.0.href"], format!("/ops/apps/{}", app.id));
    assert!(changed.as_object().unwrap().len() <= 12, "one row changed: {changed}");
    let wrong = server.ops(Method::GET, "/ops/live?view=app&id=no-such-app");
    Answer::of(wrong).await.error_of_its_own(ErrorCode::AppNotFound);
}

//! The operators' pages in a real browser, on a real server: `tests/browser/ops.mjs` drives it.

use std::{path::Path, process::Command};

use reqwest::Method;
use rookery_testkit::{not_run, until};
use serde_json::json;

use crate::{
    harness::{TestServer, apps::guestbook},
    visitors::browser::missing_package,
};

#[tokio::test]
async fn operators_work_by_keyboard_in_light_and_dark_on_any_screen() {
    if let Some(package) = missing_package() {
        not_run("tests/ops/browser.rs", package);
        return;
    }
    let server = TestServer::builder().set("ROOKERY__OPS__ACTIONS", "true").start().await;
    let owner = server.owner("ann").await;
    for (slug, rows) in [("busy-app", 9), ("second-app", 5), ("crashing-app", 2)] {
        let app = server.deploy(&owner, json!({"slug": slug, "manifest": guestbook()})).await;
        for n in 0..rows {
            let body = json!({"key": format!("k{n}"), "data": {"n": n}});
            let path = app.path("/collections/entries");
            server.send(Method::POST, &owner, &path, &body).await.expect(201);
        }
    }
    let handle = server.state().rooms.apps().find("crashing-app").await.unwrap();
    // The third crash in a row holds the app back, which the page of restarts shows.
    for _ in 0..3 {
        handle.root().await.unwrap();
        let before = handle.observe().crashes;
        assert!(handle.inject_panic());
        until("a crash", || handle.observe().crashes != before).await;
    }
    let state = server.state();
    state.ops.count_stored(state).await;
    state.ops.tick(state);
    let ops = format!("http://{}", server.ops_address());
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run");
    let mut browser = Command::new(run);
    browser.args(["--live", &ops, "ops.mjs"]).env("OPS_URL", &ops);
    // The server runs on this test's own thread, which must stay free for it.
    let ran = tokio::task::spawn_blocking(move || browser.output());
    let ran = ran.await.expect("the runner runs").expect("the runner starts");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}\n{}", String::from_utf8_lossy(&ran.stderr));
}

//! The memory budget, seen from outside: apps leave memory when all of them hold too much, and are
//! back whole when somebody asks.

use std::time::Duration;

use reqwest::Method;
use rookery_actors::WorkerKind;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner, guestbook},
};

/// How long it may take until an app counts as unused: a second, on a machine that is not busy.
const PATIENCE: Duration = Duration::from_secs(60);

async fn status(server: &TestServer, owner: &Owner, app: &App) -> Value {
    server.get_as(owner, &app.path("")).await.expect(200)["status"].clone()
}

#[tokio::test]
async fn apps_beyond_the_memory_budget_hibernate_and_come_back_whole() {
    let builder = TestServer::builder().set("ROOKERY__APPS__MEMORY_BUDGET_BYTES", "1000000");
    let server = builder.start().await;
    let owner = server.owner("ann").await;
    let mut apps = Vec::new();
    for _ in 0..2 {
        let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
        let rows = vec![json!({"data": {"text": "x".repeat(60_000)}}); 16];
        let path = app.path("/collections/entries/batch");
        let written = server.send(Method::POST, &owner, &path, &json!({"rows": rows})).await;
        written.expect(200);
        apps.push(app);
    }
    // Both do not fit: the one that was used first goes. Describing an app does not use it.
    let gone = async {
        while status(&server, &owner, &apps[0]).await != "dormant" {
            let workers = &server.state().rooms.runtime.workers();
            workers.run(WorkerKind::Hibernation).await.expect("the worker answers");
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("an app hibernates");
    let count = server.get_as(&owner, &apps[0].path("/collections/entries/count")).await;
    assert_eq!(count.expect(200)["count"], 16);
    let woken = Answer::of(server.call(Method::POST, &apps[0].path("/wake"), &owner)).await;
    assert_eq!(woken.expect(200)["status"], "live");
}

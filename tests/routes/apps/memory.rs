//! The memory budget, seen from outside: apps leave memory when all of them hold too much, and are
//! back whole when somebody asks.

use std::time::Duration;

use reqwest::Method;
use rookery_actors::WorkerKind;
use serde_json::{Map, Value, json};

use super::versions::redeploy;
use crate::harness::{
    Answer, Builder, TestServer,
    apps::{App, Owner, guestbook},
};

/// How long it may take until an app counts as unused: a second, on a machine that is not busy.
const PATIENCE: Duration = Duration::from_secs(60);

async fn status(server: &TestServer, owner: &Owner, app: &App) -> Value {
    server.get_as(owner, &app.path("")).await.expect(200)["status"].clone()
}

/// Room for one app of these tests, and not for two.
fn with_room_for_one() -> Builder {
    TestServer::builder().set("ROOKERY__APPS__MEMORY_BUDGET_BYTES", "1000000")
}

/// Waits until `app` hibernates. Describing an app does not use it.
async fn hibernates(server: &TestServer, owner: &Owner, app: &App) {
    let gone = async {
        while status(server, owner, app).await != "dormant" {
            let workers = &server.state().rooms.runtime.workers();
            workers.run(WorkerKind::Hibernation).await.expect("the worker answers");
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("an app hibernates");
}

#[tokio::test]
async fn apps_beyond_the_memory_budget_hibernate_and_come_back_whole() {
    let server = with_room_for_one().start().await;
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
    // Both do not fit: the one that was used first goes.
    hibernates(&server, &owner, &apps[0]).await;
    let count = server.get_as(&owner, &apps[0].path("/collections/entries/count")).await;
    assert_eq!(count.expect(200)["count"], 16);
    let woken = Answer::of(server.call(Method::POST, &apps[0].path("/wake"), &owner)).await;
    assert_eq!(woken.expect(200)["status"], "live");
}

/// A guestbook whose compiled schema takes more than half of the budget.
fn with_patterns(word: &str) -> Value {
    let pattern = |n| json!({"type": "string", "maxLength": 9, "pattern": format!("^{word}{n}")});
    let properties: Map<_, _> = (0..20).map(|n| (format!("f{n}"), pattern(n))).collect();
    let mut manifest = guestbook();
    manifest["$defs"] = json!({"Entry": {"type": "object", "properties": properties}});
    manifest["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
    manifest
}

#[tokio::test]
async fn compiled_schemas_count_towards_the_memory_budget() {
    let server = with_room_for_one().start().await;
    let owner = server.owner("ann").await;
    // One gets its schema while it is live, the other has it when it wakes.
    let deployed = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let woken = server.deploy(&owner, json!({"manifest": with_patterns("b")})).await;
    for app in [&deployed, &woken] {
        server.get_as(&owner, &app.path("/collections/entries")).await.expect(200);
    }
    redeploy(&server, &owner, &deployed, json!({"manifest": with_patterns("a")})).await.expect(201);
    server.get_as(&owner, &woken.path("/collections/entries")).await.expect(200);
    hibernates(&server, &owner, &deployed).await;
    assert_eq!(status(&server, &owner, &woken).await, "live");
}

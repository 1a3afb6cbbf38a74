//! Advisories: exposed collections of all apps with evidence from the real rows, worst first.

use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, apps::open_collection};

fn readable() -> Value {
    json!({"permissions": {"read": ["anyone"], "write": ["owner"], "delete": ["owner"]}})
}

fn closed() -> Value {
    json!({"permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"]}})
}

#[tokio::test]
async fn exposed_collections_come_worst_first_with_evidence_and_wake_nothing() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    let people: Vec<Value> = (0..3)
        .map(|n| json!({"data": {"contact": format!("person{n}@example.org"), "n": n}}))
        .collect();
    let contacts = server
        .deploy(
            &ann,
            json!({"visibility": "public",
        "manifest": {"collections": {"people": readable(), "secrets": closed()}},
        "input_data": {"people": people, "secrets": [{"data": {"a": 1}}]}}),
        )
        .await;
    let harmless = server
        .deploy(
            &ann,
            json!({"visibility": "public",
        "manifest": {"collections": {"posts": readable()}},
        "input_data": {"posts": [{"data": {"title": "hello"}}]}}),
        )
        .await;
    server.deploy(&ann, json!({"manifest": {"collections": {"own": closed()}}})).await;
    server
        .deploy(
            &bob,
            json!({"visibility": "public",
        "manifest": {"collections": {"open": open_collection()}}}),
        )
        .await;

    let report = server.get_as(&ann, "/v1/apps/advisories").await.expect(200);
    let items = report["items"].as_array().unwrap();
    let what: Vec<_> = items.iter().map(|item| (&item["app"]["id"], &item["collection"])).collect();
    assert_eq!(
        what,
        [(&json!(contacts.id), &json!("people")), (&json!(harmless.id), &json!("posts")),]
    );
    let worst = &items[0];
    assert_eq!((&worst["severity"], &worst["exposure"]), (&json!("high"), &json!("read")));
    assert_eq!((&worst["rows"], &worst["sampled"]), (&json!(3), &json!(3)));
    assert_eq!(worst["subjects"], json!(["anyone"]));
    let message = worst["message"].as_str().unwrap();
    assert!(message.contains("can read 3 rows"), "{message}");
    assert!(message.contains("1 field looks like"), "{message}");
    assert!(!report.to_string().contains("person0@"), "the report quotes no row");
    let shown = server.get_as(&ann, &contacts.path("")).await.expect(200);
    assert_eq!(shown["status"], "dormant", "nothing was woken");

    let page = server.get_as(&ann, "/v1/apps/advisories?limit=1").await.expect(200);
    assert_eq!(page["items"], json!([items[0]]));
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest =
        server.get_as(&ann, &format!("/v1/apps/advisories?cursor={cursor}")).await.expect(200);
    assert_eq!((&rest["items"], &rest["next_cursor"]), (&json!([items[1]]), &Value::Null));
    let foreign = server.get_as(&bob, &format!("/v1/apps/advisories?cursor={cursor}")).await;
    foreign.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_live_app_is_judged_by_its_newest_rows() {
    let server = TestServer::start().await;
    let ann = server.owner("ann").await;
    let app = server
        .deploy(
            &ann,
            json!({"visibility": "public",
        "manifest": {"collections": {"people": readable()}}}),
        )
        .await;
    let rows = |report: Value| report["items"][0]["rows"].clone();
    let first = server.get_as(&ann, "/v1/apps/advisories").await.expect(200);
    assert_eq!(rows(first), 0);
    let handle = server.state().rooms.apps().find(&app.id).await.unwrap();
    let op = rookery_actors::app::message::Op::Create {
        collection: "people".into(),
        item: rookery_actors::app::message::NewRow {
            key: None,
            data: rookery_domain::json::Object::parse(r#"{"mail": "a@example.org"}"#).unwrap(),
        },
        challenge: None,
    };
    let caller = rookery_domain::principal::Caller::human(ann.human);
    handle.apply(caller, op).await.unwrap();
    let second = server.get_as(&ann, "/v1/apps/advisories").await.expect(200);
    assert_eq!(rows(second), 1);
}

#[tokio::test]
async fn an_app_that_nobody_reaches_any_more_exposes_nothing() {
    let server = TestServer::start().await;
    let ann = server.owner("ann").await;
    let open = json!({"visibility": "public",
        "manifest": {"collections": {"open": open_collection()}}});
    let app = server.deploy(&ann, open).await;
    let exposed = async || {
        let report = server.get_as(&ann, "/v1/apps/advisories").await.expect(200);
        report["items"].as_array().expect("items").len()
    };
    assert!(exposed().await > 0);
    let close = server.close_app(&app.id);
    Answer::of(close).await.expect(200);
    assert_eq!(exposed().await, 0);
}

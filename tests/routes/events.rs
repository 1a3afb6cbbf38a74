//! Custom events: declared, checked, in the feed.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, STRANGER};
use crate::harness::{Answer, redact};

async fn send(rows: &Rows, who: &str, body: Value) -> Answer {
    let path = format!("/v1/apps/{}/events", rows.app);
    Answer::of(rows.server.request(Method::POST, &path).bearer_auth(rows.key(who)).json(&body))
        .await
}

#[tokio::test]
async fn an_event_is_201_and_in_the_feed() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    let sent = send(&rows, OWNER, json!({"type": "ping", "data": {"n": 1}})).await.expect(201);
    let seq = sent["seq"].clone();
    let expected = json!({"seq": seq, "type": "event.ping", "at": "[time]",
        "by": {"kind": "agent", "id": "[agt]"}, "data": {"n": 1}});
    assert_eq!(redact(sent.clone()), expected);
    let events = rows.events(&since).await;
    assert_eq!(events.len(), 1);
    for member in ["seq", "type", "at", "by", "data"] {
        assert_eq!(events[0][member], sent[member]);
    }
}

#[tokio::test]
async fn an_event_is_refused_by_its_shape_its_type_and_its_schema() {
    let rows = Rows::start().await;
    let large = "x".repeat(16 << 10);
    for (body, code) in [
        (json!({"type": "none", "data": {}}), ErrorCode::UnknownEventType),
        (json!({"type": "event.ping", "data": {"n": 1}}), ErrorCode::UnknownEventType),
        (json!({"type": "ping", "data": {"n": "x"}}), ErrorCode::SchemaViolation),
        (json!({"type": "ping", "data": 1}), ErrorCode::InvalidRequest),
        (json!({"type": "ping"}), ErrorCode::InvalidRequest),
        (json!({"type": "ping", "data": {}, "extra": 1}), ErrorCode::InvalidRequest),
        (json!({"type": "none", "data": {"x": large}}), ErrorCode::PayloadTooLarge),
    ] {
        send(&rows, OWNER, body).await.error(code);
    }
    send(&rows, OWNER, json!({"type": "free", "data": {"any": [1]}})).await.expect(201);
    let foreign = send(&rows, STRANGER, json!({"type": "free", "data": {}})).await;
    foreign.error(ErrorCode::AppNotFound);
}

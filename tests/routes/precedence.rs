//! One request, one error, from the body on: each request is wrong in two neighbouring ways of the
//! order, and the first one answers. What comes before the body is `http::precedence`.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, SIBLING};
use crate::harness::{Answer, TestServer};

async fn keyed(rows: &Rows, path: &str, body: &Value) -> Answer {
    let request = rows.request(OWNER, Method::POST, path).header("idempotency-key", "k");
    Answer::of(request.json(body)).await
}

#[tokio::test]
async fn body_then_idempotency_then_collection() {
    let rows = Rows::start().await;
    keyed(&rows, "entries", &json!({"data": {}})).await.expect(201);
    // The same key with another body, which is malformed or too large besides.
    keyed(&rows, "entries", &json!({"dta": {}})).await.error(ErrorCode::InvalidRequest);
    let large = json!({"data": {"x": "x".repeat(65 << 10)}});
    keyed(&rows, "entries", &large).await.error(ErrorCode::PayloadTooLarge);
    keyed(&rows, "none", &large).await.error(ErrorCode::PayloadTooLarge);
    rows.post("none", json!({"key": "count", "data": {}})).await.error(ErrorCode::InvalidRequest);
    // The collection is looked for after the key: an event's key is of no collection.
    let path = format!("/v1/apps/{}/events", rows.app);
    let send = |body: Value| {
        let request = rows.server.request(Method::POST, &path).bearer_auth(rows.key(OWNER));
        Answer::of(request.header("idempotency-key", "e").json(&body))
    };
    send(json!({"type": "free", "data": {}})).await.expect(201);
    send(json!({"type": "none", "data": {}})).await.error(ErrorCode::Conflict);
}

#[tokio::test]
async fn hidden_row_then_permission_then_challenge() {
    let rows = Rows::start().await;
    // Hidden, and no list would let the caller change it.
    rows.row("blind", "k", json!({})).await;
    rows.patch("blind/k", json!({"data": {}})).await.error(ErrorCode::RowNotFound);
    // Visible, not permitted, and a stale version besides.
    rows.row("frozen", "k", json!({})).await;
    let stale = json!({"data": {}, "if_match": 9});
    rows.patch("frozen/k", stale).await.error(ErrorCode::CollectionWriteForbidden);
    // A challenge comes before the schema, the unique value and what existed.
    rows.post("guarded", json!({"key": "k", "data": {}})).await.error(ErrorCode::ChallengeRequired);
}

#[tokio::test]
async fn append_only_then_version_then_relation_then_schema_then_unique_then_quota() {
    let rows = Rows::on(TestServer::builder().set("MAX_ROWS_PER_APP", "4")).await;
    rows.row("log", "k", json!({})).await;
    let stale = json!({"data": {}, "if_match": 9});
    rows.patch("log/k", stale.clone()).await.error(ErrorCode::AppendOnly);

    rows.row("linked", "k", json!({"parent": "a"})).await;
    let relation = json!({"data": {"parent": "b"}, "if_match": 9});
    let answer = rows.send(SIBLING, Method::PATCH, "linked/k", relation).await;
    answer.error(ErrorCode::Conflict);

    rows.row("people", "a", json!({"email": "a"})).await;
    rows.row("people", "b", json!({"email": "b"})).await;
    let wrong = json!({"data": {"email": 7}, "if_match": 9});
    rows.patch("people/b", wrong).await.error(ErrorCode::Conflict);
    let both = json!({"data": {"email": "a", "age": "old"}});
    rows.patch("people/b", both).await.error(ErrorCode::RowSchemaViolation);

    // Full from here on.
    let taken = json!({"data": {"email": " A "}});
    rows.post("people", taken).await.error(ErrorCode::UniqueConflict);
    rows.post("people", json!({"data": {"email": 7}})).await.error(ErrorCode::RowSchemaViolation);
    rows.post("people", json!({"data": {"email": "c"}})).await.error(ErrorCode::AppQuotaExceeded);
    // What needs no room is not refused for the want of it.
    let upsert = json!({"on": "email", "data": {"email": "a", "age": 1}});
    rows.post("people", upsert).await.expect(200);
}

//! Request bodies, queries and path ids: what is malformed is refused by name.

use reqwest::Method;
use rookery_domain::ErrorCode;

use crate::harness::{Answer, TestServer};

async fn post(server: &TestServer, body: &str) -> Answer {
    server.post("/v1/probe/things", "", body).await
}

#[tokio::test]
async fn a_wrong_body_is_refused_by_the_name_of_the_member() {
    let server = TestServer::builder().with_probes().start().await;
    for (body, named) in [
        (r#"{"name": "x", "nmae": 1}"#, "nmae"),
        (r#"{"size": 1}"#, "name"),
        (r#"{"name": "x", "size": "big"}"#, "size"),
        (r#"{"name": "x", "size": -1}"#, "size"),
        (r#"{"name": "x", "name": "y"}"#, "name"),
        (r#"{"name": "\u0000"}"#, "JSON"),
        (r#"{"name": "\ud800"}"#, "JSON"),
        (r#"{"name": "x", "size": 1e400}"#, "JSON"),
        (r#"{"name": "#, "JSON"),
        ("", "body"),
        ("[]", "body: a JSON object is needed"),
        ("null", "body: a JSON object is needed"),
        (r#""name""#, "body: a JSON object is needed"),
        ("name", "JSON"),
    ] {
        let answer = post(&server, body).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(named), "{body}: {message}");
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    post(&server, &deep).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_body_that_is_not_called_json_is_refused() {
    let server = TestServer::builder().with_probes().start().await;
    for kind in ["text/plain", "application/jsonp", "application/x-www-form-urlencoded"] {
        let request = server.request(Method::POST, "/v1/probe/things");
        let request = request.header("content-type", kind).body(r#"{"name": "x"}"#);
        let error = Answer::of(request).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains("Content-Type"));
    }
    let request = server.request(Method::POST, "/v1/probe/things");
    let request = request.header("content-type", "application/json; charset=utf-8");
    assert_eq!(Answer::of(request.body(r#"{"name": "x"}"#)).await.status, 201);
}

#[tokio::test]
async fn a_body_above_its_bound_is_too_large_announced_or_not() {
    let server = TestServer::builder().with_probes().start().await;
    let body = format!(r#"{{"name": "{}"}}"#, "x".repeat(40 << 10));
    post(&server, &body).await.error(ErrorCode::PayloadTooLarge);

    let mut raw = server.raw().await;
    raw.send("POST /v1/probe/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n")
        .await;
    raw.send("connection: close\r\ntransfer-encoding: chunked\r\n\r\n").await;
    raw.send(&format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
    let answer = raw.read_to_end().await;
    assert!(answer.contains("payload_too_large"), "{answer}");
}

#[tokio::test]
async fn a_misspelt_or_malformed_query_parameter_is_refused_by_name() {
    let server = TestServer::builder().with_probes().start().await;
    assert_eq!(server.get("/v1/probe/query?limit=5").await.expect(200)["limit"], 5);
    for (query, named) in [("limt=5", "limt"), ("limit=x", "limit"), ("limit=1&limit=2", "limit")] {
        let answer = server.get(&format!("/v1/probe/query?{query}")).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(named), "{query}: {message}");
    }
}

#[tokio::test]
async fn a_malformed_id_answers_like_an_unknown_one() {
    let server = TestServer::builder().with_probes().start().await;
    let known = "key_01jgk4c0n5e4qsbkrt1h2hzf65";
    assert_eq!(server.get(&format!("/v1/probe/keys/{known}")).await.expect(200)["key"], known);
    for id in ["app_01jgk4c0n5e4qsbkrt1h2hzf65", "key_short", "%ff", "key_"] {
        server.get(&format!("/v1/probe/keys/{id}")).await.error(ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn an_idempotency_key_has_1_to_255_characters() {
    let server = TestServer::builder().with_probes().start().await;
    let with_key = |key: String| {
        let request = server.request(Method::POST, "/v1/probe/things");
        request.header("idempotency-key", key).json(&serde_json::json!({"name": "x"}))
    };
    assert_eq!(Answer::of(with_key("k".repeat(255))).await.status, 201);
    for bad in [String::new(), "k".repeat(256)] {
        Answer::of(with_key(bad)).await.error(ErrorCode::InvalidRequest);
    }
}

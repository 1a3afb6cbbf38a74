//! What the operators' routes answer to requests that are wrong.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::harness::{Answer, TestServer};

#[tokio::test]
async fn a_parameter_that_is_unknown_or_out_of_range_is_refused_by_name() {
    let server = TestServer::start().await;
    for (path, named) in [
        ("/ops/api/tree?shards=1", "shards"),
        ("/ops/api/tree?shard=one", "shard"),
        ("/ops/api/tree?shard=-1", "shard"),
        ("/ops/api/tree?shard=0&after=x", "after"),
        ("/ops/api/tree?shard=0&limit=0", "limit"),
        ("/ops/api/tree?shard=0&limit=201", "limit"),
        ("/ops/api/hot?by=luck", "by"),
        ("/ops/api/hot?window=1y", "window"),
        ("/ops/api/hot?by=wait&by=bytes", "by"),
        ("/ops/api/restarts?before=last", "before"),
        ("/ops/api/restarts?limit=0", "limit"),
        ("/ops/api/restarts?limit=1001", "limit"),
        ("/ops/api/restarts?cursor=1", "cursor"),
        ("/ops/live?view=everything", "view"),
        ("/ops/live?view=tree&shard=x", "shard"),
        ("/ops/tree?shard=18446744073709551616", "shard"),
        ("/ops/restarts?before=1.5", "before"),
    ] {
        let answer = Answer::of(server.ops(Method::GET, path)).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains(named), "{path}: {error}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let server = TestServer::start().await;
    for (path, code) in [
        ("/ops/api/tree?shard=4096", ErrorCode::NotFound),
        ("/ops/tree?shard=4096", ErrorCode::NotFound),
        ("/ops/live?view=tree&shard=4096", ErrorCode::NotFound),
        ("/ops/api/nothing", ErrorCode::NotFound),
        ("/ops/api/apps", ErrorCode::NotFound),
        ("/v1/apps", ErrorCode::NotFound),
    ] {
        Answer::of(server.ops(Method::GET, path)).await.error(code);
    }
    for path in [
        "/ops/api/apps/no-such-app",
        "/ops/api/apps/app_00000000000000000000000000",
        "/ops/api/apps/%00",
        "/ops/apps/agt_00000000000000000000000000",
        "/ops/live?view=app",
    ] {
        let error = Answer::of(server.ops(Method::GET, path)).await;
        let error = error.error_of_its_own(ErrorCode::AppNotFound);
        // What leads on there, and not at the API.
        assert!(error["hint"].to_string().contains("GET /ops/api/tree"), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_known_path_with_another_verb_names_the_verbs_it_has() {
    let server = TestServer::start().await;
    for (method, path, allowed) in [
        (Method::POST, "/ops/api/overview", "GET"),
        (Method::DELETE, "/ops/api/tree", "GET"),
        (Method::PUT, "/ops/api/hot", "GET"),
        (Method::PATCH, "/ops/api/restarts", "GET"),
        (Method::POST, "/ops/api/actions", "GET"),
        (Method::DELETE, "/ops/api/apps/one", "GET"),
        (Method::GET, "/ops/api/apps/one/actions/wake", "POST"),
        (Method::POST, "/metrics", "GET"),
        (Method::POST, "/ops", "GET"),
    ] {
        let answer = Answer::of(server.ops(method, path)).await;
        answer.error(ErrorCode::MethodNotAllowed);
        assert!(answer.header("allow").contains(allowed), "{path}: {}", answer.header("allow"));
    }
}

#[tokio::test]
async fn an_actions_body_is_read_strictly() {
    let server = TestServer::builder().set("ROOKERY__OPS__ACTIONS", "true").start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    let path = format!("/ops/api/apps/{}/actions/wake", app.id);
    let send = async |kind: &str, body: String| {
        let request = server.ops(Method::POST, &path).header("content-type", kind);
        Answer::of(request.body(body)).await
    };
    for body in [
        "",
        "null",
        "[]",
        "{",
        r#"{"reason": 1}"#,
        r#"{"reason": "x", "force": true}"#,
        r#"{"reason": "x", "reason": "y"}"#,
        r#"{"reason": "a\u0000b"}"#,
    ] {
        send("application/json", body.to_owned()).await.error(ErrorCode::InvalidRequest);
    }
    send("text/plain", r#"{"reason": "x"}"#.to_owned()).await.error(ErrorCode::InvalidRequest);
    let large = json!({"reason": "x".repeat(4 << 20)}).to_string();
    send("application/json", large).await.error(ErrorCode::PayloadTooLarge);
    let list = Answer::of(server.ops(Method::GET, "/ops/api/actions")).await.expect(200);
    assert_eq!(list["items"], json!([]), "nothing was done");
}

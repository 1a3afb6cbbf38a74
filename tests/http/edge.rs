//! The boundary: request ids, unknown paths and verbs, headers of every answer, panics.

use std::time::Instant;

use reqwest::{Method, StatusCode};
use rookery::http::edge::request_log::RequestLog;
use rookery_domain::ErrorCode;
use rookery_testkit::until_async;
use serde_json::json;

use crate::harness::{Answer, TestServer, redact};

#[tokio::test]
async fn an_unknown_path_is_not_found_in_the_one_envelope() {
    let server = TestServer::start().await;
    let answer = server.get("/v1/nothing/here").await;
    answer.error(ErrorCode::NotFound);
    insta::assert_json_snapshot!(redact(answer.json()), { ".error.hint" => "[hint]" }, @r#"
    {
      "error": {
        "code": "not_found",
        "docs_url": "[site]/reference/errors#not_found",
        "hint": "[hint]",
        "message": "nothing is at this path",
        "request_id": "[req]",
        "retryable": false,
        "status": 404
      }
    }
    "#);
}

#[tokio::test]
async fn a_known_path_with_another_verb_names_the_verbs_it_takes() {
    let server = TestServer::builder().with_probes().start().await;
    for method in [Method::DELETE, Method::OPTIONS, Method::PUT] {
        let answer = Answer::of(server.request(method, "/v1/probe/things")).await;
        let error = answer.error(ErrorCode::MethodNotAllowed);
        assert_eq!(error["message"], "this path takes POST");
        assert_eq!(answer.header("allow"), "POST");
    }
    let answer = Answer::of(server.request(Method::POST, "/docs")).await;
    let error = answer.error(ErrorCode::MethodNotAllowed);
    assert_eq!(error["message"], "this path takes GET, HEAD");
    assert_eq!(answer.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn no_page_of_another_origin_can_embed_what_is_answered() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    for path in ["/v1/apps", "/v1/apps/nope/screenshot", "/v1/nothing/here", "/docs", "/alive"] {
        let answer = server.get_as(&owner, path).await;
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{path}");
    }
}

#[tokio::test]
async fn head_answers_as_get_without_a_body() {
    let server = TestServer::start().await;
    let get = server.get("/llms.txt").await;
    let head = Answer::of(server.request(Method::HEAD, "/llms.txt")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    assert_eq!(head.header("content-type"), get.header("content-type"));
    let owner = server.owner("ann").await;
    for path in ["/docs", "/v1/openapi.json", "/v1/apps"] {
        let tag = server.get_as(&owner, path).await.header("etag").to_owned();
        let head = server.call(Method::HEAD, path, &owner).header("if-none-match", tag);
        let head = Answer::of(head).await;
        assert_eq!(head.status, 304, "{path}");
        assert!(!head.headers.contains_key("content-length"), "{path}: {:?}", head.headers);
    }
}

#[tokio::test]
async fn a_request_id_is_taken_when_acceptable_and_made_otherwise() {
    let server = TestServer::start().await;
    let with_id = |id: String| server.request(Method::GET, "/alive").header("x-request-id", id);
    for good in ["a".to_owned(), "Trace:1/2".to_owned(), "x".repeat(128)] {
        assert_eq!(Answer::of(with_id(good.clone())).await.header("x-request-id"), good);
    }
    for bad in [String::new(), "two words".to_owned(), "x".repeat(129)] {
        let answer = Answer::of(with_id(bad)).await;
        assert!(answer.header("x-request-id").starts_with("req_"));
    }
    let first = server.get("/alive").await;
    let second = server.get("/alive").await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[tokio::test]
async fn api_answers_are_not_stored_and_pages_forbid_scripts() {
    let server = TestServer::start().await;
    // The document has an entity tag to ask again with, so its caller may keep it, and nobody else.
    let kept = [("/v1/openapi.json", "private, no-cache")];
    let not_kept =
        ["/v1", "/v1/unknown", "/v1/apps", "/v1/self/sessions"].map(|path| (path, "no-store"));
    for (path, by_whom) in kept.into_iter().chain(not_kept) {
        let answer = server.get(path).await;
        assert_eq!(answer.header("cache-control"), by_whom, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    let page = server.get("/docs").await;
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe-inline") && !policy.contains("script-src"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert!(page.headers.get("strict-transport-security").is_none());
}

#[tokio::test]
async fn a_site_behind_https_says_so_to_browsers() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__PUBLIC_URL", "https://example.org");
    let builder = builder.set("ROOKERY__APPS_DOMAIN", "apps.example.org");
    let server = builder.start().await;
    for path in ["/v1", "/docs", "/sign-in", "/nothing"] {
        let answer = server.get(path).await;
        assert_eq!(answer.header("strict-transport-security"), "max-age=63072000", "{path}");
    }
    let error = server.get("/v1/unknown").await.error(ErrorCode::NotFound);
    assert_eq!(error["docs_url"], "https://example.org/reference/errors#not_found");
}

#[tokio::test]
async fn a_panic_is_internal_and_tells_nothing_of_its_cause() {
    let server = TestServer::builder().with_probes().start().await;
    let read = server.get("/v1/probe/panic").await;
    assert!(read.error(ErrorCode::Internal).get("details").is_none());
    assert!(!read.text.contains("canary"));
    let write = Answer::of(server.request(Method::POST, "/v1/probe/panic")).await;
    assert_eq!(write.error(ErrorCode::Internal)["details"], json!({"outcome": "unknown"}));
    assert_eq!(server.get("/alive").await.status, 200);
}

#[test]
fn what_callers_can_bring_about_fills_no_log() {
    let log = RequestLog::new(3);
    let now = Instant::now();
    let lines = |status| (0..50).filter(|_| log.wants(status, now)).count();
    assert_eq!(lines(StatusCode::SERVICE_UNAVAILABLE), 3);
    assert!(lines(StatusCode::NOT_IMPLEMENTED) <= 3);
    assert_eq!(lines(StatusCode::INTERNAL_SERVER_ERROR), 50);
}

#[tokio::test]
async fn both_listeners_tell_alive_and_ready() {
    let server = TestServer::start().await;
    server.until_ready().await;
    assert_eq!(server.get("/alive").await.status, 200);
    assert_eq!(Answer::of(server.ops(Method::GET, "/alive")).await.status, 200);
    let ready = async || Answer::of(server.ops(Method::GET, "/ready")).await.status == 200;
    until_async("the operators' listener is ready", ready).await;
}

#[tokio::test]
async fn the_operators_listener_asks_for_its_token_where_one_is_set() {
    let token = "a-token-of-some-length";
    let server = TestServer::builder().set("ROOKERY__OPS__TOKEN", token).start().await;
    let plain = Answer::of(server.ops(Method::GET, "/ready")).await;
    plain.error(ErrorCode::Unauthorized);
    let wrong = server.ops(Method::GET, "/ready").bearer_auth("a-token-of-some-lengtH");
    Answer::of(wrong).await.error(ErrorCode::Unauthorized);
    let right = || server.ops(Method::GET, "/ready").bearer_auth(token);
    until_async("the token", async || Answer::of(right()).await.status == 200).await;
    server.until_ready().await;
}

#[tokio::test]
async fn created_things_have_a_location_and_tagged_ones_answer_304() {
    let server = TestServer::builder().with_probes().start().await;
    let request = server.request(Method::POST, "/v1/probe/things");
    let request = request.json(&json!({"name": "x"})).header("idempotency-key", "k1");
    let answer = Answer::of(request).await;
    assert_eq!(answer.expect(201), json!({"name": "x", "size": null, "key": "k1"}));
    assert_eq!(answer.header("location"), "/v1/probe/things/1");

    let tagged = |name: &str, value: &str| {
        server.request(Method::GET, "/v1/probe/tagged").header(name, value)
    };
    assert_eq!(server.get("/v1/probe/tagged").await.header("etag"), "\"7\"");
    for matching in ["\"7\"", "W/\"7\"", "\"1\", \"7\"", "*"] {
        let answer = Answer::of(tagged("if-none-match", matching)).await;
        assert_eq!((answer.status, answer.text.as_str()), (304, ""), "{matching}");
        assert_eq!(answer.header("cache-control"), "private, no-cache");
    }
    assert_eq!(Answer::of(tagged("if-none-match", "\"8\"")).await.status, 200);
    for other in ["\"3\"", "W/\"7\"", "\"x\""] {
        Answer::of(tagged("if-match", other)).await.error(ErrorCode::Conflict);
        let held = tagged("if-match", other).header("if-none-match", "\"7\"");
        Answer::of(held).await.error(ErrorCode::Conflict);
    }
    for named in ["\"7\"", "\"3\", \"7\"", "*"] {
        assert_eq!(Answer::of(tagged("if-match", named)).await.status, 200, "{named}");
    }
    assert_eq!(Answer::of(tagged("if-match", "\"7\"")).await.json()["if_match"], true);
    Answer::of(tagged("if-match", "three")).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn an_apps_origin_has_none_of_the_sites_routes() {
    let server = TestServer::builder().with_probes().start().await;
    let site = server.public_url().trim_start_matches("http://").to_owned();
    for path in ["/docs", "/v1/openapi.json", "/v1/probe/agent", "/v1/probe/things", "/ready"] {
        let request = server.request(Method::GET, path).header("host", format!("notes.{site}"));
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
    for host in [site.as_str(), "127.0.0.1", "localhost:1", "elsewhere.example"] {
        let request = server.request(Method::GET, "/docs").header("host", host);
        assert_eq!(Answer::of(request).await.status, 200, "{host}");
    }
}

//! Traces: one shows a request, the message to its app, the decision and the commit; who is
//! traced is bounded; no secret is in a span; and a collector that is away costs nobody anything.

use std::time::Instant;

use reqwest::{Method, StatusCode};
use rookery::{
    config::{self, Environment},
    traces::{SPANS_QUEUED_MAX, Traces},
};
use rookery_domain::ErrorCode;
use rookery_storage::faults::{Fault, Faults, Point};
use serde_json::json;

use super::collector::{Collector, Seen};
use crate::harness::{Answer, Builder, TestServer, apps::guestbook, process::Process};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn traced(collector: &Collector) -> Builder {
    TestServer::builder().set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
}

fn header(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// The only span of `spans` with this name.
#[track_caller]
fn only<'a>(spans: &'a [Seen], name: &str) -> &'a Seen {
    let mut named = spans.iter().filter(|span| span.name == name);
    let span = named.next().unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
    assert!(named.next().is_none(), "one {name} in {spans:#?}");
    span
}

#[tokio::test]
async fn one_trace_shows_a_request_its_message_the_wake_the_decision_and_the_commit() {
    let collector = Collector::start(StatusCode::OK).await;
    let server = traced(&collector).set("ROOKERY__TRACES__HEADERS", "x-tenant=birds").start().await;
    let owner = server.owner("ann").await;
    let public = json!({"manifest": guestbook(), "visibility": "public"});
    let app = server.deploy(&owner, public).await;
    let come = server.request(Method::POST, "/s/session").json(&json!({}));
    Answer::of(come.header("host", format!("{}.localhost", app.slug))).await.expect(201);
    let create = server.call(Method::POST, &app.path("/collections/entries"), &owner);
    let create = create.header("traceparent", header("01")).header("x-request-id", "traced");
    Answer::of(create.json(&json!({"key": "k", "data": {"n": 1}}))).await.expect(201);
    let done = |span: &Seen| span.trace == TRACE && span.parent == CALLER;
    let came = |span: &Seen| span.name == "POST /s/session";
    let all = collector.until(|spans| spans.iter().any(done) && spans.iter().any(came)).await;
    let spans: Vec<_> = all.iter().filter(|span| span.trace == TRACE).cloned().collect();
    let request = only(&spans, "POST /v1/apps/{id}/collections/{name}");
    assert_eq!((request.parent.as_str(), request.kind.as_str()), (CALLER, "SPAN_KIND_SERVER"));
    assert_eq!(request.fields["http.response.status_code"], "201");
    assert_eq!(request.fields["request.id"], "traced");
    assert_eq!(request.fields["app.id"], app.id);
    let message = only(&spans, "message create");
    assert_eq!(message.parent, request.id);
    assert_eq!(message.fields["message.outcome"], "ok");
    let commit = only(&spans, "commit");
    assert_eq!(
        (commit.fields["commit.outcome"].as_str(), commit.kind.as_str()),
        ("committed", "SPAN_KIND_INTERNAL")
    );
    assert_eq!(commit.fields["commit.rows"], "1");
    let mut before = message.time.0;
    for name in ["wake", "decide", "commit"] {
        let part = only(&spans, name);
        assert_eq!((&part.parent, &part.fields["app.id"]), (&message.id, &app.id), "{name}");
        assert!(before <= part.time.0 && part.time.0 <= part.time.1, "{name}: {part:?}");
        assert!(part.time.1 <= message.time.1, "{name} ends before the answer: {part:?}");
        before = part.time.1;
    }
    assert!(request.time.0 <= message.time.0 && message.time.1 <= request.time.1);
    assert!(spans.iter().all(|span| span.failure.is_none()), "{spans:#?}");
    assert_eq!(spans.len(), 5, "{spans:#?}");

    // What needs no app's actor has its commit in the trace, too.
    let deploy = only(&all, "POST /v1/apps");
    assert_eq!(deploy.parent, "", "nobody sent a trace: it begins here");
    let has_transaction = |request: &Seen| {
        all.iter().any(|span| span.name == "transaction" && span.parent == request.id)
    };
    assert!(has_transaction(deploy));
    let registered = all.iter().find(|span| span.name == "POST /v1/register");
    assert!(registered.is_some_and(has_transaction), "the directory's are in it, too");
    let came = all.iter().find(|span| came(span));
    assert!(came.is_some_and(has_transaction), "and of visitors who share one");
    assert!(collector.requests().iter().all(|(headers, _)| headers["x-tenant"] == "birds"));
}

#[tokio::test]
async fn a_commit_that_fails_is_seen_as_what_failed() {
    let faults = Faults::listed([(Point::AtCommit, 2, Fault::Fsync)]);
    let collector = Collector::start(StatusCode::OK).await;
    let server = traced(&collector).on_sqlite().with_faults(faults).start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let mut failed = 0;
    for n in 0..3 {
        let body = json!({"key": format!("k{n}"), "data": {}});
        let path = app.path("/collections/entries");
        let answer = server.send(Method::POST, &owner, &path, &body).await;
        failed += usize::from(answer.status >= 500);
    }
    assert!(failed > 0, "a commit hit the fault");
    let failed = |span: &Seen| span.failure.as_deref() == Some("internal");
    let spans = collector.until(|spans| spans.iter().any(failed)).await;
    let commit = spans.iter().find(|span| span.name == "commit" && span.failure.is_some());
    let commit = commit.expect("the commit failed");
    assert_eq!(commit.failure.as_deref(), Some("store_broken"));
    let message = spans.iter().find(|span| span.id == commit.parent).expect("its message");
    assert_eq!(message.failure.as_deref(), Some("failed"));
    let request = spans.iter().find(|span| span.id == message.parent).expect("its request");
    assert_eq!(request.failure.as_deref(), Some("internal"));
}

#[tokio::test]
async fn no_secret_path_or_content_is_in_a_span() {
    let collector = Collector::start(StatusCode::OK).await;
    let server = traced(&collector).start().await;
    let owner = server.owner("canary-ann").await;
    let app = server.deploy(&owner, json!({"slug": "canary-app", "manifest": guestbook()})).await;
    let path = app.path("/collections/entries");
    let body = json!({"key": "canary-key", "data": {"canary-name": "canary-value"}});
    server.send(Method::POST, &owner, &path, &body).await.expect(201);
    let row = format!("{path}/canary-key?canary-query=1");
    assert!(server.get_as(&owner, &row).await.status >= 400, "an unknown parameter");
    server.get_as("rk_agent_canary-bearer", &path).await;
    let unknown = server.request(Method::from_bytes(b"CANARY").unwrap(), "/v1/canary/path");
    Answer::of(unknown.header("cookie", "service_session=canary-cookie")).await;
    let last = |span: &Seen| span.name == "other unknown";
    let spans = collector.until(|spans| spans.iter().any(last)).await;
    assert!(spans.iter().any(|span| span.name == "message create"), "requests were traced");
    let sent: Vec<u8> = collector.requests().iter().flat_map(|(_, body)| body.to_vec()).collect();
    let sent = String::from_utf8_lossy(&sent).to_lowercase();
    for secret in ["canary", &owner.key.to_lowercase(), &owner.session.to_lowercase()] {
        assert!(!sent.contains(secret), "{secret} in {spans:#?}");
    }
}

#[tokio::test]
async fn a_caller_may_leave_its_request_out_and_not_force_it_in() {
    let collector = Collector::start(StatusCode::OK).await;
    let settings = traced(&collector).set("ROOKERY__TRACES__REQUESTS_PER_SECOND_MAX", "1");
    let server = settings.start().await;
    let began = Instant::now();
    for n in 0..60 {
        let flags = if n < 30 { "00" } else { "01" };
        let request = server.request(Method::GET, "/v1/apps").header("traceparent", header(flags));
        Answer::of(request).await.error(ErrorCode::Unauthorized);
    }
    let seconds = began.elapsed().as_secs();
    collector.until(|spans| !spans.is_empty()).await;
    server.stop().await;
    let traced = collector.spans().len() as u64;
    assert!((1..=2 + seconds).contains(&traced), "{traced} requests in {seconds} s");
}

#[tokio::test]
async fn health_and_the_operators_own_requests_are_not_traced() {
    let collector = Collector::start(StatusCode::OK).await;
    let server = traced(&collector).start().await;
    server.get("/alive").await.expect(200);
    server.until_ready().await;
    Answer::of(server.ops(Method::GET, "/ops/api/overview")).await.expect(200);
    assert_eq!(server.get("/docs").await.status, 200);
    // What an app has there is a page like any other.
    let page = server.request(Method::GET, "/ready").header("host", "anything.localhost");
    assert_eq!(Answer::of(page).await.status, 404);
    let spans = collector.until(|spans| spans.len() > 1).await;
    assert_eq!(spans.len(), 2, "{spans:#?}");
    assert_eq!(only(&spans, "GET /docs").fields["http.response.status_code"], "200");
}

#[tokio::test]
async fn a_collector_that_refuses_costs_no_request_and_is_counted() {
    let collector = Collector::start(StatusCode::INTERNAL_SERVER_ERROR).await;
    let server = traced(&collector).start().await;
    loop {
        assert_eq!(server.get("/docs").await.status, 200);
        let metrics = Answer::of(server.ops(Method::GET, "/metrics")).await;
        let of = |outcome: &str| {
            let name = format!("rookery_trace_spans_total{{outcome=\"{outcome}\"}} ");
            let line = metrics.text.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
            line.parse::<u64>().unwrap()
        };
        assert_eq!((of("sent"), of("dropped")), (0, 0));
        if of("failed") > 0 {
            break;
        }
    }
}

#[tokio::test]
async fn spans_above_the_bound_are_dropped_and_counted() {
    let collector = Collector::start(StatusCode::OK).await;
    let settings: Environment =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())].into_iter().collect();
    let settings = config::load(None, &settings).unwrap();
    let traces = Traces::start(&settings.traces).unwrap().expect("an endpoint is set");
    let trace = traces.enter(None, Instant::now()).expect("the first is traced");
    let above = 10;
    // The task that sends has no turn in between: this test's thread is its own.
    for _ in 0..SPANS_QUEUED_MAX + above {
        trace.child().end("one", Instant::now(), Instant::now(), None, Vec::new());
    }
    assert_eq!(traces.sent().dropped, above as u64);
    let spans = collector.until(|spans| spans.len() >= SPANS_QUEUED_MAX).await;
    assert_eq!(spans.len(), SPANS_QUEUED_MAX);
}

#[tokio::test]
async fn a_server_that_stops_sends_what_waits() {
    let collector = Collector::start(StatusCode::OK).await;
    let server = traced(&collector).start().await;
    assert_eq!(server.get("/docs").await.status, 200);
    // It would gather further spans for a while otherwise, and this test waits for no clock.
    server.stop().await;
    collector.until(|spans| !spans.is_empty()).await;
}

#[tokio::test]
async fn the_settings_own_names_win_over_the_ones_of_opentelemetry() {
    let collector = Collector::start(StatusCode::OK).await;
    let data = tempfile::tempdir().unwrap();
    let url = collector.url();
    let settings = [
        ("ROOKERY__TRACES__ENDPOINT", url.as_str()),
        (
            "ROOKERY__TRACES__HEADERS",
            "x%2Dtenant=birds%20of%2C%20100%25, authorization = Basic%20YQ%3D%3D",
        ),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=fish,x-other=1"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-tenant=bees,content-type=text/plain"),
    ];
    let server = Process::start(data.path(), &settings);
    let answer = Answer::of(server.client.get(format!("{}/docs", server.url))).await;
    assert_eq!(answer.status, 200);
    collector.until(|spans| !spans.is_empty()).await;
    let (headers, _) = collector.requests().remove(0);
    assert_eq!(headers["x-tenant"], "birds of, 100%");
    assert_eq!(headers["authorization"], "Basic YQ==");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert!(!headers.contains_key("x-other"));
    server.terminate();
}

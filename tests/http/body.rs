//! Request bodies, queries and path ids: what is malformed is refused by name.

use reqwest::Method;
use rookery::http::body::budget::{BodyBudget, BodySender};
use rookery_domain::ErrorCode;
use rookery_testkit::until;
use serde_json::json;

use crate::harness::{Answer, TestServer, apps::open_collection};

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
        ("\u{feff}{}", "body: begins with a byte order mark, which JSON has none of"),
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
    let post = async |kinds: &[&str]| {
        let request = server.request(Method::POST, "/v1/probe/things").body(r#"{"name": "x"}"#);
        let request = kinds.iter().fold(request, |all, kind| all.header("content-type", *kind));
        Answer::of(request).await
    };
    let json = "application/json";
    for (kinds, sent) in [
        (&["text/plain"][..], "not \"text/plain\""),
        (&["application/jsonp"], "not \"application/jsonp\""),
        (&["application/x-www-form-urlencoded"], "not \"application/x-www-form-urlencoded\""),
        (&["application/json; charset=utf-16"], "not \"application/json; charset=utf-16\""),
        (&[json, json], "and there are several"),
        (&[json, "text/plain"], "and there are several"),
        (&[], "and there is none"),
    ] {
        let error = post(kinds).await.error(ErrorCode::InvalidRequest);
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("Content-Type: ") && message.ends_with(sent), "{message}");
    }
    for kind in [
        json,
        "APPLICATION/JSON;charset=\"UTF-8\"",
        "application/json; charset=utf-8; v=1",
        "application/json; charset=utf8",
    ] {
        assert_eq!(post(&[kind]).await.status, 201);
    }
}

#[tokio::test]
async fn a_body_in_a_coding_that_is_not_undone_is_refused_by_the_header() {
    let server = TestServer::builder().with_probes().start().await;
    let body = r#"{"name": "x"}"#;
    for (header, coding, status) in [
        ("content-encoding", "gzip", 400),
        ("content-encoding", "identity, br", 400),
        ("content-encoding", "Identity", 201),
        ("transfer-encoding", "gzip, chunked", 400),
        ("transfer-encoding", "Chunked", 201),
        ("transfer-encoding", "chunked, chunked", 400),
    ] {
        let mut raw = server.raw().await;
        let framing = match header {
            "transfer-encoding" => format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
            _ => body.to_owned(),
        };
        let length = match header {
            "transfer-encoding" => String::new(),
            _ => format!("content-length: {}\r\n", body.len()),
        };
        raw.send("POST /v1/probe/things HTTP/1.1\r\nhost: x\r\nconnection: close\r\n").await;
        raw.send("content-type: application/json\r\n").await;
        raw.send(&format!("{length}{header}: {coding}\r\n\r\n{framing}")).await;
        let answer = raw.read_to_end().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{header} {coding}: {answer}");
        let named = answer.to_lowercase().contains(&format!("\"message\":\"{header}: "));
        assert_eq!(named, status == 400, "{header} {coding}: {answer}");
    }
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
async fn an_answer_says_when_the_rest_of_its_body_stays_unread_and_the_connection_ends() {
    let server = TestServer::builder().with_probes().start().await;
    let head = "POST /v1/probe/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let elsewhere = "POST /v1/nothing HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    for (status, request) in [
        // Who asks before it sends is refused before it has.
        (404, format!("{elsewhere}expect: 100-continue\r\ncontent-length: 9\r\n\r\n")),
        (413, format!("{head}content-length: {}\r\n\r\n", 1_u64 << 40)),
        (400, format!("{head}transfer-encoding: chunked\r\n\r\nno length\r\n")),
        // Who asks in the old version to keep the connection is promised nothing.
        (
            413,
            format!("{head}connection: keep-alive\r\ncontent-length: {}\r\n\r\n", 1_u64 << 40)
                .replace("HTTP/1.1", "HTTP/1.0"),
        ),
    ] {
        let mut raw = server.raw().await;
        raw.send(&request).await;
        let answer = raw.read_to_end().await;
        assert_eq!(answer.get(8..13), Some(&*format!(" {status} ")), "{request}: {answer}");
        assert!(answer.to_lowercase().contains("\r\nconnection: close\r\n"), "{request}: {answer}");
    }
    // Who asks and does not wait is read all the same: otherwise the answer is lost.
    let large = "x".repeat(8 << 20);
    let mut raw = server.raw().await;
    raw.send(&format!(
        "{elsewhere}expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        large.len()
    ))
    .await;
    raw.send(&large).await;
    let answer = raw.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.ends_with("}}"), "{answer}");
    // What is little is read, and the connection goes on.
    let mut raw = server.raw().await;
    for _ in 0..2 {
        raw.send(&format!("{elsewhere}content-length: 2\r\n\r\n{{}}")).await;
        let answer = raw.read_until("\r\n\r\n").await;
        assert!(
            answer.contains(" 404 ") && !answer.to_lowercase().contains("connection:"),
            "{answer}"
        );
        raw.read_until("}}").await;
    }
}

/// A server whose bodies may hold as little together as the settings permit: 18 MiB.
async fn cramped() -> TestServer {
    let limits = [("HTML", "4096"), ("ASSET", "4096")];
    let builder = limits.into_iter().fold(TestServer::builder(), |builder, (what, bytes)| {
        builder.set(&format!("ROOKERY__LIMITS__{what}_BYTES_MAX"), bytes)
    });
    let max = (18 << 20).to_string();
    builder.set("ROOKERY__SERVER__BODIES_BYTES_MAX", &max).start().await
}

#[tokio::test]
async fn bodies_that_are_under_way_hold_so_much_together_and_no_more() {
    let server = cramped().await;
    let ada = server.owner("ada").await;
    let app =
        server.deploy(&ada, json!({"manifest": {"collections": {"c": open_collection()}}})).await;
    let head = |bytes: usize| {
        format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n",
            app.path("/collections/c/batch"),
            ada.key,
        )
    };
    let bodies = server.state().bodies.clone();
    let part = "x".repeat(4 << 20);
    let mut open = Vec::new();
    for n in 1..=2 {
        let mut one = server.raw().await;
        one.send(&head(8 << 20)).await;
        one.send(&part).await;
        until("the body's first half", || bodies.held() >= n * (4 << 20) - n * (16 << 10)).await;
        open.push(one);
    }
    // One address may hold half of it: 9 MiB.
    let rows = json!({"rows": [{"data": {"text": "x".repeat(2 << 20)}}]});
    let batch = || server.call(Method::POST, &app.path("/collections/c/batch"), &ada);
    let refused = Answer::of(batch().json(&rows)).await;
    refused.error(ErrorCode::RateLimited);
    assert!(refused.header("retry-after").parse::<u32>().is_ok());
    let small = json!({"rows": [{"data": {"text": "small"}}]});
    assert_eq!(Answer::of(batch().json(&small)).await.status, 200);
    drop(open);
    until("no body is held", || bodies.held() == 0).await;
    assert_ne!(Answer::of(batch().json(&rows)).await.status, 429);
    assert_eq!(bodies.held(), 0);
}

#[test]
fn what_bodies_may_hold_is_shared_by_all_addresses() {
    const MAX: usize = 1 << 20;
    let budget = BodyBudget::new(MAX);
    let share = |last: u8| budget.share(BodySender::Service, [192, 0, 2, last].into());
    let visitor = |last: u8| budget.share(BodySender::Visitor, [192, 0, 2, last].into());
    let (mut one, mut other, mut third) = (share(1), share(2), share(3));
    one.grow(MAX / 2).unwrap();
    let refused = share(1).grow(MAX / 2).expect_err("half of it is one address's");
    assert_eq!(refused.code, ErrorCode::RateLimited);
    other.grow(MAX / 2).unwrap();
    let refused = third.grow(MAX / 4).expect_err("all of it is held");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    drop(one);
    share(1).grow(MAX / 4).unwrap();
    drop((other, third));
    assert_eq!(budget.held(), 0);

    let (mut one, mut other) = (visitor(1), visitor(2));
    one.grow(MAX / 4).unwrap();
    let refused = visitor(1).grow(MAX / 4).expect_err("half of what visitors have is one's");
    assert_eq!(refused.code, ErrorCode::RateLimited);
    other.grow(MAX / 4).unwrap();
    let refused = visitor(3).grow(MAX / 4).expect_err("visitors hold all they may");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    share(1).grow(MAX / 2).unwrap();
    drop((one, other));
    visitor(3).grow(MAX / 4).unwrap();
    // The only one of its network may be as large as a body may.
    visitor(3).grow(MAX / 2).unwrap();
    assert_eq!(budget.held(), 0);
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

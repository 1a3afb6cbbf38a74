//! Bounds at the boundary: requests per network, time for heads and bodies, the CLI version.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::body::Body;
use bytes::Bytes;
use governor::clock::FakeRelativeClock;
use http::{HeaderMap, HeaderValue};
use reqwest::Method;
use rookery::http::{body::drain, client, edge::rate_limit::Limiter};
use rookery_domain::ErrorCode;
use serde_json::json;
use tokio::time::timeout;

use crate::{
    harness::{
        Answer, TestServer,
        apps::{guestbook, open_collection},
    },
    ops::metrics::samples,
};

/// For what happens at once, or after a second.
const TOO_LONG: Duration = Duration::from_secs(20);

/// A request that leaves the connection open.
const ASK: &str = "GET /alive HTTP/1.1\r\nhost: x\r\n\r\n";

/// How often something is tried that says nothing where the machine was too slow for it.
const TRIES: usize = 50;

#[tokio::test]
async fn above_the_limit_requests_wait_and_every_answer_tells_the_standing() {
    // One more every twenty seconds, which is longer than four requests take.
    let builder = TestServer::builder().set("ROOKERY__RATE_LIMIT__PER_MINUTE", "3");
    let server = builder.set("ROOKERY__RATE_LIMIT__BURST", "3").start().await;
    for remaining in [2, 1, 0] {
        let answer = server.get("/llms.txt").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("ratelimit-policy"), "\"default\";q=3;w=60");
        let standing = answer.header("ratelimit");
        assert!(standing.starts_with(&format!("\"default\";r={remaining};t=")), "{standing}");
    }
    let answer = server.get("/llms.txt").await;
    answer.error(ErrorCode::RateLimited);
    let retry_after: u64 = answer.header("retry-after").parse().unwrap();
    assert!((1..=20).contains(&retry_after), "{retry_after}");
    assert!(answer.header("ratelimit").starts_with("\"default\";r=0;t="));
    // Health is told all the same.
    assert_eq!(server.get("/alive").await.status, 200);
    server.until_ready().await;
}

#[test]
fn the_window_rolls_and_networks_are_counted_apart() {
    let config = TestServer::builder()
        .set("ROOKERY__RATE_LIMIT__PER_MINUTE", "60")
        .set("ROOKERY__RATE_LIMIT__BURST", "2")
        .set("ROOKERY__RATE_LIMIT__COUNTERS", "1048576")
        .config();
    let clock = FakeRelativeClock::default();
    let limiter = Limiter::with_clock(&config.rate_limit, clock.clone());
    let refused = |address: &str| limiter.count(address.parse().unwrap()).retry_after_s.is_some();

    assert!(!refused("192.0.2.1") && !refused("192.0.2.1") && refused("192.0.2.1"));
    assert!(!refused("192.0.2.2"));
    clock.advance(Duration::from_millis(1_001));
    assert!(!refused("192.0.2.1") && refused("192.0.2.1"));

    // One customer holds a whole /64; an IPv4 address in IPv6 dress is the same address.
    assert!(!refused("2001:db8::1") && !refused("2001:db8::2") && refused("2001:db8::3"));
    assert!(!refused("2001:db8:0:1::1"));
    assert!(refused("::ffff:192.0.2.1"));
}

#[test]
fn a_burst_is_never_above_the_minutes_quota() {
    let builder = TestServer::builder().set("ROOKERY__RATE_LIMIT__PER_MINUTE", "5");
    let config = builder.set("ROOKERY__RATE_LIMIT__BURST", "200").config();
    let limiter = Limiter::with_clock(&config.rate_limit, FakeRelativeClock::default());
    let address = "192.0.2.1".parse().unwrap();
    let admitted = (0..200).filter(|_| limiter.count(address).retry_after_s.is_none()).count();
    assert_eq!(admitted, 5);
}

#[tokio::test]
async fn a_limit_that_is_switched_off_says_nothing() {
    let builder = TestServer::builder().set("ROOKERY__RATE_LIMIT__ENABLED", "false");
    let server = builder.set("ROOKERY__RATE_LIMIT__PER_MINUTE", "1").start().await;
    for _ in 0..5 {
        let answer = server.get("/llms.txt").await;
        assert_eq!(answer.status, 200);
        assert!(answer.headers.get("ratelimit").is_none());
    }
}

#[test]
fn forwarding_headers_are_believed_from_trusted_proxies_only() {
    let trusted = ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
    let of_bytes = |peer: &str, lines: &[&[u8]]| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_bytes(line).unwrap());
        }
        let peer = peer.parse().unwrap();
        let (address, by_proxy) = client::sender(peer, &headers, &trusted);
        assert_eq!(by_proxy, client::is_trusted(peer, &trusted), "{peer}");
        address.to_string()
    };
    let of = |peer: &str, lines: &[&str]| {
        of_bytes(peer, &lines.iter().map(|line| line.as_bytes()).collect::<Vec<_>>())
    };
    assert!(client::is_trusted("[::ffff:10.0.0.1]:1".parse().unwrap(), &trusted));
    assert!(!client::is_trusted("192.0.2.9:1".parse().unwrap(), &trusted));
    assert_eq!(of("192.0.2.9:1", &["203.0.113.5"]), "192.0.2.9");
    assert_eq!(of("10.0.0.1:1", &[]), "10.0.0.1");
    assert_eq!(of("10.0.0.1:1", &["203.0.113.5"]), "203.0.113.5");
    // Whatever stands left of the first untrusted hop was written by it.
    assert_eq!(of("10.0.0.1:1", &["1.1.1.1, 203.0.113.5, 10.2.3.4"]), "203.0.113.5");
    assert_eq!(of("10.0.0.1:1", &["1.1.1.1", "203.0.113.5, 10.2.3.4"]), "203.0.113.5");
    assert_eq!(of("10.0.0.1:1", &["203.0.113.5, junk"]), "10.0.0.1");
    assert_eq!(of("[::1]:1", &["[2001:db8::7]:443"]), "2001:db8::7");
    assert_eq!(of("[::ffff:10.0.0.1]:1", &["203.0.113.5:99"]), "203.0.113.5");
    assert_eq!(of("10.0.0.1:1", &["1.1.1.1, [2001:db8::7]"]), "2001:db8::7");
    assert_eq!(of("10.0.0.1:1", &["1.1.1.1, [::ffff:203.0.113.5] , 10.2.3.4"]), "203.0.113.5");
    for junk in ["[203.0.113.5]", "[2001:db8::7", "2001:db8::7]", "[]"] {
        assert_eq!(of("10.0.0.1:1", &[&format!("1.1.1.1, {junk}")]), "10.0.0.1", "{junk}");
    }
    // Left of nothing stands what a client may have written.
    for line in ["1.1.1.1,", "1.1.1.1, ", "1.1.1.1,,", "", ","] {
        assert_eq!(of("10.0.0.1:1", &[line]), "10.0.0.1", "{line:?}");
    }
    assert_eq!(of("10.0.0.1:1", &["1.1.1.1,, 10.2.3.4"]), "10.2.3.4");
    // A client has no second address by a byte that is no text.
    for line in [&b"\xff, 203.0.113.5"[..], b"1.1.1.1, \xff,203.0.113.5,10.2.3.4"] {
        assert_eq!(of_bytes("10.0.0.1:1", &[line]), "203.0.113.5");
        assert_eq!(of_bytes("10.0.0.1:1", &[b"1.1.1.1", line]), "203.0.113.5");
    }
    assert_eq!(of_bytes("10.0.0.1:1", &[b"203.0.113.5", b"\xff"]), "10.0.0.1");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_cut_off() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__HEADER_TIMEOUT_S", "1");
    let server = builder.start().await;
    let mut raw = server.raw().await;
    raw.send("GET /alive HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
    assert!(!raw.read_to_end().await.contains("200 OK"));
}

#[tokio::test]
async fn a_trusted_proxy_may_idle_for_longer_than_a_head_may_take() {
    let bounds = |idle: &str| {
        let builder = TestServer::builder().set("ROOKERY__SERVER__HEADER_TIMEOUT_S", "1");
        builder.set("ROOKERY__SERVER__IDLE_TIMEOUT_S", idle)
    };
    let trusting = bounds("3600").set("ROOKERY__SERVER__TRUSTED_PROXIES", "127.0.0.1");
    let server = trusting.start().await;
    let (mut idle, mut slow) = (server.raw().await, server.raw().await);
    for raw in [&mut idle, &mut slow] {
        raw.send(ASK).await;
        raw.read_until("\"alive\"}").await;
    }
    // A head has its time from its first byte on, and idling longer than that is no harm.
    slow.send("GET /alive HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
    assert!(!slow.read_to_end().await.contains("200 OK"));
    let metrics = Answer::of(server.ops(Method::GET, "/metrics")).await.text;
    assert_eq!(samples(&metrics)["rookery_http_bad_heads_total"], 1.0);
    for _ in 0..2 {
        idle.send(ASK).await;
        idle.read_until("\"alive\"}").await;
    }
    // The one of a proxy closes some day, too; that of anybody else as soon as ever.
    for builder in
        [bounds("1").set("ROOKERY__SERVER__TRUSTED_PROXIES", "127.0.0.1"), bounds("3600")]
    {
        let server = builder.start().await;
        let mut raw = server.raw().await;
        raw.send(ASK).await;
        raw.read_until("\"alive\"}").await;
        assert_eq!(timeout(TOO_LONG, raw.read_to_end()).await.expect("it closes"), "");
    }
}

#[tokio::test]
async fn connections_above_the_bound_wait_for_a_permit() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__CONNECTIONS_MAX", "1");
    let server = builder.start().await;
    let mut first = server.raw().await;
    let mut second = server.raw().await;
    let waiting = tokio::spawn(async move {
        second.send("GET /alive HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        second.read_to_end().await
    });
    for _ in 0..50 {
        first.send("GET /alive HTTP/1.1\r\nhost: x\r\n\r\n").await;
        first.read_until("\"alive\"}").await;
        assert!(!waiting.is_finished());
    }
    drop(first);
    assert!(waiting.await.unwrap().starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_refused() {
    let builder = TestServer::builder().with_probes().set("ROOKERY__SERVER__BODY_TIMEOUT_S", "1");
    let server = builder.start().await;
    let mut raw = server.raw().await;
    raw.send("POST /v1/probe/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n")
        .await;
    raw.send("connection: close\r\ncontent-length: 100\r\n\r\n{\"name\"").await;
    let answer = raw.read_to_end().await;
    let told = "too slowly: it has 1 s, and one more for each 32 KiB";
    assert!(answer.contains("400 Bad Request") && answer.contains(told), "{answer}");
}

#[tokio::test]
async fn a_large_body_may_come_over_a_slow_line() {
    let server = TestServer::builder().set("ROOKERY__SERVER__BODY_TIMEOUT_S", "1").start().await;
    let mut raw = server.raw().await;
    let asset = "x".repeat(256 << 10);
    let body = json!({"html": "<p>x</p>", "manifest": {}, "note": asset}).to_string();
    let head = format!(
        "POST /v1/apps?dry_run=true HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        server.owner("one").await.key,
        body.len()
    );
    raw.send(&head).await;
    let began = Instant::now();
    // 96 KiB a second, and so three times as long as a body may take that is small.
    let mut pace = tokio::time::interval(Duration::from_millis(250));
    for part in body.as_bytes().chunks(24 << 10) {
        pace.tick().await;
        raw.send(str::from_utf8(part).expect("ASCII")).await;
    }
    assert!(began.elapsed() > Duration::from_secs(2));
    let answer = raw.read_to_end().await;
    assert!(answer.contains("unknown field `note`"), "it is read, and then looked at: {answer}");
}

#[tokio::test]
async fn a_body_that_comes_after_its_refusal_does_not_end_the_connection() {
    // So small a body is waited for for a second: when that could be over, it is tried again.
    const SOON: Duration = Duration::from_millis(500);
    let builder = TestServer::builder().set("ROOKERY__SERVER__MIN_CLI_VERSION", "1.4.0");
    let server = builder.start().await;
    let refused = [
        ("POST /v1/apps", "", 401),
        ("POST /v1/keys", "authorization: Bearer none\r\n", 401),
        ("POST /v1/register", "x-service-cli-version: 1.3.9\r\n", 426),
        ("POST /v1/nothing", "", 404),
    ];
    let mut raw = server.raw().await;
    for (request, header, status) in refused {
        let head =
            format!("{request} HTTP/1.1\r\nhost: localhost\r\n{header}content-length: 13\r\n\r\n");
        for _ in 0..TRIES {
            let began = Instant::now();
            raw.send(&head).await;
            // The head has been dealt with by then.
            for _ in 0..3 {
                server.get("/alive").await.expect(200);
            }
            if began.elapsed() < SOON {
                break;
            }
            raw = server.raw().await;
        }
        raw.send(r#"{"name": "x"}"#).await;
        let answer = raw.read_until("}}").await;
        // The answer before may have ended in one bracket more.
        let answer = answer.trim_start_matches('}');
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
}

#[tokio::test]
async fn of_who_is_refused_at_the_door_a_megabyte_is_read_at_most() {
    const CHUNK: usize = 64 << 10;
    let read_of = async |chunks_len: usize, refused: bool| {
        let read = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&read);
        let chunks = (0..chunks_len).map(move |_| {
            count.fetch_add(CHUNK, Ordering::Relaxed);
            Ok::<_, Infallible>(Bytes::from(vec![b'x'; CHUNK]))
        });
        let body = Body::from_stream(futures::stream::iter(chunks));
        let (body, leftover) = drain::watch(&HeaderMap::new(), body);
        drop(body);
        let bytes_max = if refused { drain::REFUSED_BYTES_MAX } else { drain::BYTES_MAX };
        let read_on = leftover.drain(bytes_max).await;
        assert_eq!(read_on.is_none(), chunks_len * CHUNK <= bytes_max);
        let mut answer = http::Response::new(());
        if let Some(read_on) = read_on {
            read_on.end(&mut answer);
        }
        assert_eq!(drain::DrainBudget::behind(&answer), 0, "what may be read was read");
        read.load(Ordering::Relaxed)
    };
    assert_eq!(read_of(8, true).await, 8 * CHUNK);
    let most = (1 << 20) + CHUNK;
    assert!((1 << 20..=most).contains(&read_of(2_000, true).await));
    // What somebody sends who was let in is read further, so that it learns what was wrong with it.
    assert_eq!(read_of(100, false).await, 100 * CHUNK);
}

#[tokio::test]
async fn a_form_that_does_not_come_is_refused() {
    let server = TestServer::builder().set("ROOKERY__SERVER__BODY_TIMEOUT_S", "1").start().await;
    // Whoever is not signed in is told that first, with what of the form came in time: nothing.
    for (path, status) in [("/sign-in", "400 Bad Request"), ("/device", "401 Unauthorized")] {
        let mut raw = server.raw().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\norigin: {}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: 100\r\n\r\nemail=",
            server.public_url()
        );
        raw.send(&head).await;
        let answer = raw.read_to_end().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(!answer.contains("Send it again"), "{path}: {answer}");
    }
    let large = server.request(Method::POST, "/sign-in").form(&[("email", "a".repeat(9 << 10))]);
    Answer::of(large).await.error(ErrorCode::PayloadTooLarge);
}

#[tokio::test]
async fn who_does_not_read_an_answer_gives_up_its_permit() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__CONNECTIONS_MAX", "1");
    let server = builder.set("ROOKERY__SERVER__WRITE_TIMEOUT_S", "1").start().await;
    let mut mute = server.raw_small().await;
    mute.send("GET /docs HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut next = server.raw().await;
    next.send("GET /alive HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let answer = timeout(TOO_LONG, next.read_to_end()).await.expect("it has its turn");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn who_reads_slowly_gets_the_whole_answer() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__WRITE_TIMEOUT_S", "1");
    let server = builder.start().await;
    let whole = server.get("/docs").await.text.len();
    let mut slow = server.raw_small().await;
    slow.send("GET /docs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let began = Instant::now();
    // The pace at which the answer takes three times as long as a write may wait.
    let pace = Duration::from_secs(3).div_f64(whole as f64 / 4_096.0);
    let mut pace = tokio::time::interval(pace);
    let mut seen = 0;
    loop {
        pace.tick().await;
        match slow.read_some(4_096).await {
            0 => break,
            bytes => seen += bytes,
        }
    }
    assert!(seen > whole, "{seen} of {whole} and a head");
    assert!(began.elapsed() > Duration::from_secs(2));
}

#[tokio::test]
async fn who_sends_a_request_and_closes_that_half_gets_the_answer() {
    // No answer that takes longer is worked on for who may have left.
    const HALF_CLOSED_MAX: Duration = Duration::from_secs(1);
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app =
        server.deploy(&owner, json!({"manifest": {"collections": {"c": open_collection()}}})).await;
    let sent = async |key: String| {
        let body = json!({"key": key, "data": {}}).to_string();
        let mut raw = server.raw().await;
        raw.send(&format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            app.path("/collections/c"),
            owner.key,
            body.len(),
        ))
        .await;
        raw.close_half().await;
        raw.read_to_end().await
    };
    for n in 0..8 {
        let mut answer = String::new();
        for attempt in 0..TRIES {
            let began = Instant::now();
            answer = sent(format!("k{n}-{attempt}")).await;
            if !answer.is_empty() || began.elapsed() < HALF_CLOSED_MAX {
                break;
            }
        }
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_drain_does_not_wait_for_heads_that_are_not_complete() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__DRAIN_TIMEOUT_S", "600");
    let server = builder.set("ROOKERY__SERVER__HEADER_TIMEOUT_S", "600").start().await;
    let mut first = server.raw().await;
    first.send("GET /alive HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
    let mut second = server.raw().await;
    second.send("GET /alive HTTP/1.1\r\nhost: x\r\n\r\nGET /alive HTTP/1.1\r\nhost: ").await;
    second.read_until("\"alive\"}").await;
    timeout(TOO_LONG, server.stop()).await.expect("it ends at once");
}

#[tokio::test]
async fn an_old_client_is_told_to_upgrade() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__MIN_CLI_VERSION", "1.4.0");
    let server = builder.start().await;
    let with = |version: &str| {
        let request = server.request(Method::GET, "/v1/openapi.json");
        Answer::of(request.header("x-service-cli-version", version))
    };
    let error = with("1.3.9").await.error(ErrorCode::CliUpgradeRequired);
    assert_eq!(error["details"]["min_version"], "1.4.0");
    with("1.4.0-rc.1").await.error(ErrorCode::CliUpgradeRequired);
    for good in ["1.4.0", "1.10.0", "2.0.0"] {
        assert_eq!(with(good).await.status, 200, "{good}");
    }
    for bad in ["999999999999.0", "latest", "", "1.4", "99999999999999999999999.0.0"] {
        with(bad).await.error(ErrorCode::InvalidRequest);
    }
    let two =
        server.request(Method::GET, "/v1/openapi.json").header("x-service-cli-version", "1.4.0");
    let two = two.header("x-service-cli-version", "1.3.9");
    Answer::of(two).await.error(ErrorCode::InvalidRequest);
    assert_eq!(server.get("/v1/openapi.json").await.status, 200);
}

#[tokio::test]
async fn connections_that_say_nothing_leave_room_to_who_speaks() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__CONNECTIONS_MAX", "8");
    let server = builder.set("ROOKERY__SERVER__HEADER_TIMEOUT_S", "60").start().await;
    let mut silent = Vec::new();
    for _ in 0..12 {
        silent.push(server.raw().await);
    }
    let alive = timeout(TOO_LONG, server.get("/alive")).await.expect("a permit in time");
    assert_eq!(alive.status, 200);
    // Nobody hurries those that came while there was room.
    silent[0].send("GET /alive HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    let answer = silent.swap_remove(0).read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn heads_that_do_not_end_make_room() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__CONNECTIONS_MAX", "8");
    let server = builder.set("ROOKERY__SERVER__HEADER_TIMEOUT_S", "600").start().await;
    let mut begun = Vec::new();
    for _ in 0..12 {
        let mut raw = server.raw().await;
        raw.send("GET /alive HTTP/1.1\r\nx").await;
        begun.push(raw);
    }
    let alive = timeout(TOO_LONG, server.get("/alive")).await.expect("a permit in time");
    assert_eq!(alive.status, 200);
    let first = timeout(TOO_LONG, begun.swap_remove(0).read_to_end()).await;
    assert_eq!(first.expect("who came first leaves first"), "");
}

#[tokio::test]
async fn connections_that_idle_make_room_and_those_that_are_answered_stay() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__CONNECTIONS_MAX", "8");
    let server = builder.set("ROOKERY__SERVER__HEADER_TIMEOUT_S", "600").start().await;
    let owner = server.owner("owner").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let mut follower = server.raw().await;
    let (feed, key) = (app.path("/feed"), &owner.key);
    follower
        .send(&format!(
            "GET {feed} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\
             authorization: Bearer {key}\r\n\r\n"
        ))
        .await;
    follower.read_until("text/event-stream").await;
    let mut idle = Vec::new();
    for _ in 0..12 {
        let mut raw = server.raw().await;
        raw.send(ASK).await;
        timeout(TOO_LONG, raw.read_until("\"alive\"}")).await.expect("a permit in time");
        idle.push(raw);
    }
    let first = timeout(TOO_LONG, idle.swap_remove(0).read_to_end()).await;
    assert_eq!(first.expect("who came first leaves first"), "");
    let row = r#"{"data": {"name": "Ada", "message": "hello"}}"#;
    server.post(&app.path("/collections/entries"), key, row).await.expect(201);
    follower.read_until("row.created").await;
}

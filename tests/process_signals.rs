//! The process when it is told to end, and what it says of bytes that are no request.

use std::{net::SocketAddr, process::Child, time::Duration};

use reqwest::Method;
use rookery_testkit::until_async;
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::{
    harness::{Answer, RawConnection, TestServer, apps::guestbook, probes},
    ops::metrics::samples,
    process::{addresses, rookery, rookery_by, signal},
};

/// For what happens at once.
const TOO_LONG: Duration = Duration::from_secs(20);

/// A script that starts it with no signal ignored, also where the tests run in the background.
const AS_FROM_A_TERMINAL: &str = "exec env --default-signal=HUP,INT \"$0\"";

/// The exit code and what was said on standard error.
async fn end_of(child: Child) -> (Option<i32>, String) {
    let out = tokio::task::spawn_blocking(move || child.wait_with_output());
    let out = timeout(TOO_LONG, out).await.expect("it ends at once").unwrap().unwrap();
    (out.status.code(), String::from_utf8(out.stderr).unwrap())
}

/// A request whose body does not come.
async fn unfinished(site: SocketAddr) -> RawConnection {
    let mut raw = RawConnection::open(site).await;
    raw.send(
        "POST /v1/register HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: 100\r\nexpect: 100-continue\r\n\r\n",
    )
    .await;
    // By now the handler waits for the body.
    assert!(raw.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 100 "));
    raw
}

#[tokio::test]
async fn a_closed_terminal_drains() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery_by(AS_FROM_A_TERMINAL, data.path()).spawn().unwrap();
    addresses(&mut child);
    signal(&child, "-HUP");
    let (code, log) = end_of(child).await;
    assert_eq!((code, log.lines().count()), (Some(0), 1), "{log}");
    assert!(log.contains("draining") && log.contains("SIGHUP"), "{log}");
}

#[tokio::test]
async fn what_the_process_was_started_to_ignore_does_not_end_it() {
    let data = tempfile::tempdir().unwrap();
    let script = "trap '' HUP INT && exec \"$0\"";
    let mut child = rookery_by(script, data.path()).spawn().unwrap();
    let (_, ops) = addresses(&mut child);
    rookery::outbound::install_tls();
    for name in ["-HUP", "-INT"] {
        signal(&child, name);
        let ready = reqwest::get(format!("http://{ops}/alive")).await;
        assert_eq!(ready.expect("it goes on").status(), 200, "{name}");
    }
    signal(&child, "-TERM");
    let (code, log) = end_of(child).await;
    assert_eq!((code, log.matches("draining").count()), (Some(0), 1), "{log}");
    assert!(log.contains("SIGTERM"), "{log}");
}

#[tokio::test]
async fn a_start_that_waits_for_its_database_ends_when_it_is_told_to() {
    let data = tempfile::tempdir().unwrap();
    // It takes connections and says nothing.
    let database = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://ann@{}/rookery", database.local_addr().unwrap());
    let mut command = rookery(data.path());
    let child = command.env("ROOKERY__STORAGE__DATABASE_URL", url).spawn().unwrap();
    let _asked = timeout(TOO_LONG, database.accept()).await.expect("it asks").unwrap();
    signal(&child, "-TERM");
    assert_eq!(end_of(child).await, (Some(0), String::new()));
}

#[tokio::test]
async fn a_second_interrupt_ends_at_once_and_a_second_sigterm_does_not() {
    let data = tempfile::tempdir().unwrap();
    let mut command = rookery_by(AS_FROM_A_TERMINAL, data.path());
    let mut child = command.env("ROOKERY__SERVER__DRAIN_TIMEOUT_S", "600").spawn().unwrap();
    let (site, ops) = addresses(&mut child);
    let _running = unfinished(site).await;
    signal(&child, "-TERM");
    until_async("the drain", async || TcpStream::connect(site).await.is_err()).await;
    signal(&child, "-TERM");
    rookery::outbound::install_tls();
    let health = reqwest::get(format!("http://{ops}/alive")).await;
    assert_eq!(health.expect("it still drains").status(), 200);
    signal(&child, "-INT");
    let (code, said) = end_of(child).await;
    assert_eq!(code, Some(1));
    assert!(said.ends_with("rookery: interrupted twice: ended without waiting\n"), "{said}");
}

#[tokio::test]
async fn what_is_no_request_is_counted_and_logged() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).spawn().unwrap();
    let (site, ops) = addresses(&mut child);
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(70 << 10));
    for bytes in ["\u{16}\u{3}\u{1}not a request\r\n\r\n", &long] {
        let mut raw = RawConnection::open(site).await;
        raw.send(bytes).await;
        assert!(raw.read_to_end().await.starts_with("HTTP/1.1 4"));
    }
    let metrics = async || {
        let answer = reqwest::get(format!("http://{ops}/metrics")).await.unwrap();
        samples(&answer.text().await.unwrap())
    };
    // The connection is counted when it has ended on the other side as well.
    let counted = async || metrics().await["rookery_http_bad_heads_total"] >= 2.0;
    until_async("both are counted", counted).await;
    let found = metrics().await;
    assert_eq!(found["rookery_http_bad_heads_total"], 2.0);
    assert!(found["rookery_http_connections"] >= 1.0);
    assert!(found["process_cpu_seconds_total"] > 0.0 && found["process_max_fds"] > 0.0);
    assert!(found["process_start_time_seconds"] > 1.7e9);
    assert!(found["rookery_database_bytes"] > 0.0);
    signal(&child, "-TERM");
    let (_, log) = end_of(child).await;
    assert_eq!(log.matches("no request").count(), 2, "{log}");
}

#[tokio::test]
async fn the_next_line_tells_how_many_were_left_out() {
    let data = tempfile::tempdir().unwrap();
    let most = ("ROOKERY__LOG__REQUESTS_PER_SECOND_MAX", "1");
    let mut child = rookery(data.path()).env(most.0, most.1).spawn().unwrap();
    let (site, _) = addresses(&mut child);
    rookery::outbound::install_tls();
    let client = reqwest::Client::new();
    let ask = async |path: &str| {
        Answer::of(client.get(format!("http://{site}{path}"))).await;
    };
    // Three in one second leave one out at least; a refusal has a line of its own all the same.
    for _ in 0..20 {
        ask("/llms.txt").await;
    }
    ask("/v1/nothing").await;
    // What this service does not have is a refusal too.
    for _ in 0..20 {
        ask("/v1/auth/idp").await;
    }
    signal(&child, "-TERM");
    let (_, log) = end_of(child).await;
    assert!(log.matches("http.status=501").count() < 20, "{log}");
    let refusal = log.lines().find(|line| line.contains("http.status=404")).expect("its line");
    assert!(refusal.contains("skipped="), "{log}");
}

#[tokio::test]
async fn a_proxy_that_the_settings_do_not_name_is_told_of_once() {
    for (limit, trusted, unnamed, silent) in [
        ("true", "", 1, 0),
        ("true", "127.0.0.0/8", 0, 1),
        // Budgets of anonymous visitors go by the same address.
        ("false", "", 1, 0),
        ("false", "127.0.0.0/8", 0, 1),
    ] {
        let data = tempfile::tempdir().unwrap();
        let mut command = rookery(data.path());
        command.env("ROOKERY__RATE_LIMIT__ENABLED", limit);
        if !trusted.is_empty() {
            command.env("ROOKERY__SERVER__TRUSTED_PROXIES", trusted);
        }
        let mut child = command.spawn().unwrap();
        let (site, _) = addresses(&mut child);
        rookery::outbound::install_tls();
        let client = reqwest::Client::new();
        for headers in [&[][..], &["x-forwarded-for"], &["x-forwarded-for"], &["forwarded"]] {
            let mut request = client.get(format!("http://{site}/llms.txt"));
            for name in headers {
                request = request.header(*name, "for=203.0.113.7");
            }
            Answer::of(request).await;
        }
        signal(&child, "-TERM");
        let (_, log) = end_of(child).await;
        assert_eq!(log.matches("server.trusted_proxies does not name").count(), unnamed, "{log}");
        assert_eq!(log.matches("without X-Forwarded-For").count(), silent, "{log}");
        assert_eq!(log.matches("the write budgets of anonymous visitors").count(), 1, "{log}");
    }
}

#[tokio::test]
async fn a_service_behind_https_is_told_that_it_names_no_proxy() {
    let public = ("ROOKERY__SERVER__PUBLIC_URL", "https://rookery.example.org");
    let apps = ("ROOKERY__APPS_DOMAIN", "apps.example.org");
    let proxies = ("ROOKERY__SERVER__TRUSTED_PROXIES", "127.0.0.1");
    let unlimited = ("ROOKERY__RATE_LIMIT__ENABLED", "false");
    for (settings, warnings) in [
        (&[public, apps][..], 1),
        (&[public, apps, unlimited], 1),
        (&[public, apps, proxies], 0),
        (&[], 0),
    ] {
        let data = tempfile::tempdir().unwrap();
        let mut child = rookery(data.path()).envs(settings.iter().copied()).spawn().unwrap();
        addresses(&mut child);
        signal(&child, "-TERM");
        let (_, log) = end_of(child).await;
        let told = log.matches("server.trusted_proxies names none").count();
        assert_eq!(told, warnings, "{settings:?}: {log}");
    }
}

#[tokio::test]
async fn a_sender_at_localhost_is_told_of_where_mail_goes_out() {
    let public = ("ROOKERY__SERVER__PUBLIC_URL", "https://rookery.example.org");
    let smtp = ("SMTP_URL", "smtp://127.0.0.1:9");
    let from = ("ROOKERY__MAIL__FROM", "Rookery <rookery@example.org>");
    let apps = ("ROOKERY__APPS_DOMAIN", "apps.example.org");
    for (settings, warnings) in [
        (&[public, apps, smtp][..], 1),
        (&[public, apps, smtp, from], 0),
        (&[public, apps], 0),
        (&[smtp], 0),
    ] {
        let data = tempfile::tempdir().unwrap();
        let mut child = rookery(data.path()).envs(settings.iter().copied()).spawn().unwrap();
        addresses(&mut child);
        signal(&child, "-TERM");
        let (_, log) = end_of(child).await;
        assert_eq!(log.matches("mail.from is").count(), warnings, "{settings:?}: {log}");
    }
}

#[tokio::test]
async fn what_asks_for_the_services_health_needs_no_client() {
    let data = tempfile::tempdir().unwrap();
    let mut command = rookery(data.path());
    let mut child = command.env("ROOKERY__SERVER__TRUSTED_PROXIES", "127.0.0.1").spawn().unwrap();
    let (site, ops) = addresses(&mut child);
    rookery::outbound::install_tls();
    let client = reqwest::Client::new();
    let urls = [(site, "/alive"), (site, "/ready"), (ops, "/metrics"), (ops, "/ops")];
    for (address, path) in urls {
        Answer::of(client.get(format!("http://{address}{path}"))).await;
    }
    let forwarded = client.get(format!("http://{site}/llms.txt"));
    Answer::of(forwarded.header("x-forwarded-for", "203.0.113.7")).await;
    signal(&child, "-TERM");
    let (_, log) = end_of(child).await;
    assert!(!log.contains("X-Forwarded-For"), "{log}");
}

#[tokio::test]
async fn an_event_stream_has_a_line_when_it_begins_and_one_when_it_ends() {
    let data = tempfile::tempdir().unwrap();
    let mut child = rookery(data.path()).spawn().unwrap();
    let (_, ops) = addresses(&mut child);
    let mut raw = RawConnection::open(ops).await;
    raw.send("GET /ops/live HTTP/1.1\r\nhost: localhost\r\nx-request-id: a-stream\r\n\r\n").await;
    let head = raw.read_until("\r\n\r\n").await;
    assert!(head.contains("text/event-stream"), "{head}");
    signal(&child, "-TERM");
    let (_, log) = end_of(child).await;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("a-stream")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains(": request ") && lines[0].contains("http.status=200"), "{log}");
    assert!(lines[1].contains("stream ended") && lines[1].contains("duration_us="), "{log}");
}

#[tokio::test]
async fn an_answer_to_http_1_0_that_ends_with_the_connection_says_so() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let path = app.path("/collections/entries");
    for n in 0..40 {
        let body = json!({"key": format!("k{n}"), "data": {"text": "x".repeat(4_000)}});
        server.send(Method::POST, &owner, &path, &body).await.expect(201);
    }
    for (limit, kept) in [(40, "close"), (1, "keep-alive")] {
        let mut raw = server.raw().await;
        raw.send(&format!(
            "GET {path}?limit={limit} HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n\
             authorization: Bearer {}\r\n\r\n",
            owner.key
        ))
        .await;
        let head = raw.read_until("\r\n\r\n").await.to_ascii_lowercase();
        assert!(head.contains(&format!("connection: {kept}\r\n")), "{limit}: {head}");
    }
}

/// A write whose body was still on its way when the server was told to stop.
#[tokio::test]
async fn a_drain_takes_the_writes_that_run() {
    let server = TestServer::start().await;
    let owner = server.owner("owner").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let mut writer = server.raw().await;
    let body = r#"{"key": "late", "data": {"n": 1}}"#;
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        app.path("/collections/entries"),
        owner.key,
        body.len()
    );
    writer.send(&head).await;
    // It is asked for once the request runs.
    writer.read_until("100 Continue\r\n\r\n").await;
    let drain = server.state().drain.clone();
    let stopped = tokio::spawn(server.stop());
    drain.cancelled().await;
    writer.send(body).await;
    let answer = writer.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    stopped.await.unwrap();
}

#[tokio::test]
async fn a_drain_answers_what_runs_and_gives_up_what_is_stuck() {
    let builder = TestServer::builder().with_probes();
    let server = builder.set("ROOKERY__SERVER__DRAIN_TIMEOUT_S", "4").start().await;
    let running = tokio::spawn(server.request(Method::GET, "/v1/probe/wait").send());
    let stuck = tokio::spawn(server.request(Method::GET, "/v1/probe/stuck").send());
    probes::ARRIVED.acquire_many(2).await.unwrap().forget();

    let drain = server.state().drain.clone();
    let stopped = tokio::spawn(server.stop());
    drain.cancelled().await;
    probes::GATE.add_permits(1);
    assert_eq!(running.await.unwrap().unwrap().status(), 200);
    stopped.await.unwrap();
    assert!(!stuck.is_finished());
    stuck.abort();
}

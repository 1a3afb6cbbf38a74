//! Mail that does not go through: who asked for it learns nothing from that, and what it was about
//! is done or not done, as if the mail had gone.

use std::{fs::File, process::Stdio};

use reqwest::Method;
use rookery::mail::SignIn;
use rookery_domain::{ErrorCode, email::Email};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream},
    net::TcpListener,
};

use super::{Post, ask_for_link, sending_to, sign_in_without_mail, token_of};
use crate::{
    harness::{Answer, Human, process::Process},
    outage::Log,
};

/// Mails that wait at most, behind those that are being sent.
const WAITING_MAX: usize = 1_000;

/// A mail server that takes connections and says nothing.
async fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("smtp://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

fn without_request_id(answer: &Answer) -> Value {
    let mut body = answer.json();
    if let Some(error) = body.get_mut("error") {
        error["request_id"] = Value::Null;
    }
    body
}

#[tokio::test]
async fn an_address_is_sent_so_many_links_and_no_more() {
    let Some(post) = Post::start().await else { return };
    let builder = post.server().set("ROOKERY__MAIL__SIGN_IN_LINKS_PER_HOUR", "2");
    let server = builder.start().await;
    post.sign_in(&server, "ada@example.org").await;
    ask_for_link(&server, "ada@example.org").await.expect(202);
    post.next("ada@example.org").await;
    for email in ["ada@example.org", "ADA@example.org"] {
        let refused = ask_for_link(&server, email).await;
        refused.error(ErrorCode::RateLimited);
        let wait: u64 = refused.header("retry-after").parse().expect("seconds");
        assert!((1..=1_800).contains(&wait), "{wait}");
    }
    assert_eq!(post.count("ada@example.org").await, 2);
    // Nobody else is held up, and an address that is nobody's has the same bound.
    for _ in 0..2 {
        ask_for_link(&server, "nobody@example.org").await.expect(202);
    }
    ask_for_link(&server, "nobody@example.org").await.error(ErrorCode::RateLimited);
    let form = server.request(Method::POST, "/sign-in").form(&[("email", "ada@example.org")]);
    let page =
        Answer::of(form.header("accept", "text/html").header("origin", server.public_url())).await;
    assert_eq!(page.status, 429);
    assert!(page.text.contains("enough sign-in links") && page.text.contains("ada@example.org"));
}

#[tokio::test]
async fn a_network_has_so_many_links_sent_and_no_more_whatever_the_addresses() {
    let Some(post) = Post::start().await else { return };
    let builder = post.server().set("ROOKERY__MAIL__SIGN_IN_LINKS_PER_NETWORK", "3");
    let server = builder.start().await;
    for n in 0..3 {
        ask_for_link(&server, &format!("stranger{n}@example.org")).await.expect(202);
    }
    let refused = ask_for_link(&server, "stranger3@example.org").await;
    let error = refused.error(ErrorCode::RateLimited);
    assert!(error["message"].as_str().unwrap().contains("network"), "{error}");
    let wait: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((1..=1_200).contains(&wait), "{wait}");
    server.stop().await;
    assert_eq!(post.count("stranger2@example.org").await, 1);
    assert_eq!(post.count("stranger3@example.org").await, 0);
}

#[tokio::test]
async fn an_address_is_sent_so_many_invitations_and_offers_and_no_more() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().set("ROOKERY__MAIL__NOTICES_PER_HOUR", "2").start().await;
    let ada = post.sign_in(&server, "ada@example.org").await;
    let key = server.agent(&ada).await.key;
    for _ in 0..2 {
        let app = server.post("/v1/apps", &key, r#"{"html": "<p>hi"}"#).await.expect(201);
        let path = format!("/v1/apps/{}", app["id"].as_str().unwrap());
        let body = r#"{"email": "new@example.org"}"#;
        let member = server.post(&format!("{path}/members"), &key, body).await.expect(201);
        let list = server.get_as(&key, &format!("{path}/members")).await.expect(200);
        assert_eq!(list["items"][1], member);
        // The second app is offered, as the first is; only nobody is told of it any more.
        server.post(&format!("{path}/transfer"), &key, body).await.expect(201);
        let offer = server.get_as(&key, &format!("{path}/transfer")).await.expect(200);
        assert_eq!(offer["email"], "new@example.org");
        // Nobody else is held up.
        let bob = format!(r#"{{"email": "bob@{}.example.org"}}"#, app["slug"].as_str().unwrap());
        server.post(&format!("{path}/members"), &key, &bob).await.expect(201);
        post.next(&format!("bob@{}.example.org", app["slug"].as_str().unwrap())).await;
    }
    // Signing in is not held up either.
    ask_for_link(&server, "new@example.org").await.expect(202);
    server.stop().await;
    assert_eq!(post.count("new@example.org").await, 3);
}

#[tokio::test]
async fn what_one_account_does_is_told_to_so_many_and_no_more() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().set("ROOKERY__MAIL__NOTICES_PER_ACCOUNT", "2").start().await;
    let (ada, eve) = (
        post.sign_in(&server, "ada@example.org").await,
        post.sign_in(&server, "eve@example.org").await,
    );
    let invite = async |by: &Human, name: &str| {
        let key = server.agent(by).await.key;
        let app = server.post("/v1/apps", &key, r#"{"html": "<p>hi"}"#).await.expect(201);
        let path = format!("/v1/apps/{}/members", app["id"].as_str().unwrap());
        let body = json!({"email": format!("{name}@example.org")}).to_string();
        server.post(&path, &key, &body).await.expect(201);
    };
    for name in ["one", "two", "three"] {
        invite(&ada, name).await;
    }
    // Nobody else is held up.
    invite(&eve, "four").await;
    post.next("four@example.org").await;
    server.stop().await;
    for (name, mails) in [("one", 1), ("two", 1), ("three", 0), ("four", 1)] {
        assert_eq!(post.count(&format!("{name}@example.org")).await, mails, "{name}");
    }
}

#[tokio::test]
async fn a_recipient_that_is_refused_changes_nothing_for_who_asked_nor_for_others() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    let ada = post.sign_in(&server, "ada@example.org").await;
    let known = ask_for_link(&server, "ada@example.org").await;
    let refused = ask_for_link(&server, "refused@example.org").await;
    assert_eq!((known.status, known.json()), (202, refused.json()));
    post.next("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let path = format!("/v1/apps/{}", app["id"].as_str().unwrap());
    let members = format!("{path}/members");
    let invite = |email: &str| {
        let body = json!({"email": email}).to_string();
        let (server, members, key) = (&server, members.clone(), agent.key.clone());
        async move { server.post(&members, &key, &body).await }
    };
    let member = invite("refused@example.org").await.expect(201);
    invite("bob@example.org").await.expect(201);
    // His came after the one that was refused, and the refused one is a member all the same.
    post.next("bob@example.org").await;
    let list = server.get_as(&agent.key, &members).await.expect(200);
    assert_eq!(list["items"][1], member);
    let offer = json!({"email": "refused@example.org"}).to_string();
    let offer = server.post(&format!("{path}/transfer"), &agent.key, &offer).await.expect(201);
    let shown = server.get_as(&agent.key, &format!("{path}/transfer")).await.expect(200);
    assert_eq!(shown["id"], offer["id"]);
    server.stop().await;
    assert_eq!(post.count("refused@example.org").await, 0);
    assert_eq!(post.count("bob@example.org").await, 1);
}

#[tokio::test]
async fn a_mail_that_is_put_off_is_tried_again() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    ask_for_link(&server, "later@example.org").await.expect(202);
    let mail = post.next("later@example.org").await;
    assert_eq!(mail["subject"], "Your sign-in link");
    assert_eq!(post.count("later@example.org").await, 1);
}

#[tokio::test]
async fn mails_that_are_put_off_hold_no_other_up() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    let never: Vec<_> = (0..8).map(|n| format!("never{n}@example.org")).collect();
    for email in &never {
        ask_for_link(&server, email).await.expect(202);
    }
    ask_for_link(&server, "ada@example.org").await.expect(202);
    post.next("ada@example.org").await;
    // She did not wait until the last try of those that came first.
    for email in &never {
        assert!(post.tries(email).await.as_u64() < Some(4), "{email}");
    }
}

#[tokio::test]
async fn what_waits_when_the_server_ends_is_sent_before() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    for n in 0..20 {
        ask_for_link(&server, &format!("reader{n}@example.org")).await.expect(202);
    }
    server.stop().await;
    for n in 0..20 {
        assert_eq!(post.count(&format!("reader{n}@example.org")).await, 1, "{n}");
    }
}

#[tokio::test]
async fn a_mail_server_that_is_down_or_silent_holds_nobody_up() {
    let (silent, silent_url) = silent().await;
    let down = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let down_url = format!("smtp://{}", down.local_addr().expect("an address"));
    drop(down);
    for url in [&silent_url, &down_url] {
        let builder = sending_to(url).set("ROOKERY__SERVER__DRAIN_TIMEOUT_S", "1");
        let server = builder.start().await;
        let ada = sign_in_without_mail(&server, "ada@example.org").await;
        let key = server.agent(&ada).await.key;
        let first = ask_for_link(&server, "ada@example.org").await;
        let second = ask_for_link(&server, "nobody@example.org").await;
        assert_eq!((first.status, first.json()), (202, second.json()));
        let app = server.post("/v1/apps", &key, r#"{"html": "<p>hi"}"#).await.expect(201);
        let path = format!("/v1/apps/{}", app["id"].as_str().unwrap());
        let body = r#"{"email": "bob@example.org"}"#;
        let member = server.post(&format!("{path}/members"), &key, body).await.expect(201);
        let list = server.get_as(&key, &format!("{path}/members")).await.expect(200);
        assert_eq!(list["items"][1], member);
        server.post(&format!("{path}/transfer"), &key, body).await.expect(201);
        let offers = server.get_as(&key, &format!("{path}/transfer")).await.expect(200);
        assert_eq!(offers["email"], "bob@example.org");
        // Nor does it keep the server from ending.
        server.stop().await;
    }
    drop(silent);
}

#[tokio::test]
async fn mails_to_a_server_that_falls_silent_are_tried_again() {
    let Some(post) = Post::start().await else { return };
    let builder = sending_to(format!("smtp://{}", post.at("silentFirst")));
    let server = builder.set("ROOKERY__MAIL__TIMEOUT_S", "1").start().await;
    // As many as are sent at a time: none of them may keep its permit for good.
    let readers = [1, 2, 3, 4].map(|n| format!("reader{n}@example.org"));
    for reader in &readers {
        ask_for_link(&server, reader).await.expect(202);
    }
    ask_for_link(&server, "ada@example.org").await.expect(202);
    for reader in readers.iter().map(String::as_str).chain(["ada@example.org"]) {
        post.next(reader).await;
        assert_eq!(post.count(reader).await, 1, "{reader}");
    }
}

#[tokio::test]
async fn when_too_much_mail_waits_nobody_is_told_that_one_was_sent() {
    let (_silent, url) = silent().await;
    let any_number = sending_to(url)
        .set("ROOKERY__MAIL__SIGN_IN_LINKS_PER_HOUR", "0")
        .set("ROOKERY__MAIL__SIGN_IN_LINKS_PER_NETWORK", "0");
    let server = any_number.start().await;
    let ada = sign_in_without_mail(&server, "ada@example.org").await;
    let key = server.agent(&ada).await.key;
    let app = server.post("/v1/apps", &key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let path = format!("/v1/apps/{}", app["id"].as_str().unwrap());
    let other = server.post("/v1/apps", &key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let offered = || {
        let path = format!("/v1/apps/{}/transfer", other["id"].as_str().unwrap());
        let request = server.request(Method::POST, &path).bearer_auth(&key);
        let request =
            request.header("idempotency-key", "once").header("content-type", "application/json");
        Answer::of(request.body(r#"{"email": "bob@example.org"}"#))
    };
    let offer = offered().await.expect(201);
    let to = Email::parse("reader@example.org").unwrap();
    let letter = SignIn { site: "http://localhost", link: "http://localhost/x", valid_minutes: 15 };
    let letter = letter.write().unwrap();
    // Some are taken from the queue meanwhile, to be sent: no more than a few at a time.
    let mut taken = 0;
    while server.state().mailer.send(&to, letter.clone()).is_ok() {
        taken += 1;
        assert!(taken <= WAITING_MAX, "no permit is kept for sign-in links");
    }
    // What people do takes no permit that somebody needs to sign in.
    ask_for_link(&server, "ada@example.org").await.expect(202);
    taken += 1;
    while server.state().mailer.send_sign_in_link(&to, letter.clone()).is_ok() {
        taken += 1;
        assert!(taken <= 2 * WAITING_MAX, "the queue has no end");
    }
    assert!(taken >= WAITING_MAX, "{taken}");
    // Whatever the sender takes now, a moment later there is no room.
    loop {
        let answer = ask_for_link(&server, "ada@example.org").await;
        if answer.status == 503 {
            answer.error(ErrorCode::Unavailable);
            let other = ask_for_link(&server, "nobody@example.org").await;
            assert_eq!(without_request_id(&answer), without_request_id(&other));
            break;
        }
        taken += 1;
        assert!(taken <= 2 * WAITING_MAX, "the queue has no end");
    }
    // What was done is said again; it needs no mail any more.
    let again = offered().await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), offer);
    // An offer that nobody would hear of is none; a member is one without the mail.
    let body = r#"{"email": "bob@example.org"}"#;
    let offer = server.post(&format!("{path}/transfer"), &key, body).await;
    offer.error(ErrorCode::Unavailable);
    let none = server.get_as(&key, &format!("{path}/transfer")).await;
    none.error(ErrorCode::NotFound);
    server.post(&format!("{path}/members"), &key, body).await.expect(201);
}

/// A mail server that offers nothing.
async fn plain() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("smtp://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufStream::new(stream);
            let mut says = "220 here";
            let mut heard = String::new();
            while stream.write_all(format!("{says}\r\n").as_bytes()).await.is_ok()
                && stream.flush().await.is_ok()
                && stream.read_line(&mut heard).await.is_ok_and(|bytes| bytes > 0)
            {
                says = "250 here";
            }
        }
    });
    url
}

#[tokio::test]
async fn what_a_mail_server_lacks_that_the_settings_ask_for_is_said() {
    let url = plain().await;
    for (settings, lacks) in [("?tls=required", "STARTTLS"), ("", "authentication")] {
        let log = Log::default();
        let _guards = log.listen(tracing::Level::ERROR);
        let at = url
            .replace("smtp://", if settings.is_empty() { "smtp://ada:secret@" } else { "smtp://" });
        let server = sending_to(format!("{at}{settings}")).start().await;
        ask_for_link(&server, "ada@example.org").await.expect(202);
        // A stop leaves one try.
        let mailer = server.state().mailer.clone();
        server.stop().await;
        assert_eq!((mailer.outcomes().sent, mailer.outcomes().failed_in_a_row), (0, 1));
        let told = log.said_by("rookery::mail::smtp");
        assert_eq!(told.len(), 1, "{told:?}");
        let why = told[0]["why"].as_str().unwrap();
        assert!(why.contains("the settings ask for") && why.contains(lacks), "{why}");
        assert!(!why.contains("secret"), "{why}");
    }
}

#[tokio::test]
async fn a_mail_that_failed_is_logged_without_its_address_and_its_link() {
    let Some(post) = Post::start().await else { return };
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("log");
    let url = format!("smtp://{}", post.at("clear"));
    let settings = [
        ("SMTP_URL", url.as_str()),
        ("ROOKERY__LOG__LEVEL", "trace"),
        ("ROOKERY__LOG__FORMAT", "json"),
    ];
    let stderr = Stdio::from(File::create(&log).unwrap());
    let server = Process::start_logging_to(data.path(), &settings, stderr);
    for email in ["refused-canary@example.org", "canary@example.org"] {
        let request =
            server.client.request(Method::POST, format!("{}/v1/auth/request-link", server.url));
        Answer::of(request.json(&json!({"email": email}))).await.expect(202);
    }
    let mail = post.next("canary@example.org").await;
    let token = token_of(mail["text"].as_str().unwrap()).to_owned();
    server.terminate();
    let log = std::fs::read_to_string(log).unwrap();
    let line = log.lines().find(|line| line.contains("a mail was not sent")).expect("a line");
    assert!(line.contains("550") && line.contains("it refused"), "{line}");
    for secret in ["canary@example.org", token.as_str()] {
        let hit = log.lines().find(|line| line.contains(secret));
        assert!(hit.is_none(), "{hit:?}");
    }
}

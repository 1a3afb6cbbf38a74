//! Push subscriptions: what is accepted, what a browser is told, and when it is told nothing more.
//! The push service and the browser behind it are programs of `tests/services`.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use rookery_storage::push;
use rookery_testkit::until_async;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::{Answer, Builder, Human, START, TestServer, encoded, services::Service};

const PATH: &str = "/v1/self/push-subscriptions";
const KEY_PATH: &str = "/v1/self/push-subscription/vapid-public-key";
/// Subscriptions of one account.
const KEPT_MAX: usize = 20;
/// A point of P-256 and a secret, from RFC 8291, section 5.
const P256DH: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

/// Notices of which not all are on their way at a time.
const NOTICES: usize = 80;
/// Less than push services ask for in a test.
const TOO_LONG: Duration = Duration::from_secs(20);

/// A push service, and a server that may speak to it.
struct World {
    server: TestServer,
    push: Service,
}

fn subscription(endpoint: &str) -> Value {
    json!({"endpoint": endpoint, "keys": {"p256dh": P256DH, "auth": AUTH}})
}

async fn save(server: &TestServer, human: &Human, body: &Value) -> Answer {
    Answer::of(server.by(human, Method::POST, PATH).json(body)).await
}

async fn delete(server: &TestServer, human: &Human, endpoint: &str) -> Answer {
    let request = server.by(human, Method::DELETE, PATH);
    Answer::of(request.json(&json!({"endpoint": endpoint}))).await
}

#[tokio::test]
async fn an_idempotency_key_saves_once() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.com").await;
    let save = async |key: &str, endpoint: &str| {
        let request = server.by(&human, Method::POST, PATH).header("idempotency-key", key);
        Answer::of(request.json(&subscription(endpoint))).await
    };
    let (one, two) = ("https://push.example.net/1", "https://push.example.net/2");
    let first = save("k", one).await;
    server.state().clock.set(START.plus_seconds(60));
    let again = save("k", one).await;
    assert_eq!((again.status, again.json()), (201, first.expect(201)));
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.header("location"), PATH);
    save("k", two).await.error(ErrorCode::Conflict);
    let refreshed = save("other", one).await;
    assert_eq!(save("other", one).await.json(), refreshed.expect(200));
    assert_ne!(refreshed.json()["updated_at"], first.json()["updated_at"]);
}

impl World {
    async fn start() -> Option<Self> {
        Self::start_with(TestServer::builder()).await
    }

    async fn start_with(builder: Builder) -> Option<Self> {
        let push = Service::start("tests/routes/push_subscriptions.rs", "push.mjs", &[]).await?;
        let server = builder
            .set("ROOKERY__PUSH__TRUSTED_ORIGINS", &push.address)
            .set("ROOKERY__PUSH__CONTACT", "mailto:ops@example.org")
            .start()
            .await;
        Some(Self { server, push })
    }

    async fn of_service(&self, path: &str) -> Value {
        let answer = reqwest::get(format!("{}{path}", self.push.address)).await.unwrap();
        answer.json().await.unwrap()
    }

    /// A browser that answers as told; what its page sends to the service.
    async fn browser(&self, name: &str, answers: &str) -> Value {
        self.of_service(&format!("/subscribe?name={name}&answers={answers}")).await
    }

    /// The next post to a browser, decrypted.
    async fn next(&self, name: &str) -> Value {
        let post = self.of_service(&format!("/next?name={name}")).await;
        assert_eq!(post["failure"], Value::Null, "{post}");
        post
    }

    /// Waits until all but one of a human's subscriptions are deleted.
    async fn until_one_is_kept(&self, human: &Human) {
        let state = self.server.state();
        let secret = human.cookie.split_once('=').unwrap().1;
        let holder = state.rooms.directory.session(secret).unwrap().unwrap().human;
        until_async("all but one are deleted", async || {
            push::of_human(&state.rooms.db, holder, state.clock.now()).await.unwrap().len() <= 1
        })
        .await;
    }

    /// Offers a new app to `email`; its name.
    async fn offer(&self, by: &Human, email: &str) -> String {
        let agent = self.server.agent(by).await;
        let app = self.server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await;
        let app = app.expect(201);
        let path = format!("/v1/apps/{}/transfer", app["id"].as_str().unwrap());
        let body = json!({"email": email}).to_string();
        self.server.post(&path, &agent.key, &body).await.expect(201);
        app["slug"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_browser_decrypts_what_it_is_told_and_knows_who_told_it() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.human("ada@example.org").await;
    let bob = server.human("bob@example.org").await;
    let key = Answer::of(server.by(&bob, Method::GET, KEY_PATH)).await.expect(200);
    let browser = world.browser("bob", "").await;
    let saved = save(server, &bob, &browser).await;
    let record = saved.expect(201);
    assert_eq!(saved.header("location"), PATH);
    let at = "2026-01-31T12:00:00.000Z";
    let expected = json!({"endpoint": browser["endpoint"], "created_at": at, "updated_at": at,
        "expires_at": null});
    assert_eq!(record, expected);

    let slug = world.offer(&ada, "bob@example.org").await;
    let post = world.next("bob").await;
    let notification = &post["message"]["notification"];
    assert_eq!(post["message"]["web_push"], 8030);
    assert_eq!(notification["title"], format!("The app {slug} is offered to you"));
    assert_eq!(notification["navigate"], format!("{}/transfers", server.public_url()));
    assert!(notification["body"].as_str().unwrap().contains("ada@example.org"));
    assert_eq!(post["encoding"], "aes128gcm");
    assert_eq!((&post["ttl"], &post["urgency"]), (&json!("86400"), &json!("normal")));
    let sender = &post["sender"];
    assert_eq!(sender["key"], key["public_key"]);
    assert_eq!(sender["header"], json!({"typ": "JWT", "alg": "ES256"}));
    assert_eq!(sender["claims"]["sub"], "mailto:ops@example.org");
    assert_eq!(sender["claims"]["exp"], START.0 / 1_000_000 + 12 * 3_600);

    // An app that is shared, and an organization.
    let agent = server.agent(&ada).await;
    let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let members = format!("/v1/apps/{}/members", app["id"].as_str().unwrap());
    let body = json!({"email": "bob@example.org"}).to_string();
    server.post(&members, &agent.key, &body).await.expect(201);
    let shared = world.next("bob").await;
    let notification = &shared["message"]["notification"];
    let slug = app["slug"].as_str().unwrap();
    assert_eq!(notification["title"], format!("You were added to the app {slug}"));
    assert_eq!(notification["navigate"], format!("{}/authorize?app={slug}", server.public_url()));
    let org = server.post("/v1/orgs", &agent.key, r#"{"name": "Choir \u2669"}"#).await.expect(201);
    let members = format!("/v1/orgs/{}/members", org["id"].as_str().unwrap());
    server.post(&members, &agent.key, &body).await.expect(201);
    let joined = world.next("bob").await;
    let title = |post: &Value| post["message"]["notification"]["title"].clone();
    assert_eq!(title(&joined), "You were added to the organization Choir \u{2669}");
    // A name that may become a link is none in a notice of this service.
    let named = r#"{"name": "Paid: https://evil.example"}"#;
    let org = server.post("/v1/orgs", &agent.key, named).await.expect(201);
    let members = format!("/v1/orgs/{}/members", org["id"].as_str().unwrap());
    server.post(&members, &agent.key, &body).await.expect(201);
    assert_eq!(title(&world.next("bob").await), "You were added to an organization");
    assert_eq!(world.of_service("/count?name=bob").await, 4);
}

#[tokio::test]
async fn the_key_is_the_same_for_everybody_and_after_a_restart() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let bob = server.human("bob@example.org").await;
    let mut keys = Vec::new();
    for human in [&ada, &bob] {
        let answer = Answer::of(server.by(human, Method::GET, KEY_PATH)).await.expect(200);
        keys.push(answer["public_key"].as_str().unwrap().to_owned());
    }
    let server = server.restart().await;
    let answer = Answer::of(server.by(&ada, Method::GET, KEY_PATH)).await.expect(200);
    keys.push(answer["public_key"].as_str().unwrap().to_owned());
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 87), "{keys:?}");
    server.get(KEY_PATH).await.error_of_its_own(ErrorCode::Unauthorized);
    let agent = server.agent(&ada).await;
    let by_agent = Answer::of(server.by_agent(&agent, Method::GET, KEY_PATH)).await;
    by_agent.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn a_push_that_fails_is_tried_again_and_a_dead_subscription_goes() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.human("ada@example.org").await;
    let bob = server.human("bob@example.org").await;
    for (name, answers) in [("busy", "503,429,201"), ("gone", "410"), ("unknown", "404")] {
        let browser = world.browser(name, answers).await;
        save(server, &bob, &browser).await.expect(201);
    }
    world.offer(&ada, "bob@example.org").await;
    for answer in [503, 429, 201] {
        assert_eq!(world.next("busy").await["answer"], answer);
    }
    assert_eq!(world.next("gone").await["answer"], 410);
    assert_eq!(world.next("unknown").await["answer"], 404);
    world.until_one_is_kept(&bob).await;
    world.offer(&ada, "bob@example.org").await;
    world.next("busy").await;
    for dead in ["gone", "unknown"] {
        assert_eq!(world.of_service(&format!("/count?name={dead}")).await, 1, "{dead}");
    }
    assert_eq!(world.of_service("/count?name=busy").await, 4);
}

#[tokio::test]
async fn what_one_account_does_is_told_so_often_and_no_more() {
    let builder = TestServer::builder().set("ROOKERY__MAIL__NOTICES_PER_ACCOUNT", "1");
    let Some(world) = World::start_with(builder).await else { return };
    let server = &world.server;
    let (ada, eve) = (server.human("ada@example.org").await, server.human("eve@example.org").await);
    let bob = server.human("bob@example.org").await;
    let browser = world.browser("bobs", "201").await;
    save(server, &bob, &browser).await.expect(201);
    for (by, is_told) in [(&ada, true), (&ada, false), (&eve, true)] {
        let slug = world.offer(by, "bob@example.org").await;
        if is_told {
            let told = world.next("bobs").await.to_string();
            assert!(told.contains(&slug), "{told}");
        }
    }
}

#[tokio::test]
async fn one_human_is_told_so_often_whatever_names_it() {
    let builder = TestServer::builder().set("ROOKERY__MAIL__NOTICES_PER_HOUR", "1");
    let Some(world) = World::start_with(builder).await else { return };
    let (ada, bob) = (world.server.person("ada").await, world.server.person("bob").await);
    let (carol, org) = (world.server.person("carol").await, world.server.org(&ada).await);
    for (name, who) in [("one", &bob), ("other", &carol)] {
        save(&world.server, &who.human, &world.browser(name, "").await).await.expect(201);
    }
    world.offer(&ada.human, &bob.human.email).await;
    for who in [&bob, &carol] {
        world.server.join(&org, &ada, who, "member").await;
    }
    world.next("other").await;
    assert_eq!(world.of_service("/count?name=one").await, 1);
}

#[tokio::test]
async fn a_push_service_that_asks_for_time_holds_up_nobody_else() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.person("ada").await;
    let (bob, carol) = (server.person("bob").await, server.person("carol").await);
    let slow = world.browser("slow", &["503@60"; NOTICES * 4].join(",")).await;
    save(server, &bob.human, &slow).await.expect(201);
    let quick = world.browser("quick", "").await;
    save(server, &carol.human, &quick).await.expect(201);
    let org = server.org(&ada).await;
    for _ in 0..NOTICES {
        server.join(&org, &ada, &bob, "member").await;
        let member = format!("{org}/members/{}", bob.id);
        assert_eq!(server.ask(&ada, Method::DELETE, &member, Value::Null).await.status, 204);
    }
    world.next("slow").await;
    server.join(&org, &ada, &carol, "member").await;
    timeout(TOO_LONG, world.next("quick")).await.expect("it does not wait for others");
}

#[tokio::test]
async fn a_push_service_cannot_send_us_elsewhere() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.human("ada@example.org").await;
    let bob = server.human("bob@example.org").await;
    world.browser("elsewhere", "").await;
    for (name, answers) in [("moved", "307,201"), ("later", "503")] {
        let browser = world.browser(name, answers).await;
        save(server, &bob, &browser).await.expect(201);
    }
    world.offer(&ada, "bob@example.org").await;
    assert_eq!(world.next("moved").await["answer"], 307);
    // The second try of the other one comes after all that.
    world.next("later").await;
    world.next("later").await;
    assert_eq!(world.of_service("/count?name=elsewhere").await, 0);
    assert_eq!(world.of_service("/count?name=moved").await, 1);
}

#[tokio::test]
async fn only_whose_browser_it_is_now_is_told() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.human("ada@example.org").await;
    let bob = server.human("bob@example.org").await;
    let carol = server.human("carol@example.org").await;
    let shared = world.browser("shared", "").await;
    let own = world.browser("own", "").await;
    save(server, &bob, &shared).await.expect(201);
    save(server, &bob, &own).await.expect(201);
    // The same browser, in the hands of somebody else.
    save(server, &carol, &shared).await.expect(201);
    world.offer(&ada, "bob@example.org").await;
    world.next("own").await;
    assert_eq!(world.of_service("/count?name=shared").await, 0);
    // Bob cannot take it away from her, and she can.
    let endpoint = shared["endpoint"].as_str().unwrap();
    assert_eq!(delete(server, &bob, endpoint).await.status, 204);
    world.offer(&ada, "carol@example.org").await;
    world.next("shared").await;
    assert_eq!(delete(server, &carol, endpoint).await.status, 204);
    let hers = world.browser("hers", "").await;
    save(server, &carol, &hers).await.expect(201);
    world.offer(&ada, "carol@example.org").await;
    world.next("hers").await;
    assert_eq!(world.of_service("/count?name=shared").await, 1);
}

#[tokio::test]
async fn signing_out_ends_what_was_subscribed_in_that_session() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.human("ada@example.org").await;
    let library = server.human("bob@example.org").await;
    let home = server.human("bob@example.org").await;
    let (there, here) = (world.browser("there", "").await, world.browser("here", "").await);
    save(server, &library, &there).await.expect(201);
    save(server, &home, &here).await.expect(201);
    let out = Answer::of(server.by(&library, Method::POST, "/v1/auth/logout")).await;
    assert_eq!(out.status, 204, "{}", out.text);
    world.offer(&ada, "bob@example.org").await;
    world.next("here").await;
    assert_eq!(world.of_service("/count?name=there").await, 0);
    save(server, &library, &there).await.error_of_its_own(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn a_subscription_is_saved_updated_and_deleted_any_number_of_times() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let endpoint = "https://push.example.net/to/ada?a=b";
    let mut body = subscription(endpoint);
    body["expirationTime"] = json!(1_800_000_000_123_u64);
    let first = save(&server, &ada, &body).await.expect(201);
    assert_eq!(first["expires_at"], "2027-01-15T08:00:00.123Z");
    let clock = &server.state().clock;
    clock.set(clock.now().plus_seconds(5));
    body["expirationTime"] = Value::Null;
    let again = save(&server, &ada, &body).await.expect(200);
    assert_eq!(again["created_at"], first["created_at"]);
    assert_eq!(again["updated_at"], "2026-01-31T12:00:05.000Z");
    assert_eq!(again["expires_at"], Value::Null);
    let answers = join_all((0..16).map(|_| save(&server, &ada, &body))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    for _ in 0..2 {
        assert_eq!(delete(&server, &ada, endpoint).await.status, 204);
    }
    let by_query = format!("{PATH}?endpoint={}", encoded(endpoint));
    assert_eq!(Answer::of(server.by(&ada, Method::DELETE, &by_query)).await.status, 204);
    save(&server, &ada, &body).await.expect(201);
    clock.set(clock.now().plus_seconds(1));
    for n in 0..KEPT_MAX {
        let body = subscription(&format!("https://push.example.net/{n}"));
        save(&server, &ada, &body).await.expect(201);
    }
    // The first one made room for the last.
    save(&server, &ada, &body).await.expect(201);
}

#[tokio::test]
async fn what_is_no_subscription_is_refused_by_name() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let sound = subscription("https://push.example.net/x");
    let with = |path: &str, value: Value| {
        let mut body = sound.clone();
        *body.pointer_mut(path).expect("a member") = value;
        body
    };
    let long = format!("https://push.example.net/{}", "x".repeat(2_048));
    // On the curve's field, and not on the curve.
    let off_curve = format!("{}A", &P256DH[..P256DH.len() - 1]);
    for (bad, named) in [
        (with("/endpoint", json!("not an address")), "endpoint"),
        (with("/endpoint", json!("https://push.example.net/#x")), "endpoint"),
        (with("/endpoint", json!(long)), "endpoint"),
        (with("/endpoint", json!(7)), "endpoint"),
        (with("/keys/p256dh", json!("")), "p256dh"),
        (with("/keys/p256dh", json!(off_curve)), "p256dh"),
        (with("/keys/p256dh", json!("AAAA")), "p256dh"),
        (with("/keys/auth", json!("AAAA")), "auth"),
        (with("/keys/auth", json!("BTBZMqHH6r4Tts7J_aSIggA")), "auth"),
        (with("/keys/auth", json!("!")), "auth"),
        (json!({"endpoint": "https://push.example.net/x"}), "keys"),
        (json!({"keys": sound["keys"]}), "endpoint"),
        (json!({"endpoint": "https://push.example.net/x", "keys": sound["keys"], "x": 1}), "x"),
    ] {
        let error = save(&server, &ada, &bad).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains(named), "{error} for {bad}");
    }
    for bad in [json!(-1), json!("soon"), json!(u64::MAX)] {
        let mut body = sound.clone();
        body["expirationTime"] = bad;
        save(&server, &ada, &body).await.error(ErrorCode::InvalidRequest);
    }
    for path in [PATH.to_owned(), format!("{PATH}?endpoint=nothing"), format!("{PATH}?end=x")] {
        let answer = Answer::of(server.by(&ada, Method::DELETE, &path)).await;
        answer.error(ErrorCode::InvalidRequest);
    }
    let foreign = server.request(Method::POST, PATH).header("cookie", &ada.cookie);
    let foreign = foreign.header("origin", "https://evil.example").json(&sound);
    Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
    let nobody = server.request(Method::POST, PATH).json(&sound);
    Answer::of(nobody).await.error_of_its_own(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn an_endpoint_must_be_on_the_public_internet() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    for bad in [
        "http://push.example.net/x",
        "ftp://push.example.net/x",
        "https://user:password@push.example.net/x",
        "https://localhost/x",
        "https://db.localhost/x",
        "https://printer.local/x",
        "https://metadata.google.internal/x",
        "https://intranet/x",
        "https://intranet./x",
        "https://127.0.0.1/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://0.0.0.0/x",
        "https://10.1.2.3/x",
        "https://172.31.255.255/x",
        "https://192.168.0.1/x",
        "https://100.64.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://192.0.2.1/x",
        "https://198.18.0.1/x",
        "https://224.0.0.1/x",
        "https://255.255.255.255/x",
        "https://[::]/x",
        "https://[::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://[::ffff:8.8.8.8]/x",
        "https://[64:ff9b::a00:1]/x",
        "https://[2002:a00:1::]/x",
        "https://[2001:db8::1]/x",
        "https://[fe80::1]/x",
        "https://[fd00::1]/x",
        "https://[ff02::1]/x",
    ] {
        let error = save(&server, &ada, &subscription(bad)).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains("endpoint"), "{error} for {bad}");
    }
    for good in ["https://push.example.net:8443/x", "https://8.8.8.8/x", "https://[2606:4700::1]/x"]
    {
        save(&server, &ada, &subscription(good)).await.expect(201);
    }
}

#[tokio::test]
async fn what_a_subscription_holds_is_not_readable_in_the_database() {
    let server = TestServer::builder().on_sqlite().start().await;
    let ada = server.human("ada@example.org").await;
    let endpoint = "https://push.example.net/canary-endpoint";
    save(&server, &ada, &subscription(endpoint)).await.expect(201);
    // The answer that is given again holds no more.
    let keyed = server.by(&ada, Method::POST, PATH).header("idempotency-key", "k");
    Answer::of(keyed.json(&subscription(endpoint))).await.expect(200);
    let mut found = 0;
    for entry in std::fs::read_dir(server.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        found += usize::from(!bytes.is_empty());
        for canary in [b"canary-endpoint".as_slice(), P256DH.as_bytes(), AUTH.as_bytes()] {
            let hit = bytes.windows(canary.len()).any(|window| window == canary);
            assert!(!hit, "{} holds {:?}", path.display(), String::from_utf8_lossy(canary));
        }
    }
    assert!(found > 0, "there is a database");
}

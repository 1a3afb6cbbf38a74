//! Challenges by a provider: a real HTTP counterpart that speaks siteverify, and what a visitor's
//! write is answered by its word.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use axum::{Form, Json, Router, extract::State, http::StatusCode, routing::post};
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Guest, Site, World};
use crate::harness::{Answer, TestServer};

const SECRET: &str = "the secret between us and them";

/// What the counterpart knows.
#[derive(Default)]
struct Book {
    /// The host on which a token was given out.
    tokens: HashMap<String, String>,
    spent: HashSet<String>,
    /// The forms that came.
    asked: Vec<HashMap<String, String>>,
    /// What it answers instead.
    fault: Option<(u16, Value)>,
}

type Shared = Arc<Mutex<Book>>;

async fn verify(
    State(book): State<Shared>,
    Form(form): Form<HashMap<String, String>>,
) -> (StatusCode, Json<Value>) {
    let mut book = book.lock().expect("the book");
    book.asked.push(form.clone());
    if let Some((status, body)) = book.fault.clone() {
        return (StatusCode::from_u16(status).expect("a status"), Json(body));
    }
    let refused =
        |code: &str| (StatusCode::OK, Json(json!({"success": false, "error-codes": [code]})));
    if form.get("secret").map(String::as_str) != Some(SECRET) {
        return refused("invalid-input-secret");
    }
    let token = form["response"].clone();
    match book.tokens.get(&token).cloned() {
        Some(hostname) if book.spent.insert(token) => (
            StatusCode::OK,
            Json(json!({"success": true, "hostname": hostname, "error-codes": []})),
        ),
        Some(_) => refused("timeout-or-duplicate"),
        None => refused("invalid-input-response"),
    }
}

/// A server that asks the counterpart.
struct Provided {
    world: World,
    book: Shared,
}

impl Provided {
    async fn start() -> Self {
        let book = Shared::default();
        let router = Router::new().route("/siteverify", post(verify)).with_state(book.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let builder = TestServer::builder()
            .set("ROOKERY__CHALLENGE__VERIFY_URL", &format!("{origin}/siteverify"))
            .set("ROOKERY__CHALLENGE__SECRET", SECRET)
            .set("ROOKERY__CHALLENGE__SITE_KEY", "site-key")
            .set("ROOKERY__CHALLENGE__SCRIPT_URL", "https://widgets.example/api.js")
            .set("ROOKERY__CHALLENGE__API", "turnstile")
            .set("ROOKERY__CHALLENGE__PAGE_SOURCES", "https://frames.example");
        Self { world: World::start_with(builder).await, book }
    }

    /// Has the widget give out a token on a page of `host`.
    fn token(&self, token: &str, host: &str) -> String {
        self.book.lock().expect("the book").tokens.insert(token.to_owned(), host.to_owned());
        token.to_owned()
    }

    fn asked(&self) -> usize {
        self.book.lock().expect("the book").asked.len()
    }
}

fn manifest() -> Value {
    let lists = |write: &str| {
        json!({"read": ["anyone"], "write": [write], "update": [],
        "delete": ["owner"], "countRead": ["anyone"]})
    };
    let mut grows = lists("owner");
    grows["update"] = json!(["anyone"]);
    json!({"collections": {
        "guarded": {"antiAbuse": "challenge", "permissions": lists("anyone")},
        "grows": {"antiAbuse": "challenge", "appendOnly": true, "unique": ["email"],
            "permissions": grows},
        "closed": {"antiAbuse": "challenge", "permissions": lists("owner")},
        "open": {"permissions": lists("anyone")},
    }})
}

async fn write(site: &Site<'_>, guest: &Guest, collection: &str, token: Option<&str>) -> Answer {
    let mut request = site.by(guest, Method::POST, &format!("/s/collections/{collection}"));
    if let Some(token) = token {
        request = request.header("x-service-challenge-token", token);
    }
    Answer::of(request.json(&json!({"data": {}}))).await
}

#[tokio::test]
async fn a_visitors_token_is_judged_by_the_provider_and_good_once() {
    let here = Provided::start().await;
    let site = here.world.public("book", manifest()).await;
    let guest = site.guest().await;
    let task = Answer::of(site.by(&guest, Method::GET, "/s/challenge?collection=guarded")).await;
    assert_eq!(
        task.expect(200),
        json!({"provider": "siteverify", "site_key": "site-key", "api": "turnstile",
            "script_url": "https://widgets.example/api.js"})
    );
    let none = site.by(&guest, Method::GET, "/s/challenge?collection=nothing");
    Answer::of(none).await.error(ErrorCode::CollectionNotFound);

    write(&site, &guest, "guarded", None).await.error(ErrorCode::ChallengeRequired);
    assert_eq!(here.asked(), 0);
    let token = here.token("good", "book.localhost");
    write(&site, &guest, "guarded", Some(&token)).await.expect(201);
    let form = here.book.lock().expect("the book").asked[0].clone();
    assert_eq!((form["response"].as_str(), form["remoteip"].as_str()), ("good", "127.0.0.1"));
    let failed = ErrorCode::ChallengeVerificationFailed;
    write(&site, &guest, "guarded", Some(&token)).await.error(failed);
    // Also where the provider would take it twice.
    here.book.lock().expect("the book").spent.clear();
    write(&site, &guest, "guarded", Some(&token)).await.error(failed);
    write(&site, &guest, "guarded", Some("made up")).await.error(failed);
    write(&site, &guest, "guarded", Some("")).await.error(failed);
    let elsewhere = here.token("stolen", "hostile.localhost");
    write(&site, &guest, "guarded", Some(&elsewhere)).await.error(failed);
    let count = site.get("/s/collections/guarded/count").await.expect(200);
    assert_eq!(count["count"], 1);
}

#[tokio::test]
async fn the_provider_is_asked_only_about_writes_that_come_so_far() {
    let here = Provided::start().await;
    let site = here.world.public("book", manifest()).await;
    let guest = site.guest().await;
    let token = here.token("good", "book.localhost");
    let refused = write(&site, &guest, "closed", Some(&token)).await;
    refused.error(ErrorCode::CollectionWriteForbidden);
    write(&site, &guest, "nothing", Some(&token)).await.error(ErrorCode::CollectionNotFound);
    write(&site, &guest, "open", Some(&token)).await.expect(201);
    assert_eq!(here.asked(), 0);
    write(&site, &guest, "guarded", Some(&token)).await.expect(201);
    assert_eq!(here.asked(), 1);
    let batch = site.by(&guest, Method::POST, "/s/collections/guarded/batch");
    let token = here.token("for many", "book.localhost");
    let batch = batch.header("x-service-challenge-token", &token);
    let rows = json!({"rows": [{"data": {}}, {"data": {}}]});
    let results = Answer::of(batch.json(&rows)).await.expect(200);
    assert_eq!(results["results"][1]["status"], 201, "one token, one request");
    assert_eq!(here.asked(), 2);
}

#[tokio::test]
async fn an_upsert_meets_its_challenge_before_a_collection_that_only_grows() {
    let here = Provided::start().await;
    let site = here.world.public("book", manifest()).await;
    let row = json!({"on": "email", "data": {"email": "ada@example.org"}});
    let path = format!("/v1/apps/{}/collections/grows", site.app.id());
    let owner = &here.world.server.agent(&here.world.owner).await.key;
    let state = here.world.server.state();
    let (key, now, rng) = (&state.rooms.key, state.clock.now(), &mut rand::rng());
    let task = rookery_domain::challenge::Challenge::new(key, site.app.id(), "grows", now, 50, rng);
    let first = here.world.server.request(Method::POST, &path).bearer_auth(owner).json(&row);
    let answer = task.solve().expect("a solution");
    Answer::of(first.header("x-service-challenge-token", answer)).await.expect(201);

    let guest = site.guest().await;
    let token = here.token("good", "book.localhost");
    let upsert = site.by(&guest, Method::POST, "/s/collections/grows").json(&row);
    let upsert = upsert.header("x-service-challenge-token", &token);
    Answer::of(upsert).await.error(ErrorCode::AppendOnly);
    assert_eq!(here.asked(), 1);
}

#[tokio::test]
async fn a_repeated_write_has_its_first_answer_whatever_the_provider_says_now() {
    let here = Provided::start().await;
    let site = here.world.public("book", manifest()).await;
    let guest = site.guest().await;
    let rows = |n: u8| json!({"rows": [{"data": {"n": n}}, {"data": {}}]});
    for (below, body, other, status) in [
        ("", json!({"data": {}}), json!({"data": {"n": 1}}), 201),
        ("/batch", rows(1), rows(2), 200),
    ] {
        let token = here.token(&format!("good{below}"), "book.localhost");
        let send = async |body: &Value| {
            let path = format!("/s/collections/guarded{below}");
            let request = site.by(&guest, Method::POST, &path).header("idempotency-key", "once");
            let request = request.header("x-service-challenge-token", &token);
            Answer::of(request.json(body)).await
        };
        let first = send(&body).await.expect(status);
        let asked = here.asked();
        // The token is spent, and then nobody answers any more.
        for fault in [None, Some((500, json!({})))] {
            here.book.lock().expect("the book").fault = fault;
            assert_eq!(send(&body).await.expect(status), first);
            send(&other).await.error(ErrorCode::Conflict);
        }
        assert_eq!(here.asked(), asked);
        here.book.lock().expect("the book").fault = None;
    }
}

#[tokio::test]
async fn a_provider_that_fails_lets_nothing_through_and_its_secret_stays_here() {
    let here = Provided::start().await;
    let site = here.world.public("book", manifest()).await;
    let guest = site.guest().await;
    let token = here.token("good", "book.localhost");
    for fault in [
        (500, json!({"success": true})),
        (200, json!("no verdict")),
        (200, json!({"success": false, "error-codes": ["invalid-input-secret"]})),
        (200, json!({"success": false, "error-codes": ["internal-error"]})),
    ] {
        here.book.lock().expect("the book").fault = Some(fault);
        let failed = write(&site, &guest, "guarded", Some(&token)).await;
        failed.error(ErrorCode::Unavailable);
        assert!(
            !failed.text.contains(SECRET) && !failed.text.contains("/siteverify"),
            "{}",
            failed.text
        );
    }
    here.book.lock().expect("the book").fault = None;
    write(&site, &guest, "guarded", Some(&token)).await.expect(201);
    // One that is too busy to say where the token was given out vouches for it all the same.
    let busy = here.token("busy", "not-provided");
    write(&site, &guest, "guarded", Some(&busy)).await.expect(201);
}

#[tokio::test]
async fn pages_that_need_the_widget_may_load_it_and_others_may_not() {
    let here = Provided::start().await;
    let asks = here.world.public("book", manifest()).await;
    let open = json!({"collections": {"open": manifest()["collections"]["open"]}});
    let asks_not = here.world.public("plain", open).await;
    let policy = asks.open("/", "").await;
    for directive in ["script-src", "frame-src", "connect-src"] {
        let part = policy.header("content-security-policy").split("; ");
        let part = part.into_iter().find(|part| part.starts_with(directive)).expect(directive);
        let sources = "https://frames.example https://widgets.example";
        assert!(part.ends_with(sources), "{part}");
    }
    let plain = asks_not.open("/", "").await;
    assert!(!plain.header("content-security-policy").contains("widgets.example"));
}

#[tokio::test]
async fn an_agent_solves_the_proof_of_work_and_a_visitor_cannot() {
    let here = Provided::start().await;
    let site = here.world.public("book", manifest()).await;
    let agent = here.world.server.agent(&here.world.owner).await;
    let path = |below: &str| format!("/v1/apps/{}/{below}", site.app.id());
    let by_agent = |method, below: &str| {
        here.world.server.request(method, &path(below)).bearer_auth(&agent.key)
    };
    let state = here.world.server.state();
    let answer = || {
        let (key, now, rng) = (&state.rooms.key, state.clock.now(), &mut rand::rng());
        let task =
            rookery_domain::challenge::Challenge::new(key, site.app.id(), "guarded", now, 50, rng);
        task.solve().expect("a solution")
    };
    let task = Answer::of(by_agent(Method::GET, "challenge?collection=guarded")).await;
    assert_eq!(task.expect(200)["algorithm"], "SHA-256");
    let create = by_agent(Method::POST, "collections/guarded").json(&json!({"data": {}}));
    let create = create.header("x-service-challenge-token", answer());
    Answer::of(create).await.expect(201);
    let guest = site.guest().await;
    let tried = write(&site, &guest, "guarded", Some(&answer())).await;
    tried.error(ErrorCode::ChallengeVerificationFailed);
}

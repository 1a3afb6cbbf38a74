//! A body whose last byte comes late: what its sender was let in by has ended meanwhile, and so it does
//! nothing any more.

use std::time::Instant;

use reqwest::Method;
use rookery::http::auth::recheck::UNASKED_MAX;
use rookery_testkit::until;
use serde_json::{Value, json};

use crate::{
    harness::{Answer, RawConnection, TestServer},
    sharing::world::{Site, World, manifest},
};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Requests that the server has let in and whose last byte is held back.
struct Late<'a> {
    server: &'a TestServer,
    open: Vec<(String, RawConnection, String)>,
}

impl<'a> Late<'a> {
    const fn new(server: &'a TestServer) -> Self {
        Self { server, open: Vec::new() }
    }

    async fn send(&mut self, what: &str, head: &str, body: &Value) {
        self.send_as(JSON, what, head, &body.to_string()).await;
    }

    /// Sends all of a request but its last byte, once the server asks for the body: so it has let the
    /// request in by then.
    async fn send_as(&mut self, kind: &str, what: &str, head: &str, body: &str) {
        let (early, last) = body.split_at(body.len() - 1);
        let mut raw = self.server.raw().await;
        raw.send(&format!(
            "{what} HTTP/1.1\r\n{head}\r\nconnection: close\r\nexpect: 100-continue\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        ))
        .await;
        let asked = raw.read_until("\r\n\r\n").await;
        assert!(asked.starts_with("HTTP/1.1 100"), "{what}: {asked}");
        raw.send(early).await;
        self.open.push((what.to_owned(), raw, last.to_owned()));
    }

    /// Sends the last bytes; the answers.
    async fn end(self) -> Vec<(String, String)> {
        let ended = Instant::now();
        until("a while", || ended.elapsed() > UNASKED_MAX).await;
        let mut answers = Vec::new();
        for (what, mut raw, last) in self.open {
            raw.send(&last).await;
            answers.push((what, raw.read_to_end().await));
        }
        answers
    }

    /// Sends the last bytes, and checks that each request is refused with this code.
    async fn are_refused(self, code: &str) {
        for (what, answer) in self.end().await {
            let refused = answer.starts_with("HTTP/1.1 401") && answer.contains(code);
            assert!(refused, "{what}: {answer}");
        }
    }
}

/// What an agent of the owner may send about its account and its app.
fn of_agents(site: &Site<'_>, bystander: &str) -> Vec<(String, Value)> {
    let rows = "/collections/board";
    let below = [
        ("POST", "/credentials", json!({"collections": ["board"], "operations": ["read"]})),
        ("POST", "/versions", json!({"html": "<p>mine</p>"})),
        ("PATCH", "", json!({"visibility": "public"})),
        ("POST", "/members", json!({"email": "thief@example.com"})),
        ("POST", "/grants", json!({"role": "editor"})),
        ("POST", "/preview-tokens", json!({})),
        ("POST", "/test-session-tokens", json!({})),
        ("POST", "/transfer", json!({"email": bystander})),
        ("POST", "/migration-mode", json!({"on": true})),
        ("PATCH", "/collections/board/retention", json!({"max_rows": 1})),
        ("POST", rows, json!({"key": "late", "data": {}})),
        ("POST", "/collections/board/batch", json!({"rows": [{"data": {}}]})),
        ("DELETE", "/collections/board/batch", json!({"keys": ["kept"]})),
        ("PATCH", "/collections/board/kept", json!({"data": {"of": "late"}})),
        ("DELETE", "/collections/board/kept", json!({})),
        ("POST", "/events", json!({"type": "ping", "data": {}})),
    ];
    let below = below.map(|(verb, path, body)| (format!("{verb} {}", site.path(path)), body));
    let account = [
        ("POST /v1/apps", json!({"html": "<p>mine</p>", "slug": "mine"})),
        ("POST /v1/orgs", json!({"name": "Mine"})),
    ];
    let account = account.map(|(what, body)| (what.to_owned(), body));
    below.into_iter().chain(account).collect()
}

async fn sign_out(world: &World) {
    let answer = Answer::of(world.server.by(&world.owner, Method::POST, "/v1/auth/logout")).await;
    assert_eq!(answer.status, 204, "{}", answer.text);
}

#[tokio::test]
async fn what_an_agent_began_before_its_key_was_revoked_is_not_done() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.row("board", "kept").await;
    let second = world.server.agent(&world.owner).await;
    let mut late = Late::new(&world.server);
    let head = format!("host: x\r\nauthorization: Bearer {}", second.key);
    for (what, body) in of_agents(&site, "bystander@example.com") {
        late.send(&what, &head, &body).await;
    }
    let path = format!("/v1/self/agents/{}/revoke-key", second.id);
    let revoked = world.server.by(&world.owner, Method::POST, &path);
    assert_eq!(Answer::of(revoked).await.status, 204);
    late.are_refused("\"unauthorized\"").await;

    let rows = site.get("/collections/board").await.expect(200);
    assert_eq!(rows["items"].as_array().expect("items").len(), 1, "{rows}");
    assert_eq!(rows["items"][0]["version"], 1, "{rows}");
    let made = site.get("/credentials").await.expect(200);
    assert_eq!(made["items"], json!([]));
}

#[tokio::test]
async fn what_a_human_began_before_signing_out_is_not_done() {
    let world = World::start().await;
    let site = world.site("private").await;
    let mut late = Late::new(&world.server);
    let cookie = &world.owner.cookie;
    let head = format!("host: x\r\ncookie: {cookie}\r\norigin: {}", world.server.public_url());
    for (what, body) in [
        (format!("POST {}", site.path("/members")), json!({"email": "thief@example.com"})),
        (format!("PATCH {}", site.path("")), json!({"visibility": "public"})),
        (format!("POST {}", site.path("/test-session-tokens")), json!({})),
        ("POST /v1/orgs".to_owned(), json!({"name": "Mine"})),
        ("POST /v1/self/claim-codes".to_owned(), json!({})),
        ("PATCH /v1/self/profile".to_owned(), json!({"name": "Late"})),
    ] {
        late.send(&what, &head, &body).await;
    }
    sign_out(&world).await;
    late.are_refused("\"unauthorized\"").await;
    let app = site.get("").await.expect(200);
    assert_eq!(app["visibility"], "private");
}

#[tokio::test]
async fn what_a_visitor_began_before_leaving_is_not_done() {
    let world = World::start().await;
    let site = world.site("public").await;
    let token = site.guest().await;
    let mut late = Late::new(&world.server);
    let host = site.origin().split_once("://").expect("an origin").1.to_owned();
    let head = format!("host: {host}\r\nx-service-participant-token: {token}");
    let batch = json!({"rows": [{"data": {}}]});
    late.send("POST /s/collections/board", &head, &json!({"data": {}})).await;
    late.send("POST /s/collections/board/batch", &head, &batch).await;
    assert_eq!(Answer::of(site.by(&token, Method::DELETE, "/s/session")).await.status, 204);
    late.are_refused("\"participant_token_invalid\"").await;
    let rows = site.get("/collections/board").await.expect(200);
    assert_eq!(rows["items"], json!([]));
}

#[tokio::test]
async fn a_visitor_who_left_meanwhile_comes_in_as_somebody_new() {
    let world = World::start().await;
    let site = world.site("public").await;
    let token = site.guest().await;
    let me = Answer::of(site.by(&token, Method::GET, "/s/session")).await.expect(200);
    let mut late = Late::new(&world.server);
    let host = site.origin().split_once("://").expect("an origin").1.to_owned();
    let head = format!("host: {host}\r\nx-service-participant-token: {token}");
    late.send("POST /s/session", &head, &json!({})).await;
    assert_eq!(Answer::of(site.by(&token, Method::DELETE, "/s/session")).await.status, 204);
    let answers = late.end().await;
    let (_, answer) = &answers[0];
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(!answer.contains(me["id"].as_str().expect("an id")), "{answer}");
}

#[tokio::test]
async fn what_a_service_credential_began_before_it_was_revoked_is_not_done() {
    let world = World::start().await;
    let site = world.site("private").await;
    let rights = json!({"collections": ["board"], "operations": ["create"]});
    let (id, token) = site.credential(rights).await;
    let mut late = Late::new(&world.server);
    let head = format!("host: x\r\nauthorization: Bearer {token}");
    let what = format!("POST {}", site.path("/collections/board"));
    late.send(&what, &head, &json!({"data": {}})).await;
    assert_eq!(site.delete(&format!("/credentials/{id}")).await.status, 204);
    late.are_refused("\"unauthorized\"").await;
}

#[tokio::test]
async fn a_form_that_was_begun_before_signing_out_is_not_taken() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.redeploy(manifest()).await;
    let mut late = Late::new(&world.server);
    let (cookie, site_url) = (&world.owner.cookie, world.server.public_url());
    let head = format!("host: x\r\ncookie: {cookie}\r\norigin: {site_url}");
    // Going back to a version is what a page does without a route of the API.
    let what = format!("POST /apps/{}/versions/1", site.app.id);
    late.send_as(FORM, &what, &head, "force=yes").await;
    sign_out(&world).await;
    let [(what, answer)] = late.end().await.try_into().expect("one answer");
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("/sign-in"), "{what}: {answer}");
    assert!(answer.contains("Nothing was saved"), "{what}: {answer}");
    assert_eq!(site.get("").await.expect(200)["version"], 2);
}

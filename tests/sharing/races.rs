//! Many at once: what may be used so often is used so often, and what is taken away stays away.

use std::collections::BTreeMap;

use futures::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::world::{World, text, token_of};
use crate::harness::{Answer, rounds};

/// Requests at once.
const CROWD: usize = 64;
/// Races in turn: what shows only now and then gets its chance.
const ROUNDS: usize = 16;

/// Sends `CROWD` requests at once and counts the answers by status.
async fn statuses(request: impl Fn(usize) -> RequestBuilder) -> BTreeMap<u16, usize> {
    let mut seen = BTreeMap::new();
    for answer in join_all((0..CROWD).map(|at| Answer::of(request(at)))).await {
        *seen.entry(answer.status).or_default() += 1;
    }
    seen
}

#[tokio::test]
async fn a_link_for_ten_lets_ten_in() {
    let world = World::start().await;
    let site = world.site("private").await;
    for _ in 0..rounds(ROUNDS) {
        let (_, path) = site.grant(json!({"role": "editor", "max_uses": 10})).await;
        let seen = statuses(|_| site.visit(Method::GET, &path)).await;
        assert_eq!(seen, BTreeMap::from([(303, 10), (401, 54)]));
        let grant = site.get("/grants").await.expect(200)["items"][0].clone();
        assert_eq!((&grant["uses"], &grant["state"]), (&json!(10), &json!("used_up")));
    }
    let page = site.get("/feed").await.expect(200);
    assert!(page["cursor"].is_string());
}

#[tokio::test]
async fn one_address_becomes_one_member() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"email": "new@example.com"});
    let seen = statuses(|_| site.request(Method::POST, "/members").json(&body)).await;
    assert_eq!(seen, BTreeMap::from([(201, 1), (409, 63)]));
    assert_eq!(site.get("/members").await.expect(200)["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(world.server.mails("new@example.com").await.len(), 1);
}

#[tokio::test]
async fn a_test_session_token_is_redeemed_once() {
    let world = World::start().await;
    let site = world.site("private").await;
    for _ in 0..rounds(ROUNDS) {
        let made = site.post("/test-session-tokens", json!({})).await.expect(201);
        let body = json!({"token": made["token"]});
        let seen = statuses(|_| site.visit(Method::POST, "/s/session").json(&body)).await;
        assert_eq!(seen, BTreeMap::from([(201, 1), (401, 63)]));
    }
}

#[tokio::test]
async fn one_idempotency_key_makes_one_credential() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"collections": ["safe"], "operations": ["read"]});
    let requests = (0..CROWD).map(|_| {
        let request = site.request(Method::POST, "/credentials").header("idempotency-key", "k");
        Answer::of(request.json(&body))
    });
    let records: Vec<Value> =
        join_all(requests).await.iter().map(|answer| answer.expect(201)).collect();
    let shown = records.iter().filter(|record| record["token"].is_string()).count();
    assert_eq!(shown, 1, "the token is shown once");
    assert!(records.iter().all(|record| record["id"] == records[0]["id"]));
    let listed = site.get("/credentials").await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_paused_credential_does_nothing_after_the_answer_to_the_pause() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"collections": ["safe"], "operations": ["create", "read"]});
    let (id, token) = site.credential(body).await;
    for round in 0..rounds(ROUNDS / 2) {
        let write = |at: usize| {
            let row = json!({"key": format!("{round}-{at}"), "data": {}});
            site.with(&token, Method::POST, "/collections/safe").json(&row)
        };
        let paused = async {
            site.post(&format!("/credentials/{id}/pause"), json!({})).await.expect(200);
            let rows = site.get("/collections/safe/count").await.expect(200)["count"].clone();
            let late = statuses(|at| write(CROWD + at)).await;
            assert_eq!(late, BTreeMap::from([(401, CROWD)]));
            rows
        };
        let (early, rows) = tokio::join!(statuses(write), paused);
        assert_eq!(early.values().sum::<usize>(), CROWD);
        assert!(early.keys().all(|status| [201, 401].contains(status)), "{early:?}");
        let after = site.get("/collections/safe/count").await.expect(200)["count"].clone();
        assert_eq!(rows, after, "nothing was written behind the pause");
        site.post(&format!("/credentials/{id}/resume"), json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn a_member_removed_while_it_comes_in_is_out() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (human, id, _) = site.member("ada@example.com", None).await;
    let mut waiting = Vec::new();
    for _ in 0..CROWD {
        let path = format!("/authorize?app={}", site.app.slug);
        let answer = Answer::of(world.server.by(&human, Method::GET, &path)).await;
        waiting.push(site.below(answer.header("location")));
    }
    let arrivals = join_all(waiting.iter().map(|path| site.open(path)));
    let path = format!("/members/{id}");
    let removed = site.delete(&path);
    let (arrivals, removed) = tokio::join!(arrivals, removed);
    assert_eq!(removed.status, 204);
    for arrived in arrivals.iter().filter(|answer| answer.headers.contains_key("set-cookie")) {
        let answer = site.see(&token_of(arrived), "/s/session").await;
        assert_eq!(answer.status, 401, "{}", answer.text);
    }
}

#[tokio::test]
async fn every_rotation_gives_a_token_of_its_own_and_the_last_one_stays() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"collections": ["safe"], "operations": ["read"]});
    let (id, _) = site.credential(body).await;
    let path = format!("/credentials/{id}/rotate");
    let rotate = || Answer::of(site.request(Method::POST, &path).json(&json!({"overlap_s": 0})));
    let rotated = join_all((0..CROWD).map(|_| rotate())).await;
    let in_force = text(&site.get("/credentials").await.expect(200)["items"][0], "prefix");
    let mut working = 0;
    for answer in rotated {
        let record = answer.expect(200);
        let token = text(&record, "token");
        let works = Answer::of(site.with(&token, Method::GET, "/collections/safe")).await;
        if works.status == 200 {
            working += 1;
            assert_eq!(text(&record, "prefix"), in_force);
        }
    }
    assert_eq!(working, 1);
}

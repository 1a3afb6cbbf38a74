//! `Idempotency-Key` on everything that makes something: one answer, given again without secrets.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Site, World, manifest};
use crate::harness::{Answer, START};

async fn keyed(site: &Site<'_>, key: &str, below: &str, body: &Value) -> Answer {
    let request = site.request(Method::POST, below).header("idempotency-key", key);
    Answer::of(request.json(body)).await
}

/// Sends a request three times: as it is, again, and with another body.
async fn check(site: &Site<'_>, below: &str, body: Value, other: Value, secrets: &[&str]) {
    let first = keyed(site, "k1", below, &body).await;
    assert!(first.status < 300, "{below}: {}", first.text);
    let again = keyed(site, "k1", below, &body).await;
    assert_eq!(again.status, first.status, "{below}");
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.headers.get("location"), first.headers.get("location"));
    let (mut made, replayed) = (first.json(), again.json());
    for secret in secrets {
        let shown = made.as_object_mut().expect("a record").remove(*secret).expect("a secret");
        assert!(!again.text.contains(shown.as_str().expect("text")), "{below}: {}", again.text);
        let kept = replayed.get(*secret);
        assert!(kept.is_none_or(Value::is_null), "{below}: {replayed}");
    }
    for (name, value) in made.as_object().expect("a record") {
        assert_eq!(&replayed[name], value, "{below}: {name}");
    }
    keyed(site, "k1", below, &other).await.error(ErrorCode::Conflict);
    let fresh = keyed(site, "k2", below, &other).await;
    assert!(fresh.status < 300 && !fresh.headers.contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn the_same_key_gives_the_first_answer_again_without_secrets() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (ada, bob) = (json!({"email": "ada@example.com"}), json!({"email": "bob@example.com"}));
    check(&site, "/members", ada, bob, &[]).await;
    let (one, two) = (json!({"role": "editor"}), json!({"role": "reviewer"}));
    check(&site, "/grants", one, two, &["url"]).await;
    let (one, two) = (json!({}), json!({"expires_in_s": 60}));
    check(&site, "/preview-tokens", one, two, &["token", "url"]).await;
    let one = json!({"collections": ["safe"], "operations": ["read"]});
    let two = json!({"collections": ["safe"], "operations": ["count"]});
    check(&site, "/credentials", one, two, &["token"]).await;
    let items = site.get("/credentials").await.expect(200);
    let id = items["items"][0]["id"].as_str().expect("an id").to_owned();
    let path = format!("/credentials/{id}/rotate");
    check(&site, &path, json!({}), json!({"overlap_s": 9}), &["token"]).await;
    for (list, made) in [("members", 3), ("grants", 2), ("credentials", 2)] {
        let listed = site.get(&format!("/{list}")).await.expect(200);
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(made), "{list}");
    }
    assert_eq!(world.server.mails("ada@example.com").await.len(), 1, "invited once");
}

#[tokio::test]
async fn a_rotated_share_link_is_shown_by_the_record_and_not_by_a_replay() {
    let world = World::start().await;
    let site = world.site("link").await;
    let first = keyed(&site, "k", "/share-link/rotate", &json!({})).await.expect(200);
    let again = keyed(&site, "k", "/share-link/rotate", &json!({})).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(200)["share_url"], Value::Null);
    assert_eq!(site.get("").await.expect(200)["share_url"], first["share_url"]);
}

#[tokio::test]
async fn a_key_is_of_one_caller_one_app_and_one_route() {
    let world = World::start().await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    let sibling = world.server.agent(&world.owner).await;
    let body = json!({"role": "editor"});
    let first = keyed(&site, "k", "/grants", &body).await.expect(201);
    let elsewhere = keyed(&other, "k", "/grants", &body).await.expect(201);
    let request = world.server.by_agent(&sibling, Method::POST, &site.path("/grants"));
    let theirs = Answer::of(request.header("idempotency-key", "k").json(&body)).await.expect(201);
    keyed(&site, "k", "/preview-tokens", &json!({})).await.expect(201);
    assert!(first["id"] != elsewhere["id"] && first["id"] != theirs["id"]);
    let long = "k".repeat(256);
    keyed(&site, &long, "/grants", &body).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_day_later_a_key_is_new() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"role": "editor"});
    let first = keyed(&site, "k", "/grants", &body).await.expect(201);
    world.pass_seconds(86_401);
    let second = keyed(&site, "k", "/grants", &body).await.expect(201);
    assert_ne!(first["id"], second["id"]);
}

#[tokio::test]
async fn a_test_session_token_is_shown_once() {
    let world = World::start().await;
    let site = world.site("private").await;
    let path = "/test-session-tokens";
    let first = keyed(&site, "k", path, &json!({})).await;
    assert!(first.expect(201)["token"].is_string());
    let again = keyed(&site, "k", path, &json!({})).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert!(again.expect(201).get("token").is_none_or(Value::is_null));
}

#[tokio::test]
async fn what_has_ended_since_is_still_answered_as_the_first_time() {
    let world = World::start().await;
    let site = world.site("private").await;
    let end = START.plus_seconds(60);
    let grant = json!({"role": "editor", "expires_at": end});
    let preview = json!({"expires_at": end});
    let member = json!({"email": "ada@example.com", "custom_role": "editor"});
    let requests = [("/grants", grant), ("/preview-tokens", preview), ("/members", member)];
    let mut first = Vec::new();
    for (below, body) in &requests {
        first.push(keyed(&site, "k", below, body).await.expect(201));
    }
    world.pass_seconds(61);
    let mut without_roles = manifest();
    without_roles["roles"] = json!({});
    for collection in
        without_roles["collections"].as_object_mut().expect("collections").values_mut()
    {
        let lists = collection["permissions"].as_object_mut().expect("lists");
        for subjects in lists.values_mut() {
            *subjects = json!(["owner"]);
        }
    }
    let body = json!({"html": "<p>", "manifest": without_roles, "force": true});
    site.post("/versions", body).await.expect(201);
    for ((below, body), first) in requests.iter().zip(first) {
        let again = keyed(&site, "k", below, body).await;
        assert_eq!(again.expect(201)["created_at"], first["created_at"], "{below}");
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    for (below, body) in &requests {
        site.post(below, body.clone()).await.error(ErrorCode::InvalidRequest);
    }
}

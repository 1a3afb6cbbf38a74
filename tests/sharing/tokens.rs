//! Rotation of a credential's token: both work while they overlap, and no longer.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Site, World, text};
use crate::harness::{Answer, START};

async fn works(site: &Site<'_>, token: &str) -> bool {
    let answer = Answer::of(site.with(token, Method::GET, "/collections/safe")).await;
    if answer.status != 200 {
        answer.error(ErrorCode::Unauthorized);
    }
    answer.status == 200
}

async fn rotate(site: &Site<'_>, id: &str, body: Value) -> Value {
    site.post(&format!("/credentials/{id}/rotate"), body).await.expect(200)
}

async fn minted(site: &Site<'_>) -> (String, String) {
    site.credential(json!({"collections": ["safe"], "operations": ["read"]})).await
}

#[tokio::test]
async fn the_old_token_works_for_an_hour_and_not_a_second_longer() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, old) = minted(&site).await;
    let bare = Answer::of(site.request(Method::POST, &format!("/credentials/{id}/rotate"))).await;
    let rotated = bare.expect(200);
    let new = text(&rotated, "token");
    assert_ne!(new, old);
    assert!(new.starts_with(&text(&rotated, "prefix")));
    assert_eq!(rotated["previous_token_expires_at"], json!(START.plus_seconds(3_600)));
    world.pass_seconds(3_599);
    assert!(works(&site, &old).await && works(&site, &new).await);
    world.pass_seconds(1);
    assert!(!works(&site, &old).await && works(&site, &new).await);
}

#[tokio::test]
async fn without_overlap_the_old_token_ends_at_once() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, old) = minted(&site).await;
    let new = text(&rotate(&site, &id, json!({"overlap_s": 0})).await, "token");
    assert!(!works(&site, &old).await && works(&site, &new).await);
    // A rotation never gives an older token more time than it had.
    let newer = text(&rotate(&site, &id, json!({"overlap_s": 10})).await, "token");
    let newest = text(&rotate(&site, &id, json!({"overlap_s": 1_000})).await, "token");
    world.pass_seconds(10);
    assert!(!works(&site, &new).await && works(&site, &newer).await && works(&site, &newest).await);
}

#[tokio::test]
async fn tokens_that_overlap_are_bounded_and_the_bound_passes_with_time() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, first) = minted(&site).await;
    for _ in 0..9 {
        rotate(&site, &id, json!({"overlap_s": 100})).await;
    }
    let full = site.post(&format!("/credentials/{id}/rotate"), json!({"overlap_s": 100})).await;
    full.error(ErrorCode::Conflict);
    assert!(works(&site, &first).await);
    world.pass_seconds(100);
    assert!(!works(&site, &first).await);
    rotate(&site, &id, json!({"overlap_s": 100})).await;
}

#[tokio::test]
async fn the_overlap_has_bounds_and_a_name() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, _) = minted(&site).await;
    for (body, name) in [
        (json!({"overlap_s": -1}), "overlap_s"),
        (json!({"overlap_s": 604_801}), "overlap_s"),
        (json!({"overlap_s": "1h"}), "overlap_s"),
        (json!({"grace": 1}), "grace"),
    ] {
        let answer = site.post(&format!("/credentials/{id}/rotate"), body).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains(name), "{error}");
    }
    rotate(&site, &id, json!({"overlap_s": 604_800})).await;
}

#[tokio::test]
async fn both_tokens_stop_while_it_is_paused_and_for_ever_when_it_is_revoked() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, old) = minted(&site).await;
    site.post(&format!("/credentials/{id}/pause"), json!({})).await.expect(200);
    let rotated = rotate(&site, &id, json!({})).await;
    assert_eq!(rotated["status"], "paused");
    let new = text(&rotated, "token");
    assert!(!works(&site, &old).await && !works(&site, &new).await);
    site.post(&format!("/credentials/{id}/resume"), json!({})).await.expect(200);
    assert!(works(&site, &old).await && works(&site, &new).await);
    assert_eq!(site.delete(&format!("/credentials/{id}")).await.status, 204);
    assert!(!works(&site, &old).await && !works(&site, &new).await);
}

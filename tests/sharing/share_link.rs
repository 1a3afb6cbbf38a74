//! Rotation of the share link.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{World, text, token_of};
use crate::harness::Answer;

#[tokio::test]
async fn another_link_opens_the_app_and_the_old_one_shows_everybody_out() {
    let world = World::start().await;
    let site = world.site("link").await;
    let old = site.below(&text(&site.get("").await.expect(200), "share_url"));
    let visitor = token_of(&site.open(&old).await);
    site.see(&visitor, "/s/session").await.expect(200);
    let rotated = site.post("/share-link/rotate", json!({})).await.expect(200);
    let new = site.below(&text(&rotated, "share_url"));
    assert_ne!(old, new);
    assert_eq!(site.get("").await.expect(200)["share_url"], rotated["share_url"]);
    site.see(&visitor, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    site.open(&old).await.error(ErrorCode::Unauthorized);
    site.see(&token_of(&site.open(&new).await), "/s/session").await.expect(200);
    let bare = Answer::of(site.request(Method::POST, "/share-link/rotate")).await;
    assert_ne!(bare.expect(200)["share_url"], rotated["share_url"]);
}

#[tokio::test]
async fn only_an_app_with_a_link_has_one_to_rotate() {
    let world = World::start().await;
    for visibility in ["private", "public"] {
        let site = world.site(visibility).await;
        site.post("/share-link/rotate", json!({})).await.error(ErrorCode::Conflict);
        assert_eq!(site.get("").await.expect(200)["share_url"], Value::Null);
    }
    let site = world.site("link").await;
    let odd = site.post("/share-link/rotate", json!({"again": true})).await;
    let error = odd.error(ErrorCode::InvalidRequest);
    assert!(error["message"].as_str().expect("text").contains("again"), "{error}");
}

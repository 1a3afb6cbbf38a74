//! What ends by itself: links, previews and tokens at their time, by the server's clock.

use std::time::Duration;

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{World, text, token_of};
use crate::harness::{Answer, START};

/// What a poll is answered, long before the minute that it waits is over.
async fn soon(poll: impl Future<Output = Answer>) -> Answer {
    tokio::time::timeout(Duration::from_secs(30), poll).await.expect("an answer")
}

#[tokio::test]
async fn a_grant_link_ends_for_everybody_at_its_time() {
    let world = World::start().await;
    let site = world.site("private").await;
    let end = START.plus_seconds(60);
    let (id, path) = site.grant(json!({"role": "editor", "expires_at": end})).await;
    let token = token_of(&site.open(&path).await);
    world.pass_seconds(59);
    site.see(&token, "/s/collections/desk").await.expect(200);
    world.pass_seconds(1);
    site.see(&token, "/s/collections/desk").await.error(ErrorCode::ParticipantTokenInvalid);
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    assert_eq!(site.get("/grants").await.expect(200)["items"][0]["state"], "expired");
    assert_eq!(site.delete(&format!("/grants/{id}")).await.status, 204);
    assert_eq!(site.get("/grants").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_preview_ends_at_its_time_and_makes_room_for_another() {
    let world = World::start().await;
    let site = world.site("private").await;
    let made = site.post("/preview-tokens", json!({"expires_in_s": 60})).await.expect(201);
    let (id, path) = (text(&made, "id"), site.below(&text(&made, "url")));
    let token = token_of(&site.open(&path).await);
    world.pass_seconds(59);
    site.see(&token, "/s/collections/board").await.expect(200);
    world.pass_seconds(1);
    site.see(&token, "/s/collections/board").await.error(ErrorCode::ParticipantTokenInvalid);
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    site.looker().await;
    assert_eq!(site.delete(&format!("/preview-tokens/{id}")).await.status, 204);
}

#[tokio::test]
async fn a_poll_that_outlasts_its_link_says_so() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, path) = site.grant(json!({"role": "editor", "expires_in_s": 1})).await;
    let token = token_of(&site.open(&path).await);
    let since = text(&site.see(&token, "/s/feed?wait=0").await.expect(200), "cursor");
    let wait = format!("/s/feed?since={since}&wait=60");
    let clock = async {
        site.until_followed().await;
        world.pass_seconds(1);
    };
    // Nothing happens in the app: the poll looks again when the link ends.
    let (poll, ()) = tokio::join!(soon(site.see(&token, &wait)), clock);
    poll.error(ErrorCode::ParticipantTokenInvalid);
}

#[tokio::test]
async fn a_poll_that_outlasts_a_rotated_token_says_so_at_the_next_event_or_when_it_ends() {
    let world = World::start().await;
    let site = world.site("private").await;
    for (overlap_s, is_event) in [(1_000, true), (1, false)] {
        let body = json!({"collections": ["safe"], "operations": ["read"]});
        let (id, token) = site.credential(body).await;
        let path = format!("/credentials/{id}/rotate");
        site.post(&path, json!({"overlap_s": overlap_s})).await.expect(200);
        let follow = async |query: String| Answer::of(site.with(&token, Method::GET, &query)).await;
        let since = text(&follow("/feed?wait=0".into()).await.expect(200), "cursor");
        let over = async {
            site.until_followed().await;
            world.pass_seconds(overlap_s);
            if is_event {
                site.row("safe", "secret").await;
            }
        };
        let poll = soon(follow(format!("/feed?since={since}&wait=60")));
        let (poll, ()) = tokio::join!(poll, over);
        poll.error(ErrorCode::Unauthorized);
    }
}

#[tokio::test]
async fn what_has_ended_is_swept_and_stays_ended() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"collections": ["safe"], "operations": ["read"]});
    let (id, old) = site.credential(body).await;
    let rotated = site.post(&format!("/credentials/{id}/rotate"), json!({})).await.expect(200);
    let new = text(&rotated, "token");
    let (_, path) = site.grant(json!({"role": "editor", "expires_in_s": 60})).await;
    let holder = token_of(&site.open(&path).await);
    world.pass_seconds(7_200);
    let db = &world.server.state().rooms.db;
    let now = world.server.state().clock.now();
    while rookery_storage::expiry::sweep(db, now).await.expect("swept") {}
    let list =
        async |token: &str| Answer::of(site.with(token, Method::GET, "/collections/safe")).await;
    list(&old).await.error(ErrorCode::Unauthorized);
    list(&new).await.expect(200);
    site.see(&holder, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    let listed = site.get("/credentials").await.expect(200);
    assert_eq!(listed["items"][0]["prefix"], rotated["prefix"]);
    assert_eq!(listed["items"][0].get("previous_token_expires_at"), None::<&Value>);
}

//! The share link: its rotation, and what it does not take from who is in already.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Site, World, text, token_of};
use crate::harness::{Answer, Human};

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
    site.see(&visitor, "/s/session").await.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    site.open(&old).await.error_of_its_own(ErrorCode::Unauthorized);
    site.see(&token_of(&site.open(&new).await), "/s/session").await.expect(200);
    let bare = Answer::of(site.request(Method::POST, "/share-link/rotate")).await;
    assert_ne!(bare.expect(200)["share_url"], rotated["share_url"]);
}

#[tokio::test]
async fn a_visitor_who_waits_is_told_of_a_rotated_link_as_with_its_next_request() {
    let world = World::start().await;
    let site = world.site("link").await;
    let link = site.below(&text(&site.get("").await.expect(200), "share_url"));
    let visitor = token_of(&site.open(&link).await);
    let since = text(&site.see(&visitor, "/s/feed?wait=0").await.expect(200), "cursor");
    let rotated = async {
        site.until_followed().await;
        site.post("/share-link/rotate", json!({})).await.expect(200);
    };
    let wait = format!("/s/feed?since={since}&wait=60");
    let (poll, ()) = tokio::join!(site.see(&visitor, &wait), rotated);
    for answer in [poll, site.see(&visitor, "/s/feed?wait=0").await] {
        answer.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    }
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

/// A visitor's way through the app's own addresses, as a browser with one cookie goes it.
async fn follow(site: &Site<'_>, token: &str, path: &str) -> Answer {
    let cookie = format!("service_participant={token}");
    Answer::of(site.visit(Method::GET, path).header("cookie", cookie)).await
}

#[tokio::test]
async fn who_came_by_a_grant_link_keeps_the_role_behind_the_share_link() {
    let world = World::start().await;
    let site = world.site("link").await;
    let share = site.below(&text(&site.get("").await.expect(200), "share_url"));
    let (grant, holder) = site.holder("editor").await;
    let opened = follow(&site, &holder, &share).await;
    assert_eq!((opened.status, opened.header("location")), (303, "/"));
    assert!(!opened.headers.contains_key("set-cookie"), "it stays who it is");
    assert_eq!(site.see(&holder, "/s/session").await.expect(200)["custom_role"], "editor");
    // Once its own link has ended, the share link lets it in as anybody.
    assert_eq!(site.delete(&format!("/grants/{grant}")).await.status, 204);
    let anybody = token_of(&follow(&site, &holder, &share).await);
    let me = site.see(&anybody, "/s/session").await.expect(200);
    assert_eq!((&me["kind"], &me["custom_role"]), (&json!("anonymous"), &Value::Null));
}

#[tokio::test]
async fn signing_in_with_an_account_that_is_not_let_in_takes_nothing_from_who_came_by_a_link() {
    let world = World::start().await;
    let site = world.site("private").await;
    let callback = async |human: &Human| {
        let path = format!("/authorize?app={}&return_to=/notes", site.app.slug);
        let led = Answer::of(world.server.by(human, Method::GET, &path)).await;
        site.below(led.header("location"))
    };
    let stranger = world.server.human("stranger@example.org").await;
    let (_, holder) = site.holder("editor").await;
    let (_, looker) = site.looker().await;
    for visitor in [&holder, &looker] {
        let back = follow(&site, visitor, &callback(&stranger).await).await;
        assert_eq!((back.status, back.header("location")), (303, "/notes"));
        assert!(!back.headers.contains_key("set-cookie"), "it stays who it is");
        site.see(visitor, "/s/session").await.expect(200);
    }
    // An account that is let in is what it becomes, and one that has nothing to lose is told so.
    let (member, id, _) = site.member("member@example.org", None).await;
    let entered = token_of(&follow(&site, &holder, &callback(&member).await).await);
    assert_eq!(site.see(&entered, "/s/session").await.expect(200)["id"], json!(id));
    let outside = token_of(&follow(&site, &entered, &callback(&stranger).await).await);
    site.see(&outside, "/s/session").await.error_of_its_own(ErrorCode::Unauthorized);
}

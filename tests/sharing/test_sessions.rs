//! Test sessions: a client without a browser becomes the owner on an app's origin.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use super::world::{Site, World, text};
use crate::harness::{Answer, START, forged};

async fn mint(site: &Site<'_>) -> String {
    text(&site.post("/test-session-tokens", json!({})).await.expect(201), "token")
}

async fn redeem(site: &Site<'_>, token: &str) -> Answer {
    Answer::of(site.visit(Method::POST, "/s/session").json(&json!({"token": token}))).await
}

#[tokio::test]
async fn a_token_is_redeemed_once_for_a_session_of_the_owner() {
    let world = World::start().await;
    let site = world.site("private").await;
    let made = site.post("/test-session-tokens", json!({})).await;
    let record = made.expect(201);
    assert_eq!(made.header("location"), format!("{}/s/session", site.origin()));
    assert_eq!(record["expires_at"], json!(START.plus_seconds(600)));
    let token = text(&record, "token");
    let session = redeem(&site, &token).await.expect(201);
    assert_eq!((&session["kind"], &session["role"]), (&json!("human"), &json!("owner")));
    let participant = text(&session, "token");
    site.row("safe", "k").await;
    site.see(&participant, "/s/collections/safe/k").await.expect(200);
    redeem(&site, &token).await.error(ErrorCode::GrantInvalid);
    site.see(&participant, "/s/session").await.expect(200);
}

#[tokio::test]
async fn a_token_ends_after_ten_minutes_and_is_of_one_app() {
    let world = World::start().await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    let (late, foreign) = (mint(&site).await, mint(&site).await);
    redeem(&other, &foreign).await.error(ErrorCode::GrantInvalid);
    // Whoever has shown it to another app may have lost it there: it is spent.
    redeem(&site, &foreign).await.error(ErrorCode::GrantInvalid);
    world.pass_seconds(600);
    redeem(&site, &late).await.error(ErrorCode::GrantInvalid);
    let forged = forged(&late);
    for wrong in ["nonsense", &forged, &world.agent.key] {
        redeem(&site, wrong).await.error(ErrorCode::GrantInvalid);
    }
}

#[tokio::test]
async fn another_sites_page_does_not_choose_who_its_visitor_is() {
    let world = World::start().await;
    let site = world.site("private").await;
    let token = mint(&site).await;
    let evil = site.visit(Method::POST, "/s/session").header("origin", "https://evil.example");
    let evil = Answer::of(evil.json(&json!({"token": token}))).await;
    evil.error(ErrorCode::CsrfOriginMismatch);
    redeem(&site, &token).await.expect(201);
}

#[tokio::test]
async fn an_admin_of_the_apps_organization_tests_as_itself() {
    let world = World::start().await;
    let site = world.site("private").await;
    let admin = world.server.human("admin@example.com").await;
    let by = |human, method, path: &str| world.server.by(human, method, path);
    let org = by(&world.owner, Method::POST, "/v1/orgs").json(&json!({"name": "Crew"}));
    let org = text(&Answer::of(org).await.expect(201), "id");
    let body = json!({"email": admin.email, "role": "admin"});
    let path = format!("/v1/orgs/{org}/members");
    Answer::of(by(&world.owner, Method::POST, &path).json(&body)).await.expect(201);
    site.patch("", json!({"org_id": org})).await.expect(200);
    let made = by(&admin, Method::POST, &site.path("/test-session-tokens")).json(&json!({}));
    let token = text(&Answer::of(made).await.expect(201), "token");
    let session = redeem(&site, &token).await.expect(201);
    assert_eq!(session["role"], "owner");
    assert_ne!(session["id"], site.app.record["owner"]["id"]);
}

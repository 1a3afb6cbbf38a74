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
    let spent = redeem(&site, &token).await.error_of_its_own(ErrorCode::GrantInvalid);
    assert!(spent["hint"].to_string().contains("test-session-tokens"), "{spent}");
    site.see(&participant, "/s/session").await.expect(200);
}

#[tokio::test]
async fn a_token_ends_after_ten_minutes_and_is_of_one_app() {
    let world = World::start().await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    let (late, foreign) = (mint(&site).await, mint(&site).await);
    redeem(&other, &foreign).await.error_of_its_own(ErrorCode::GrantInvalid);
    // It was not spent there.
    redeem(&site, &foreign).await.expect(201);
    world.pass_seconds(600);
    redeem(&site, &late).await.error_of_its_own(ErrorCode::GrantInvalid);
    let forged = forged(&late);
    for wrong in ["nonsense", &forged, &world.agent.key] {
        redeem(&site, wrong).await.error_of_its_own(ErrorCode::GrantInvalid);
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

/// What the owner's human does to its agent.
async fn order(world: &World, verb: &str) {
    let path = format!("/v1/self/agents/{}/{verb}", world.agent.id);
    let answer = Answer::of(world.server.by(&world.owner, Method::POST, &path)).await;
    assert!(matches!(answer.status, 200 | 204), "{}", answer.text);
}

#[tokio::test]
async fn what_an_agent_made_is_good_while_its_key_is() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (spent, later) = (mint(&site).await, mint(&site).await);
    let path = site.path("/test-session-tokens");
    let humans = Answer::of(world.server.by(&world.owner, Method::POST, &path)).await.expect(201);
    let humans = text(&redeem(&site, &text(&humans, "token")).await.expect(201), "token");
    let agents = text(&redeem(&site, &spent).await.expect(201), "token");
    let waiting = mint(&site).await;
    let answers = async |token: &str| site.see(token, "/s/session").await.status;

    order(&world, "pause").await;
    site.see(&agents, "/s/collections/safe").await.error(ErrorCode::ParticipantTokenInvalid);
    assert_eq!(answers(&humans).await, 200);
    redeem(&site, &waiting).await.error_of_its_own(ErrorCode::GrantInvalid);
    order(&world, "resume").await;
    assert_eq!(answers(&agents).await, 200);
    redeem(&site, &waiting).await.expect(201);

    // A poll ends with the key, in that moment.
    let since = text(&site.see(&agents, "/s/feed?wait=0").await.expect(200), "cursor");
    let wait = format!("/s/feed?since={since}&wait=60");
    let revoked = async {
        site.until_followed().await;
        order(&world, "revoke-key").await;
    };
    let (poll, ()) = tokio::join!(site.see(&agents, &wait), revoked);
    poll.error(ErrorCode::ParticipantTokenInvalid);
    redeem(&site, &later).await.error_of_its_own(ErrorCode::GrantInvalid);
    assert_eq!(answers(&agents).await, 401);
    assert_eq!(answers(&humans).await, 200);
}

#[tokio::test]
async fn what_an_agent_made_stays_when_its_human_signs_out() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (agents, waiting) = (mint(&site).await, mint(&site).await);
    let agents = text(&redeem(&site, &agents).await.expect(201), "token");
    let path = site.path("/test-session-tokens");
    let humans = async || {
        let made = Answer::of(world.server.by(&world.owner, Method::POST, &path)).await;
        text(&made.expect(201), "token")
    };
    let (used, unused) = (humans().await, humans().await);
    let used = text(&redeem(&site, &used).await.expect(201), "token");
    let out = world.server.by(&world.owner, Method::POST, "/v1/auth/logout");
    assert_eq!(Answer::of(out).await.status, 204);
    site.see(&used, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    redeem(&site, &unused).await.error_of_its_own(ErrorCode::GrantInvalid);
    site.see(&agents, "/s/session").await.expect(200);
    redeem(&site, &waiting).await.expect(201);
}

#[tokio::test]
async fn a_sessions_end_with_its_key_outlives_a_restart_and_other_keys_do_not_count() {
    let world = World::start().await;
    let site = world.site("private").await;
    let host = site.origin().split_once("://").expect("an origin").1.to_owned();
    let other = Answer::of(world.server.call(Method::POST, "/v1/keys", &world.agent.key)).await;
    let other = text(&other.expect(201), "secret");
    let minted = site.with(&other, Method::POST, "/test-session-tokens");
    let minted = text(&Answer::of(minted).await.expect(201), "token");
    let by_other = text(&redeem(&site, &minted).await.expect(201), "token");
    let by_first = text(&redeem(&site, &mint(&site).await).await.expect(201), "token");
    let own = format!("/v1/keys/{}", world.agent.key_id);
    assert_eq!(
        Answer::of(world.server.call(Method::DELETE, &own, &world.agent.key)).await.status,
        204
    );
    let server = world.server.restart().await;
    let status = async |token: &str| {
        let asked = server.request(Method::GET, "/s/session").header("host", &host);
        Answer::of(asked.header("x-service-participant-token", token)).await.status
    };
    assert_eq!((status(&by_first).await, status(&by_other).await), (401, 200));
}

#[tokio::test]
async fn a_share_link_does_not_loosen_a_session_from_its_key() {
    let world = World::start().await;
    let site = world.site("link").await;
    let link = site.below(&text(&site.get("").await.expect(200), "share_url"));
    let session = text(&redeem(&site, &mint(&site).await).await.expect(201), "token");
    let cookie = format!("service_participant={session}");
    let followed = Answer::of(site.visit(Method::GET, &link).header("cookie", cookie)).await;
    assert_eq!(followed.status, 303);
    assert!(!followed.headers.contains_key("set-cookie"), "the owner stays who it is");
    let me = site.see(&session, "/s/session").await.expect(200);
    assert_eq!((&me["kind"], &me["role"]), (&json!("human"), &json!("owner")));
    order(&world, "revoke-key").await;
    site.see(&session, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
}

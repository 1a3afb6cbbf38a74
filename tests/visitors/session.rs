//! `/s/session`: anonymous participants, their cookie, and who may ask in their name.

use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::json;

use super::world::{HTML, Site, World};
use crate::harness::{Answer, TestServer};

async fn enter(site: &Site<'_>) -> Answer {
    Answer::of(site.request(Method::POST, "/s/session").json(&json!({}))).await
}

#[tokio::test]
async fn a_guest_is_nobody_until_it_enters_and_then_itself() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let nobody = site.get("/s/session").await.expect(200);
    assert_eq!((&nobody["id"], &nobody["role"]), (&json!(null), &json!("anyone")));

    let entered = enter(&site).await;
    let made = entered.expect(201);
    assert_eq!((&made["kind"], &made["role"]), (&json!("anonymous"), &json!("anyone")));
    assert_eq!(made["app"], json!({"id": site.app.id(), "slug": "garden"}));
    assert!(made["token"].as_str().expect("a token").starts_with("rk_part_"));
    assert_eq!(entered.header("location"), "/s/session");
    assert_eq!(entered.header("cache-control"), "no-store");

    let cookie = entered.cookie();
    let me = site.get_with("/s/session", &cookie).await.expect(200);
    assert_eq!(me["id"], made["id"]);
    assert!(me.get("token").is_none(), "shown once");
    let other = site.guest().await;
    assert_ne!(json!(other.id), made["id"]);
}

#[tokio::test]
async fn the_cookie_is_out_of_reach_of_scripts_and_bound_to_the_apps_origin() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let cookie = enter(&site).await.header("set-cookie").to_owned();
    let parts: Vec<&str> = cookie.split("; ").collect();
    assert!(parts[0].starts_with("service_participant=rk_part_"), "{cookie}");
    for part in ["Path=/", "HttpOnly", "SameSite=Lax"] {
        assert!(parts.contains(&part), "{cookie}");
    }
    assert!(!cookie.contains("Domain") && !cookie.contains("Secure"), "{cookie}");

    let https = TestServer::builder().set("ROOKERY__SERVER__PUBLIC_URL", "https://localhost:8443");
    let world = World::start_with(https).await;
    let site = world.public("garden", json!({})).await;
    let cookie = enter(&site).await.header("set-cookie").to_owned();
    assert!(cookie.starts_with("__Host-service_participant=rk_part_"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let kept = cookie.split("; ").next().unwrap();
    let me = site.get_with("/s/session", kept).await.expect(200);
    assert!(me["id"].is_string(), "{me}");
    // A name without the prefix may have been set by another app below the same domain.
    let planted = kept.trim_start_matches("__Host-");
    let nobody = site.get_with("/s/session", planted).await.expect(200);
    assert!(nobody["id"].is_null(), "{nobody}");
}

#[tokio::test]
async fn a_token_that_is_unknown_malformed_ended_or_anothers_is_refused() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let other = world.public("forest", json!({})).await;
    let guest = site.guest().await;
    let left = site.guest().await;
    let leave = Answer::of(site.by(&left, Method::DELETE, "/s/session")).await;
    assert_eq!(leave.status, 204);
    let (most, last) = guest.token.split_at(guest.token.len() - 1);
    let forged = format!("{most}{}", if last == "x" { "y" } else { "x" });
    let truncated = guest.token[..20].to_owned();
    for token in [left.token.as_str(), &forged, &truncated, "", "nonsense"] {
        let header = site.request(Method::GET, "/s/session");
        let header = Answer::of(header.header("x-service-participant-token", token)).await;
        header.error(ErrorCode::ParticipantTokenInvalid);
        let cookie = site.get_with("/s/session", &format!("service_participant={token}")).await;
        cookie.error(ErrorCode::ParticipantTokenInvalid);
    }
    let abroad = Answer::of(other.by(&guest, Method::GET, "/s/session")).await;
    abroad.error(ErrorCode::ParticipantTokenInvalid);
    // What is presented is resolved: a bad header does not fall through to a good cookie.
    let both = site.request(Method::GET, "/s/session").header("x-service-participant-token", "x");
    let both = both.header("cookie", format!("service_participant={}", guest.token));
    Answer::of(both).await.error(ErrorCode::ParticipantTokenInvalid);
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let both = site.by(&guest, method, "/s/session").bearer_auth("nonsense");
        Answer::of(both).await.error(ErrorCode::Unauthorized);
    }
    // What a proxy before the service asks for is not for the service.
    let basic = site.by(&guest, Method::GET, "/s/session").basic_auth("a", Some("b"));
    assert_eq!(Answer::of(basic).await.status, 200);
    let unknown = site.by(&guest, Method::GET, "/s/session?zzz=1");
    Answer::of(unknown).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn leaving_twice_is_leaving_and_clears_the_cookie() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let cookie = enter(&site).await.cookie();
    for _ in 0..2 {
        let leave = site.request(Method::DELETE, "/s/session").header("cookie", &cookie);
        let leave = Answer::of(leave.header("origin", site.origin())).await;
        assert_eq!(leave.status, 204);
        assert!(leave.header("set-cookie").contains("Max-Age=0"));
    }
    let gone = site.get_with("/s/session", &cookie).await;
    gone.error(ErrorCode::ParticipantTokenInvalid);
    // A browser that still sends the old cookie gets a new one.
    let again = site.request(Method::POST, "/s/session").header("cookie", &cookie);
    let again = again.header("origin", site.origin()).json(&json!({}));
    assert_ne!(Answer::of(again).await.cookie(), cookie);
}

#[tokio::test]
async fn entering_again_stays_the_same_participant() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let entered = enter(&site).await;
    let again = site.request(Method::POST, "/s/session").header("cookie", entered.cookie());
    let again = Answer::of(again.header("origin", site.origin()).json(&json!({}))).await;
    assert_eq!(again.expect(200)["id"], entered.expect(201)["id"]);
}

#[tokio::test]
async fn only_the_apps_own_page_may_change_things_with_its_cookie() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let sibling = world.public("forest", json!({})).await;
    let cookie = enter(&site).await.cookie();
    let site_origin = world.server.public_url().to_owned();
    let foreign = "https://evil.example".to_owned();
    for origin in ["null".to_owned(), foreign, sibling.origin(), site_origin] {
        for method in [Method::POST, Method::DELETE] {
            let request = site.request(method, "/s/session").header("cookie", &cookie);
            let request = request.header("origin", &origin).json(&json!({}));
            Answer::of(request).await.error(ErrorCode::CsrfOriginMismatch);
        }
        // Without a cookie too: nobody else chooses who a browser is here.
        let fresh = site.request(Method::POST, "/s/session").header("origin", &origin);
        Answer::of(fresh.json(&json!({}))).await.error(ErrorCode::CsrfOriginMismatch);
    }
    let silent = site.request(Method::DELETE, "/s/session").header("cookie", &cookie);
    Answer::of(silent).await.error(ErrorCode::CsrfOriginMismatch);
    let own = site.request(Method::DELETE, "/s/session").header("cookie", &cookie);
    assert_eq!(Answer::of(own.header("origin", site.origin())).await.status, 204);
}

#[tokio::test]
async fn a_private_app_and_a_shared_one_let_no_guest_in() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    site.get("/s/session").await.error_of_its_own(ErrorCode::Unauthorized);
    enter(&site).await.error_of_its_own(ErrorCode::Unauthorized);
    site.set_visibility(Visibility::Public).await;
    let guest = site.guest().await;
    site.set_visibility(Visibility::Link).await;
    enter(&site).await.error_of_its_own(ErrorCode::Unauthorized);
    Answer::of(site.by(&guest, Method::GET, "/s/session"))
        .await
        .error_of_its_own(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn an_unknown_member_of_the_body_is_named() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let typo = site.request(Method::POST, "/s/session").json(&json!({"tokn": "x"}));
    let error = Answer::of(typo).await.error(ErrorCode::InvalidRequest);
    assert!(error["message"].as_str().expect("text").contains("tokn"));
    // Who asks comes first.
    let bad =
        site.request(Method::GET, "/s/session?x=1").header("x-service-participant-token", "no");
    Answer::of(bad).await.error(ErrorCode::ParticipantTokenInvalid);
    let led = site.request(Method::POST, "/s/session").header("origin", "http://elsewhere.example");
    Answer::of(led.json(&json!({"tokn": "x"}))).await.error(ErrorCode::CsrfOriginMismatch);
}

//! The share link: who comes in by it, and when it no longer works.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::json;

use super::{
    authorize::{callback, grant},
    world::{HTML, World},
};
use crate::harness::{Answer, forged};

#[tokio::test]
async fn the_link_in_force_lets_in_and_any_other_does_not() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let token = site.set_visibility(Visibility::Link).await.expect("a token");
    let opened = site.get(&format!("/s/share/{token}")).await;
    assert_eq!(opened.status, 303);
    assert_eq!(opened.header("location"), "/");
    assert_eq!(opened.header("cache-control"), "no-store");
    assert_eq!(opened.header("referrer-policy"), "no-referrer");
    let cookie = opened.cookie();
    let me = site.get_with("/s/session", &cookie).await.expect(200);
    assert_eq!((&me["kind"], &me["role"]), (&json!("anonymous"), &json!("anyone")));
    // The same link again is the same visitor.
    let again = site.get_with(&format!("/s/share/{token}"), &cookie).await;
    assert_eq!(again.status, 303);
    assert!(!again.headers.contains_key("set-cookie"));

    let forged = forged(&token);
    for wrong in ["nonsense", forged.as_str(), &token[..12]] {
        let refused = site.get(&format!("/s/share/{wrong}")).await;
        refused.error_of_its_own(ErrorCode::Unauthorized);
        assert!(!refused.headers.contains_key("set-cookie"));
        let page = site.open(&format!("/s/share/{wrong}"), "").await;
        assert_eq!(page.status, 401);
        assert!(page.text.contains("This link does not work"));
        assert!(page.text.contains("return_to=%2F\""), "not back to a spent link: {}", page.text);
    }
    let head = Answer::of(site.request(Method::HEAD, &format!("/s/share/{token}"))).await;
    assert!(!head.headers.contains_key("set-cookie"), "HEAD makes nobody");
}

#[tokio::test]
async fn leaving_link_and_coming_back_ends_the_link_and_every_visit_by_it() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let old = site.set_visibility(Visibility::Link).await.expect("a token");
    let cookie = site.get(&format!("/s/share/{old}")).await.cookie();

    site.set_visibility(Visibility::Private).await;
    let closed = site.get_with("/s/session", &cookie).await;
    let closed = closed.error_of_its_own(ErrorCode::Unauthorized);
    assert!(closed["hint"].to_string().contains("Sign in to the app's page"), "{closed}");
    site.get(&format!("/s/share/{old}")).await.error(ErrorCode::Unauthorized);

    let new = site.set_visibility(Visibility::Link).await.expect("a token");
    assert_ne!(old, new);
    site.get(&format!("/s/share/{old}")).await.error_of_its_own(ErrorCode::Unauthorized);
    let stale = site.get_with("/s/session", &cookie).await;
    let stale = stale.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    assert!(stale["hint"].to_string().contains("Open the link again"), "{stale}");
    let entered = Answer::of(site.request(Method::POST, "/s/session")).await;
    let entered = entered.error_of_its_own(ErrorCode::Unauthorized);
    assert!(entered["hint"].to_string().contains("by its share link"), "{entered}");
    assert_eq!(site.open("/", &cookie).await.status, 401);
    let fresh = site.get_with(&format!("/s/share/{new}"), &cookie).await;
    assert_eq!(site.open("/", &fresh.cookie()).await.status, 200);
}

#[tokio::test]
async fn a_signed_in_stranger_comes_in_by_the_link_as_itself() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let stranger = world.server.human("stranger@example.com").await;
    let token = site.set_visibility(Visibility::Link).await.expect("a token");
    // Signed in first, then the link.
    let signed_in = callback(&site, &grant(&world, &stranger, "secret").await).await.cookie();
    assert_eq!(site.open("/", &signed_in).await.status, 401, "signing in alone is not enough");
    let opened = site.get_with(&format!("/s/share/{token}"), &signed_in).await;
    let cookie = opened.cookie();
    let me = site.get_with("/s/session", &cookie).await.expect(200);
    assert_eq!(me["id"], json!(world.id_of(&stranger)));
    assert_eq!(me["role"], "anyone");
    let replaced = site.get_with("/s/session", &signed_in).await;
    replaced.error(ErrorCode::ParticipantTokenInvalid);

    // The header's token is replaced as the cookie's is.
    let signed_in = callback(&site, &grant(&world, &stranger, "secret").await).await.cookie();
    let by_header = |path: &str| {
        let (_, token) = signed_in.split_once('=').expect("a cookie");
        site.request(Method::GET, path).header("x-service-participant-token", token)
    };
    let opened = Answer::of(by_header(&format!("/s/share/{token}"))).await;
    assert_eq!(opened.status, 303);
    site.get_with("/s/session", &opened.cookie()).await.expect(200);
    Answer::of(by_header("/s/session")).await.error(ErrorCode::ParticipantTokenInvalid);

    // The same request several times at once: one is given a token, which is good.
    let signed_in = callback(&site, &grant(&world, &stranger, "secret").await).await.cookie();
    let path = format!("/s/share/{token}");
    let opened = join_all((0..6).map(|_| site.get_with(&path, &signed_in))).await;
    assert!(opened.iter().all(|answer| answer.status == 303));
    let is_given = |answer: &&Answer| answer.headers.contains_key("set-cookie");
    let given: Vec<_> = opened.iter().filter(is_given).map(Answer::cookie).collect();
    assert!(!given.is_empty());
    for cookie in given {
        assert_eq!(site.open("/", &cookie).await.status, 200, "no cookie is dead as it is given");
    }

    // The link first, then signed in.
    let linked = site.get(&format!("/s/share/{token}")).await.cookie();
    let grant = grant(&world, &stranger, "secret").await;
    let answer = site.get_with(&format!("/s/callback?grant={grant}"), &linked).await;
    assert_eq!(site.open("/", &answer.cookie()).await.status, 200);
}

#[tokio::test]
async fn whoever_is_in_by_a_right_of_its_own_keeps_its_token() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let owner = callback(&site, &grant(&world, &world.owner, "secret").await).await.cookie();
    let token = site.set_visibility(Visibility::Link).await.expect("a token");
    let opened = site.get_with(&format!("/s/share/{token}"), &owner).await;
    assert_eq!(opened.status, 303);
    assert!(!opened.headers.contains_key("set-cookie"), "{:?}", opened.headers);
    let me = site.get_with("/s/session", &owner).await.expect(200);
    assert_eq!(me["role"], "owner");
}

#[tokio::test]
async fn a_good_link_to_an_app_in_the_trash_says_so() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let token = site.set_visibility(Visibility::Link).await.expect("a token");
    let path = format!("/s/share/{token}");
    let below = |method: Method, verb: &str| {
        Answer::of(world.server.by(&world.owner, method, &format!("/v1/apps/secret{verb}")))
    };
    assert_eq!(below(Method::DELETE, "").await.status, 204);
    site.get(&path).await.error(ErrorCode::SoftDeleted);
    assert_eq!(site.open(&path, "").await.status, 410);
    assert_eq!(below(Method::POST, "/restore").await.status, 200);
    assert_eq!(site.get(&path).await.status, 303);
}

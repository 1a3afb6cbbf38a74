//! What a page is told of its visitor's rights, and the way to sign in that it need not know.

use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::{Value, json};

use super::world::World;
use crate::harness::Answer;

fn manifest() -> Value {
    json!({"collections": {
        "entries": {"permissions": {"read": ["anyone"], "write": ["anyone"], "update": ["creator"],
            "delete": ["owner", "creator"], "countRead": []}},
        "log": {"appendOnly": true, "permissions": {"read": ["owner"], "write": ["anyone"],
            "update": ["anyone"], "delete": ["anyone"], "countRead": ["anyone"]}},
        "inbox": {"permissions": {"read": ["owner"], "write": ["anyone"], "update": ["anyone"],
            "delete": ["anyone"], "countRead": []}},
        "mine": {"permissions": {"read": ["creator"], "write": ["anyone"], "update": ["anyone"],
            "delete": ["owner"], "countRead": []}},
    }})
}

#[tokio::test]
async fn a_visitor_is_told_what_it_may_do() {
    let world = World::start().await;
    let site = world.public("book", manifest()).await;
    let guest = site.guest().await;
    let told = Answer::of(site.by(&guest, Method::GET, "/s/access")).await.expect(200);
    let expected = json!({"collections": {
        "entries": {"read": "all", "write": "all", "update": "creator", "delete": "creator", "count": "none"},
        "log": {"read": "none", "write": "all", "update": "none", "delete": "none", "count": "all"},
        // What is not read is not changed either.
        "inbox": {"read": "none", "write": "all", "update": "none", "delete": "none", "count": "none"},
        "mine": {"read": "creator", "write": "all", "update": "creator", "delete": "none", "count": "none"},
    }});
    assert_eq!(told, expected);
    // Nobody yet may do what an anonymous participant may.
    assert_eq!(site.get("/s/access").await.expect(200), expected);
    let bad = site.request(Method::GET, "/s/access").header("x-service-participant-token", "no");
    Answer::of(bad).await.error(ErrorCode::ParticipantTokenInvalid);
    // Of two, nobody knows which is meant.
    let two = site.by(&guest, Method::GET, "/s/access").header("x-service-participant-token", "no");
    Answer::of(two).await.error(ErrorCode::ParticipantTokenInvalid);
    site.set_visibility(Visibility::Private).await;
    site.get("/s/access").await.error_of_its_own(ErrorCode::Unauthorized);
}

/// What the answer gives the browser, by which it is known again.
fn began(sent: &Answer) -> String {
    sent.cookie().split_once('=').expect("a cookie").1.to_owned()
}

#[tokio::test]
async fn the_way_to_sign_in_leads_to_the_site_and_back_into_the_app_only() {
    let world = World::start().await;
    let site = world.public("book", manifest()).await;
    let sent = site.get("/s/sign-in?return_to=%2Finbox%3Fa%3D1").await;
    assert_eq!(sent.status, 303);
    let authorize = format!("{}/authorize?app=book", world.server.public_url());
    let state = began(&sent);
    let back = format!("{authorize}&state={state}&return_to=%2Finbox%3Fa%3D1");
    assert_eq!(sent.header("location"), back);
    for query in ["", "?utm_source=mail", "?return_to=&fbclid=%ff"] {
        let sent = site.get(&format!("/s/sign-in{query}")).await;
        let state = began(&sent);
        assert_eq!(sent.header("location"), format!("{authorize}&state={state}&return_to=%2F"));
    }
    for elsewhere in
        ["//evil.example", "/%5Cevil.example", "https://evil.example", "/%0d%0aX:1", "/%ff"]
    {
        let refused = site.get(&format!("/s/sign-in?return_to={elsewhere}")).await;
        refused.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn the_solver_and_the_declarations_are_served_beside_the_sdk() {
    let world = World::start().await;
    let site = world.public("book", manifest()).await;
    for (path, kind, needle) in [
        ("/s/solver.js", "text/javascript; charset=utf-8", "postMessage"),
        ("/s/sdk.d.ts", "text/plain; charset=utf-8", "declare namespace Rookery"),
    ] {
        let sent = site.get(path).await;
        assert_eq!((sent.status, sent.header("content-type")), (200, kind));
        assert!(sent.text.contains(needle));
        let again = site.request(Method::GET, path).header("if-none-match", sent.header("etag"));
        assert_eq!(Answer::of(again).await.status, 304);
    }
}

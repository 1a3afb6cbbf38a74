//! `apps_mode = "path"`: apps below `/a/<slug>/` of the site, in a sandbox.

use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::json;

use super::world::{HTML, World};
use crate::harness::{Answer, TestServer};

async fn world() -> World {
    World::start_with(TestServer::builder().set("ROOKERY__APPS_MODE", "path")).await
}

#[tokio::test]
async fn an_app_is_served_below_its_path_in_a_sandbox() {
    let world = world().await;
    let assets = [("css/site.css", "text/css", "body{}")];
    world.deploy("garden", Visibility::Public, json!({}), HTML, &assets).await;
    let page = world.server.get("/a/garden/").await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("<script src=\"/a/garden/s/sdk.js\"></script>"));
    let csp = page.header("content-security-policy");
    assert!(csp.contains("sandbox allow-scripts") && !csp.contains("allow-same-origin"), "{csp}");
    let base = format!("{}/a/garden/", world.server.public_url());
    assert!(csp.contains(&format!("connect-src {base}")), "{csp}");
    let css = world.server.get("/a/garden/css/site.css").await;
    assert_eq!((css.status, css.header("access-control-allow-origin")), (200, "*"));
    let bare = world.server.get("/a/garden?x=1").await;
    assert_eq!((bare.status, bare.header("location")), (308, "/a/garden/?x=1"));
    assert_eq!(world.server.get("/a/no-such/").await.status, 404);
    // The site is where it was.
    assert_eq!(world.server.get("/docs").await.status, 200);
}

#[tokio::test]
async fn a_sandboxed_page_speaks_to_its_app_by_header_and_never_by_cookie() {
    let world = world().await;
    world.deploy("garden", Visibility::Public, json!({}), HTML, &[]).await;
    let preflight = world.server.request(Method::OPTIONS, "/a/garden/s/session");
    let preflight = Answer::of(preflight.header("origin", "null")).await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), "*");
    assert!(preflight.header("access-control-allow-headers").contains("participant-token"));
    assert!(!preflight.headers.contains_key("access-control-allow-credentials"));
    let enter = world.server.request(Method::POST, "/a/garden/s/session").header("origin", "null");
    let enter = Answer::of(enter.json(&json!({}))).await;
    let made = enter.expect(201);
    assert!(!enter.headers.contains_key("set-cookie"));
    assert_eq!(enter.header("access-control-allow-origin"), "*");
    let token = made["token"].as_str().expect("a token");
    let me = world.server.request(Method::GET, "/a/garden/s/session");
    let by_header = Answer::of(me.header("x-service-participant-token", token)).await;
    assert_eq!(by_header.expect(200)["id"], made["id"]);
    let me = world.server.request(Method::GET, "/a/garden/s/session");
    let by_cookie = Answer::of(me.header("cookie", format!("service_participant={token}"))).await;
    assert_eq!(by_cookie.expect(200)["id"], json!(null));
    let error = world.server.get("/a/garden/s/nothing").await;
    error.error(ErrorCode::NotFound);
    assert_eq!(error.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn a_private_app_stays_shut_and_signing_in_does_not_go_in_circles() {
    let world = world().await;
    world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let request = world.server.by(&world.owner, Method::GET, "/a/secret/");
    let page = Answer::of(request.header("accept", "text/html")).await;
    assert_eq!(page.status, 401);
    assert!(!page.text.contains("/authorize"), "{}", page.text);
}

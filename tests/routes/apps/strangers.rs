//! Somebody else's app answers as if it were not there, by id and by slug, on every route.

use reqwest::Method;
use rookery_domain::{ErrorCode, app::AppStatus};
use serde_json::json;

use crate::harness::{Answer, TestServer, apps::HTML};

/// Every route on one app: verb, what follows its id, and a body that would be right.
fn routes() -> Vec<(Method, &'static str, serde_json::Value)> {
    vec![
        (Method::GET, "", json!(null)),
        (Method::GET, "?include_deleted=true", json!(null)),
        (Method::PATCH, "", json!({"timezone": "UTC"})),
        (Method::DELETE, "", json!(null)),
        (Method::POST, "/restore", json!(null)),
        (Method::POST, "/purge", json!(null)),
        (Method::POST, "/versions", json!({"html": HTML})),
        (Method::POST, "/versions?dry_run=true", json!({"html": HTML})),
        (Method::GET, "/document", json!(null)),
        (Method::GET, "/manifest", json!(null)),
        (Method::POST, "/wake", json!(null)),
        (Method::POST, "/migration-mode", json!({"on": true})),
        (Method::GET, "/disclosure", json!(null)),
        (Method::GET, "/roles", json!(null)),
    ]
}

#[tokio::test]
async fn a_stranger_cannot_tell_an_app_from_none() {
    let server = TestServer::start().await;
    let (ann, eve) = (server.owner("ann").await, server.owner("eve").await);
    let app = server.deploy(&ann, json!({"slug": "of-ann", "visibility": "public"})).await;
    let deleted = server.deploy(&ann, json!({"slug": "of-ann-too"})).await;
    Answer::of(server.call(Method::DELETE, &deleted.path(""), &ann)).await;
    let closed = server.directory.app(ann.human, "closed-app", AppStatus::Closed).await.to_string();
    let none = "app_01jjyq5x3ne8h9v2m7c4k6r0st".to_owned();
    let names = [
        app.id.clone(),
        app.slug.clone(),
        deleted.id,
        deleted.slug,
        closed,
        none,
        "hum_01jjyq5x3ne8h9v2m7c4k6r0st".to_owned(),
        "no-such-app".to_owned(),
        "%00".to_owned(),
    ];
    for (method, below, body) in routes() {
        let mut bodies = Vec::new();
        for name in &names {
            let path = format!("/v1/apps/{name}{below}");
            let mut request = server.call(method.clone(), &path, &eve);
            if !body.is_null() {
                request = request.json(&body);
            }
            let answer = Answer::of(request).await;
            let mut error = answer.error(ErrorCode::AppNotFound);
            error["request_id"] = json!(null);
            bodies.push(error);
        }
        bodies.dedup();
        assert_eq!(bodies.len(), 1, "{method} {below}: {bodies:?}");
    }
    let shown = server.get_as(&ann, &app.path("")).await.expect(200);
    assert_eq!(shown["version"], 1);
}

#[tokio::test]
async fn nobody_the_unclaimed_and_strangers_are_told_apart() {
    let server = TestServer::start().await;
    let (ann, mia) = (server.owner("ann").await, server.owner("mia").await);
    let unclaimed = server.unclaimed_agent().await.key;
    let app = server.deploy(&ann, json!({})).await;
    for (method, below, body) in routes() {
        let path = app.path(below);
        let ask = || {
            let request = server.request(method.clone(), &path);
            if body.is_null() { request } else { request.json(&body) }
        };
        Answer::of(ask()).await.error(ErrorCode::Unauthorized);
        Answer::of(ask().bearer_auth("forged")).await.error(ErrorCode::Unauthorized);
        Answer::of(ask().bearer_auth(&unclaimed)).await.error(ErrorCode::AgentNotClaimed);
        let session = format!("service_session={}", mia.session);
        let session = ask().header("cookie", session).header("origin", server.public_url());
        // A stranger's session: an agents' route says so before it looks for the app.
        let agents_only = below.starts_with("/versions");
        let expected = if agents_only { ErrorCode::Forbidden } else { ErrorCode::AppNotFound };
        Answer::of(session).await.error(expected);
        Answer::of(ask().bearer_auth(&mia.key)).await.error(ErrorCode::AppNotFound);
    }
}

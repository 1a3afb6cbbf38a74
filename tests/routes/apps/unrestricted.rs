//! Letting an app reach everything: for whom, in which state, and what that keeps it from.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner, open_collection},
};

async fn set(server: &TestServer, owner: &Owner, app: &App, on: bool) -> Answer {
    let request = server
        .request(Method::POST, &app.path("/unrestricted"))
        .header("cookie", format!("service_session={}", owner.session))
        .header("origin", server.public_url())
        .json(&json!({"on": on}));
    Answer::of(request).await
}

fn csp(answer: &Answer) -> String {
    answer.header("content-security-policy").to_owned()
}

#[tokio::test]
async fn only_a_private_app_without_grants_reaches_everything() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let manifest = json!({"roles": {"editor": {}}});
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    let send = async |method, below: &str, body: Value| {
        server.send(method, &owner, &app.path(below), &body).await
    };
    assert_eq!(app.record["unrestricted"], false);

    send(Method::PATCH, "", json!({"visibility": "public"})).await.expect(200);
    set(&server, &owner, &app, true).await.error(ErrorCode::Conflict);
    send(Method::PATCH, "", json!({"visibility": "private"})).await.expect(200);
    let grant = send(Method::POST, "/grants", json!({"role": "editor"})).await.expect(201);
    set(&server, &owner, &app, true).await.error(ErrorCode::Conflict);
    let below = format!("/grants/{}", grant["id"].as_str().expect("an id"));
    assert_eq!(send(Method::DELETE, &below, json!({})).await.status, 204);

    let feed = send(Method::GET, "/feed", Value::Null).await.expect(200)["cursor"].clone();
    assert_eq!(set(&server, &owner, &app, true).await.expect(200)["unrestricted"], true);
    assert_eq!(set(&server, &owner, &app, true).await.expect(200)["unrestricted"], true);
    let path = format!("/feed?wait=0&since={}", feed.as_str().expect("a cursor"));
    let told = send(Method::GET, &path, Value::Null).await.expect(200);
    assert_eq!(told["events"].as_array().expect("events").len(), 1, "the second changed nothing");
    assert_eq!(told["events"][0]["type"], "app.updated");

    // While it is on, nobody else is let in.
    send(Method::PATCH, "", json!({"visibility": "public"})).await.error(ErrorCode::Conflict);
    send(Method::POST, "/grants", json!({"role": "editor"})).await.error(ErrorCode::Conflict);
    for path in ["/versions?dry_run=true", "/versions"] {
        for mut body in
            [json!({"visibility": "link"}), json!({"manifest": {"visibility": "public"}})]
        {
            body["html"] = "<p>2".into();
            send(Method::POST, path, body).await.error(ErrorCode::Conflict);
        }
    }
    assert_eq!(set(&server, &owner, &app, false).await.expect(200)["unrestricted"], false);
    send(Method::POST, "/grants", json!({"role": "editor"})).await.expect(201);
}

#[tokio::test]
async fn it_is_the_owners_in_person() {
    let server = TestServer::start().await;
    let (owner, other) = (server.owner("ann").await, server.owner("eve").await);
    let app = server.deploy(&owner, json!({})).await;
    let path = app.path("/unrestricted");
    let body = json!({"on": true});
    server.send(Method::POST, &owner, &path, &body).await.error(ErrorCode::Forbidden);
    set(&server, &other, &app, true).await.error(ErrorCode::AppNotFound);
    let request = server.request(Method::POST, &path).json(&body);
    Answer::of(request).await.error_of_its_own(ErrorCode::Unauthorized);
    let foreign = server
        .request(Method::POST, &path)
        .header("cookie", format!("service_session={}", owner.session))
        .header("origin", "https://evil.example")
        .json(&body);
    Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
    assert_eq!(server.get_as(&owner, &app.path("")).await.expect(200)["unrestricted"], false);
}

#[tokio::test]
async fn the_pages_policy_opens_and_closes_with_it() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    // The owner's own visit: a test session.
    let made =
        server.send(Method::POST, &owner, &app.path("/test-session-tokens"), &json!({})).await;
    let token = made.expect(201)["token"].clone();
    let origin = server.state().origins.app_origin(&app.slug);
    let host = origin.split_once("://").expect("an origin").1.to_owned();
    let entered = server.request(Method::POST, "/s/session").header("host", &host);
    let entered = Answer::of(entered.json(&json!({"token": token}))).await;
    let cookie = entered.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let page = async || {
        let request = server.request(Method::GET, "/").header("host", &host);
        let answer = Answer::of(request.header("cookie", &cookie)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        csp(&answer)
    };
    let closed = page().await;
    assert!(closed.contains("connect-src 'self';"), "{closed}");
    set(&server, &owner, &app, true).await.expect(200);
    let open = page().await;
    assert!(open.contains("connect-src * data: blob:") && open.contains("frame-src * data:"));
    assert!(open.contains("script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval';"), "{open}");
    set(&server, &owner, &app, false).await.expect(200);
    assert_eq!(page().await, closed);
}

#[tokio::test]
async fn a_rehearsal_that_it_refuses_tells_what_would_break() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let manifest = json!({"collections": {"a": open_collection()}});
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    set(&server, &owner, &app, true).await.expect(200);
    let body = json!({"html": "<p>hi", "manifest": {"collections": {}}, "visibility": "public"});
    let path = app.path("/versions?dry_run=true");
    let refused = server.send(Method::POST, &owner, &path, &body);
    let error = refused.await.error(ErrorCode::Conflict);
    assert_eq!(error["details"]["breaks"][0]["kind"], "collection_removed", "{error}");
}

//! A deleted app: its owner reads it by saying so, nobody else does, and nothing changes it.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner, guestbook},
};

/// What reads of an app there are, below its path.
const READS: [&str; 14] = [
    "",
    "/collections/entries",
    "/collections/entries/k",
    "/collections/entries/count",
    "/collections/entries/deleted",
    "/collections/entries/retention",
    "/feed",
    "/document",
    "/disclosure",
    "/roles",
    "/members",
    "/grants",
    "/credentials",
    "/usage",
];

async fn deleted(server: &TestServer, owner: &Owner) -> App {
    let manifest = json!({"manifest": guestbook(),
        "input_data": {"entries": [{"key": "k", "data": {"a": 1}}]}});
    let app = server.deploy(owner, manifest).await;
    let path = app.path("");
    assert_eq!(Answer::of(server.call(Method::DELETE, &path, owner)).await.status, 204);
    app
}

#[tokio::test]
async fn every_read_of_a_deleted_app_is_its_owners_on_request() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = deleted(&server, &owner).await;
    for below in READS {
        let path = app.path(below);
        server.get_as(&owner, &path).await.error(ErrorCode::SoftDeleted);
        let refused = format!("{path}?include_deleted=false");
        server.get_as(&owner, &refused).await.error(ErrorCode::SoftDeleted);
        for wrong in ["?include_deleted=1", "?include_deleted=true&include_deleted=true"] {
            let wrong = format!("{path}{wrong}");
            server.get_as(&owner, &wrong).await.error(ErrorCode::InvalidRequest);
        }
        let read = server.get_as(&owner, &format!("{path}?include_deleted=true")).await;
        assert_eq!(read.status, 200, "{below}: {}", read.text);
    }
    let list = app.path("/collections/entries?limit=5&include_deleted=true&sort=key");
    let list = server.get_as(&owner, &list).await.expect(200);
    assert_eq!(list["items"][0]["key"], "k");
    let since = list["feed_cursor"].as_str().expect("a cursor");
    let feed = app.path(&format!("/feed?include_deleted=true&wait=0&since={since}"));
    server.get_as(&owner, &feed).await.expect(200);
    let feed = app.path(&format!("/feed?wait=0&since={since}"));
    server.get_as(&owner, &feed).await.error(ErrorCode::SoftDeleted);
}

#[tokio::test]
async fn nobody_else_reads_a_deleted_app_and_nobody_changes_it() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let member = server.human("bob@example.org").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    let invite = json!({"email": "bob@example.org"});
    server.send(Method::POST, &owner, &app.path("/members"), &invite).await.expect(201);
    let minted = json!({"name": "robot", "mode": "following", "operations": ["read"]});
    let minted = server.send(Method::POST, &owner, &app.path("/credentials"), &minted).await;
    let token = minted.expect(201)["token"].as_str().expect("a token").to_owned();
    let path = app.path("");
    assert_eq!(Answer::of(server.call(Method::DELETE, &path, &owner)).await.status, 204);

    let rows = app.path("/collections/entries?include_deleted=true");
    let asked = Answer::of(server.by(&member, Method::GET, &rows)).await;
    asked.error(ErrorCode::Forbidden);
    let asked = Answer::of(server.request(Method::GET, &rows).bearer_auth(&token)).await;
    asked.error(ErrorCode::Forbidden);
    let stranger = server.owner("eve").await;
    server.get_as(&stranger, &rows).await.error(ErrorCode::AppNotFound);

    for (method, below, body) in [
        (Method::POST, "/collections/entries", json!({"data": {}})),
        (Method::PATCH, "/collections/entries/k", json!({"data": {}})),
        (Method::POST, "/wake", json!({})),
        (Method::PATCH, "", json!({"timezone": "UTC"})),
    ] {
        let plain = server.send(method.clone(), &owner, &app.path(below), &body).await;
        plain.error(ErrorCode::SoftDeleted);
        let path = app.path(&format!("{below}?include_deleted=true"));
        let asked = server.send(method, &owner, &path, &body).await;
        asked.error(ErrorCode::SoftDeleted);
    }
}

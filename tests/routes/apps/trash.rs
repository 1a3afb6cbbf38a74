//! `include_deleted=true` on everything that reads an app: its owner sees it in the trash, nobody
//! else does, and nothing is changed there.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::{
    harness::{Answer, Human, TestServer, apps::App},
    sharing::world::World,
};

/// What reads an app, and what the owner is told of one without a transfer.
const READS: [(&str, u16); 19] = [
    ("", 200),
    ("/members", 200),
    ("/grants?limit=5", 200),
    ("/credentials", 200),
    ("/roles", 200),
    ("/disclosure", 200),
    ("/transfer", 404),
    ("/document", 200),
    ("/manifest", 200),
    ("/types.d.ts", 200),
    ("/analytics", 200),
    ("/usage", 200),
    ("/screenshot", 200),
    ("/collections/safe", 200),
    ("/collections/safe/kept", 200),
    ("/collections/safe/count", 200),
    ("/collections/safe/deleted", 200),
    ("/collections/safe/retention", 200),
    ("/feed", 200),
];

/// Those of them that a member may ask a live app for.
const MEMBERS_TOO: [&str; 2] = ["/analytics", "/usage"];

fn asked(path: &str) -> String {
    let and = if path.contains('?') { '&' } else { '?' };
    format!("{path}{and}include_deleted=true")
}

async fn see(server: &TestServer, who: &Human, app: &App, path: &str) -> Answer {
    Answer::of(server.by(who, Method::GET, &app.path(path))).await
}

#[tokio::test]
async fn the_owner_reads_an_app_in_the_trash_and_nobody_else_does() {
    let world = World::start().await;
    let site = world.site("private").await;
    let server = &world.server;
    let (member, ..) = site.member("ada@example.com", None).await;
    let stranger = server.human("eve@example.com").await;
    let row = json!({"key": "kept", "data": {"n": 1}});
    site.post("/collections/safe", row).await.expect(201);
    let credential = json!({"collections": ["safe"], "operations": ["read"]});
    let credential = site.post("/credentials", credential).await.expect(201);
    let token = credential["token"].as_str().unwrap();

    for (path, status) in READS {
        assert_eq!(site.get(&asked(path)).await.status, status, "live: {path}");
    }
    for path in MEMBERS_TOO {
        assert_eq!(see(server, &member, &site.app, &asked(path)).await.status, 200, "live: {path}");
    }
    assert_eq!(site.delete("").await.status, 204);

    for (path, status) in READS {
        site.get(path).await.error(ErrorCode::SoftDeleted);
        let seen = site.get(&asked(path)).await;
        assert_eq!(seen.status, status, "in the trash: {path}: {}", seen.text);
        // Rows are for agents.
        let of_rows = path.starts_with("/collections") && !path.ends_with("/retention");
        let for_people = !of_rows && !path.starts_with("/feed");
        let in_person = see(server, &world.owner, &site.app, &asked(path)).await.status;
        assert_eq!(in_person, if for_people { status } else { 403 }, "{path}");
        see(server, &member, &site.app, &asked(path)).await.error(ErrorCode::Forbidden);
        let elsewhere = if for_people { ErrorCode::AppNotFound } else { ErrorCode::Forbidden };
        see(server, &stranger, &site.app, &asked(path)).await.error(elsewhere);
    }
    let rows = site.get(&asked("/collections/safe")).await.expect(200);
    assert_eq!(rows["items"][0]["key"], "kept");
    let rows = server.get_as(token, &site.path(&asked("/collections/safe"))).await;
    rows.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn nothing_is_changed_in_the_trash_whatever_is_asked() {
    let world = World::start().await;
    let site = world.site("private").await;
    assert_eq!(site.delete("").await.status, 204);
    for (path, body) in [
        ("/collections/board", json!({"data": {}})),
        ("/members", json!({"email": "ada@example.com"})),
        ("/wake", json!({})),
    ] {
        site.post(&asked(path), body).await.error(ErrorCode::SoftDeleted);
    }
    for (path, code) in [
        ("/members?include_deleted=false", ErrorCode::SoftDeleted),
        ("/members?include_deleted=", ErrorCode::SoftDeleted),
        ("/members?include_deleted=true&limits=1", ErrorCode::InvalidRequest),
        ("/roles?include_deleted=true&limits=1", ErrorCode::InvalidRequest),
    ] {
        site.get(path).await.error(code);
    }
    let restored = Answer::of(site.request(Method::POST, "/restore")).await;
    assert_eq!(restored.status, 200);
    for path in [
        "/members?include_deleted=yes",
        "/members?include_deleted=true&include_deleted=true",
        "/roles?include_deleted=yes",
        "/roles?limit=0",
    ] {
        site.get(path).await.error(ErrorCode::InvalidRequest);
    }
    site.get("/members?include_deleted=false").await.expect(200);
}

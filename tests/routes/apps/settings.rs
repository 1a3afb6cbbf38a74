//! PATCH: visibility with its share token, timezone; and the authored document and manifest.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer, apps::App};

#[tokio::test]
async fn becoming_link_mints_a_token_and_leaving_it_clears_it() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "chosen-name"})).await;
    let set = |visibility: &str| {
        let body = json!({"visibility": visibility});
        let (server, owner, path) = (&server, &owner, app.path(""));
        async move { server.send(Method::PATCH, owner, &path, &body).await.expect(200) }
    };
    assert_eq!(app.record["share_url"], Value::Null);
    let first = set("link").await["share_url"].clone();
    assert!(first.as_str().unwrap().contains("/s/share/rk_share_"));
    assert_eq!(set("link").await["share_url"], first, "the same while it stays link");
    assert_eq!(set("public").await["share_url"], Value::Null);
    let second = set("link").await["share_url"].clone();
    assert_ne!(second, first, "a cleared token never comes back");
    assert_eq!(set("private").await["share_url"], Value::Null);
}

#[tokio::test]
async fn settings_are_checked_and_what_is_left_out_stays() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"visibility": "public"})).await;
    let patch = |body: Value| {
        let (server, owner, path) = (&server, &owner, app.path(""));
        async move { server.send(Method::PATCH, owner, &path, &body).await }
    };
    let changed = patch(json!({"timezone": "America/New_York"})).await.expect(200);
    assert_eq!(
        (&changed["timezone"], &changed["visibility"]),
        (&json!("America/New_York"), &json!("public"))
    );
    let same = patch(json!({})).await.expect(200);
    assert_eq!(same["updated_at"], changed["updated_at"]);
    for (body, named) in [
        (json!({"timezone": "Nowhere/Land"}), "timezone"),
        (json!({"visibility": "open"}), "visibility"),
        (json!({"org_id": "org_1"}), "org_id"),
        (json!({"slug": "new-slug"}), "slug"),
        (json!([]), ""),
    ] {
        let error = patch(body).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
    // The owner may do this in person.
    let request = server.request(Method::PATCH, &app.path("")).json(&json!({"timezone": "UTC"}));
    let request = request.header("cookie", format!("service_session={}", owner.session));
    let by_session = || request.try_clone().unwrap();
    Answer::of(by_session()).await.error(ErrorCode::CsrfOriginMismatch);
    Answer::of(by_session().header("origin", server.public_url())).await.expect(200);
}

#[tokio::test]
async fn a_document_is_shown_as_authored_and_is_no_page_of_the_site() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let html = "<!doctype html><script>steal()</script>\r\n<p>ä</p>";
    let app = server.deploy(&owner, json!({"html": html})).await;
    let answer = server.get_as(&owner, &app.path("/document")).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, html));
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(answer.header("content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let request = server.call(Method::GET, &app.path("/document"), &owner);
    let again = Answer::of(request.header("if-none-match", answer.header("etag"))).await;
    assert_eq!(again.status, 304);
}

#[tokio::test]
async fn a_manifest_is_shown_as_it_was_sent_and_can_be_sent_back() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let text = r#"{ "visibility":"public",  "collections": {"b": {"permissions": {"read": ["owner"],
        "write": ["owner"], "delete": ["owner"]}}, "a": {"permissions": {"write": ["owner"],
        "read": ["owner"], "delete": ["owner"]}}} }"#;
    let body = format!(r#"{{"html": "<p>", "manifest": {text}}}"#);
    let request = server.call(Method::POST, "/v1/apps", &owner);
    let request = request.header("content-type", "application/json").body(body);
    let app = App::of(Answer::of(request).await.expect(201));
    let answer = server.get_as(&owner, &app.path("/manifest")).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, text));
    assert_eq!(answer.header("content-type"), "application/json");
    let request = server.call(Method::GET, &app.path("/manifest"), &owner);
    let again = Answer::of(request.header("if-none-match", answer.header("etag"))).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));

    let mut changed = answer.json();
    changed["collections"]["a"]["permissions"]["read"] = json!(["member"]);
    let body = json!({"html": "<p>", "manifest": changed, "force": true});
    server.send(Method::POST, &owner, &app.path("/versions"), &body).await.expect(201);
    let second = server.get_as(&owner, &app.path("/manifest")).await;
    assert_eq!(second.json(), changed);
    assert_ne!(second.header("etag"), answer.header("etag"));
    // One that is carried over, one that came in the document, and none.
    server.send(Method::POST, &owner, &app.path("/versions"), &json!({"html": "<p>3"})).await;
    let third = server.get_as(&owner, &app.path("/manifest")).await;
    assert_eq!(third.header("etag"), second.header("etag"));
    let html = r#"<script type="application/json" id="x-service-manifest">{"cdn": true}</script>"#;
    let inside = server.deploy(&owner, json!({"html": html})).await;
    assert_eq!(server.get_as(&owner, &inside.path("/manifest")).await.text, r#"{"cdn": true}"#);
    let bare = server.deploy(&owner, json!({})).await;
    assert_eq!(server.get_as(&owner, &bare.path("/manifest")).await.text, "{}");
    // As for the document: the owner in person too, and nobody else.
    let by_session = |session: &str| {
        let request = server.request(Method::GET, &app.path("/manifest"));
        request.header("cookie", format!("service_session={session}"))
    };
    Answer::of(by_session(&owner.session)).await.expect(200);
    let stranger = server.owner("eve").await;
    Answer::of(by_session(&stranger.session)).await.error(ErrorCode::AppNotFound);
    server.get_as(&stranger, &app.path("/manifest")).await.error(ErrorCode::AppNotFound);
}

//! PATCH: visibility with its share token, timezone; and the authored document.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer};

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

//! Which requests are page views.

use reqwest::Method;
use serde_json::json;

use super::{public_app, report, view, visit};
use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner},
};

async fn views(server: &TestServer, owner: &Owner, app: &App) -> u64 {
    report(server, owner, app, "/analytics").await["totals"]["pageviews"].as_u64().unwrap()
}

#[tokio::test]
async fn only_what_somebody_looks_at_is_a_view() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let body = json!({"slug": "garden", "visibility": "public", "assets": [
        {"path": "about.html", "text": "<p>About"}, {"path": "site.css", "text": "p{}"},
    ]});
    let app = server.deploy(&owner, body).await;
    let head = server.request(Method::HEAD, "/").header("host", "garden.localhost");
    let mut unseen = vec![
        head,
        visit(&server, &app, "/site.css"),
        visit(&server, &app, "/s/sdk.js"),
        visit(&server, &app, "/no-such-file.png"),
        visit(&server, &app, "/").header("range", "bytes=0-1"),
    ];
    for (name, value) in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("sec-fetch-dest", "empty"),
    ] {
        unseen.push(visit(&server, &app, "/").header(name, value));
    }
    for bot in ["Googlebot/2.1", "Some Crawler", "spider", "LinkPreview/1"] {
        let request = server.request(Method::GET, "/").header("host", "garden.localhost");
        unseen.push(request.header("user-agent", bot));
    }
    for request in unseen {
        request.send().await.expect("the server answers");
    }
    assert_eq!(views(&server, &owner, &app).await, 0);

    let first = Answer::of(visit(&server, &app, "/")).await;
    view(visit(&server, &app, "/").header("if-none-match", first.header("etag"))).await;
    view(visit(&server, &app, "/about.html").header("sec-fetch-dest", "document")).await;
    view(visit(&server, &app, "/items/7").header("sec-fetch-mode", "navigate")).await;
    let nameless = server.request(Method::GET, "/").header("host", "garden.localhost");
    view(nameless).await;
    assert_eq!(views(&server, &owner, &app).await, 5);
}

#[tokio::test]
async fn a_page_that_is_refused_is_no_view() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let closed = server.deploy(&owner, json!({"slug": "garden"})).await;
    visit(&server, &closed, "/").send().await.expect("the server answers");
    assert_eq!(views(&server, &owner, &closed).await, 0);
    let open = public_app(&server, &owner, "meadow").await;
    server.send(Method::DELETE, &owner, &open.path(""), &json!({})).await;
    visit(&server, &open, "/").send().await.expect("the server answers");
    let restore = open.path("/restore");
    server.send(Method::POST, &owner, &restore, &json!({})).await.expect(200);
    assert_eq!(views(&server, &owner, &open).await, 0);
}

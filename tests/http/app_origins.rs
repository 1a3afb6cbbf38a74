//! Requests to an app's own origin at paths that mean something on the site: there they are pages and
//! files of the app like any other.

use reqwest::{Method, RequestBuilder};
use rookery_domain::ErrorCode;
use serde_json::json;

use crate::{
    harness::{
        Answer, Builder, TestServer,
        apps::{App, Owner},
    },
    routes::domains::Hosted,
};

/// Requests of which the last is surely above the limit of [`limited`].
const MANY: usize = 400;

/// A limit that no test reaches by making an account and an app.
fn limited(builder: Builder) -> Builder {
    let builder = builder.set("ROOKERY__RATE_LIMIT__PER_MINUTE", "60");
    builder.set("ROOKERY__RATE_LIMIT__BURST", "60")
}

/// A server with the oldest client that it takes.
fn dated(builder: Builder) -> Builder {
    builder.set("ROOKERY__SERVER__MIN_CLI_VERSION", "1.4.0")
}

/// Checks that the health of the app at an origin, to which `request` asks for a path, is no secret
/// way around the limit; and that the service's own is told all the same.
async fn is_bounded(server: &TestServer, request: impl Fn(&str) -> RequestBuilder) {
    for path in ["/ready", "/alive"] {
        let mut refused = 0;
        for _ in 0..MANY {
            let answer = Answer::of(request(path)).await;
            if answer.status == 429 {
                refused += 1;
                break;
            }
        }
        assert_eq!(refused, 1, "{path}");
    }
    server.get("/alive").await.expect(200);
    server.until_ready().await;
}

/// Checks that a file below `/v1/` is a file, at an origin that has it, and another one at `/other.txt`.
async fn is_a_file(request: impl Fn(&str) -> RequestBuilder) {
    let of = |path: &str| request(path).header("x-service-cli-version", "1.0.0");
    let file = Answer::of(of("/v1/data.txt")).await;
    let other = Answer::of(of("/other.txt")).await;
    assert_eq!((file.status, &*file.text), (200, "a file"), "{}", file.text);
    for name in ["cache-control", "content-security-policy", "referrer-policy"] {
        assert_eq!(file.headers.get(name), other.headers.get(name), "{name}");
    }
    let unmatched = request("/v1/data.txt").header("if-match", "\"another\"");
    assert_eq!(Answer::of(unmatched).await.status, 412);
    let missing = request("/v1/none").header("sec-fetch-mode", "navigate");
    let missing = Answer::of(missing.header("accept", "text/html")).await;
    assert!(missing.header("content-type").starts_with("text/html"), "{}", missing.text);
}

/// Deploys an app with those files.
async fn deploy(server: &TestServer) -> (Owner, App) {
    let owner = server.owner("ann").await;
    let files = json!([{"path": "v1/data.txt", "text": "a file"},
        {"path": "other.txt", "text": "another"}]);
    let app = json!({"slug": "garden", "visibility": "public", "assets": files});
    let app = server.deploy(&owner, app).await;
    (owner, app)
}

#[tokio::test]
async fn the_limit_holds_for_an_apps_pages_whatever_they_are_called() {
    let server = limited(TestServer::builder()).start().await;
    is_bounded(&server, |path| {
        server.request(Method::GET, path).header("host", "anything.localhost")
    })
    .await;
    let builder = TestServer::builder().set("ROOKERY__APPS_MODE", "path");
    let server = limited(builder).start().await;
    is_bounded(&server, |path| server.request(Method::GET, &format!("/a/anything{path}"))).await;
}

#[tokio::test]
async fn a_file_of_an_app_is_no_part_of_the_api() {
    let server = dated(TestServer::builder()).start().await;
    deploy(&server).await;
    is_a_file(|path| server.request(Method::GET, path).header("host", "garden.localhost")).await;
    let old = server.request(Method::GET, "/v1/openapi.json");
    let old = Answer::of(old.header("x-service-cli-version", "1.0.0")).await;
    old.error(ErrorCode::CliUpgradeRequired);
    // What programs ask an app for is.
    let old = server.request(Method::GET, "/s/session").header("host", "garden.localhost");
    let old = Answer::of(old.header("x-service-cli-version", "1.0.0")).await;
    old.error(ErrorCode::CliUpgradeRequired);
    let server = dated(TestServer::builder().set("ROOKERY__APPS_MODE", "path")).start().await;
    deploy(&server).await;
    is_a_file(|path| server.request(Method::GET, &format!("/a/garden{path}"))).await;
    let old = server.request(Method::GET, "/a/garden/s/session");
    let old = Answer::of(old.header("x-service-cli-version", "1.0.0")).await;
    old.error(ErrorCode::CliUpgradeRequired);
}

#[tokio::test]
async fn a_custom_domain_is_an_apps_origin_too() {
    let domain = "www.example.com";
    let here = Hosted::start_with(limited(dated(TestServer::builder()))).await;
    let (owner, app) = deploy(&here.server).await;
    here.proven(&owner, &app, domain).await;
    let request = |path: &str| here.server.request(Method::GET, path).header("host", domain);
    is_a_file(request).await;
    is_bounded(&here.server, request).await;
}

#[tokio::test]
async fn what_an_apps_own_paths_do_not_have_is_there_for_no_verb() {
    let server = TestServer::start().await;
    deploy(&server).await;
    let by = |method: Method, path: &str| {
        Answer::of(server.request(method, path).header("host", "garden.localhost"))
    };
    for path in ["/s", "/s/", "/s/nope", "/s/collections/notes/rows/nope"] {
        for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE] {
            by(method, path).await.error(ErrorCode::NotFound);
        }
    }
    let known = by(Method::PUT, "/s/collections/notes").await;
    known.error(ErrorCode::MethodNotAllowed);
    assert_eq!(known.header("allow"), "GET,HEAD,POST");
}

//! What apps and accounts used, and how apps' pages were seen: counted in memory, shown complete,
//! kept over restarts.

mod account;
mod analytics;
mod app;
mod countries;
mod mmdb;
mod views;

use reqwest::{Method, RequestBuilder};
use rookery_domain::{Timestamp, time::DAY_S};
use serde_json::{Value, json};

use crate::harness::{
    START, TestServer,
    apps::{App, Owner, guestbook},
};

/// A user agent that is no bot's.
const BROWSER: &str = "Mozilla/5.0 Firefox/140.0";

/// A public app for everybody.
async fn public_app(server: &TestServer, owner: &Owner, slug: &str) -> App {
    let body = json!({"slug": slug, "visibility": "public", "manifest": guestbook()});
    server.deploy(owner, body).await
}

/// A request to an app's own origin, by a browser.
fn visit(server: &TestServer, app: &App, path: &str) -> RequestBuilder {
    let request = server.request(Method::GET, path).header("user-agent", BROWSER);
    request.header("host", format!("{}.localhost", app.slug))
}

/// Opens the app's page.
async fn view(request: RequestBuilder) {
    let status = request.send().await.expect("the server answers").status();
    assert!(status == 200 || status == 304, "{status}");
}

/// Moves the server's clock to this many seconds after its start.
fn at(server: &TestServer, seconds: i64) -> Timestamp {
    let now = START.plus_seconds(seconds);
    server.state().clock.set(now);
    now
}

async fn report(server: &TestServer, owner: &Owner, app: &App, below: &str) -> Value {
    server.get_as(owner, &app.path(below)).await.expect(200)
}

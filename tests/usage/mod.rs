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

/// A public app for everybody, whose views have visitors.
async fn public_app(server: &TestServer, owner: &Owner, slug: &str) -> App {
    store_salt(server).await;
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
async fn at(server: &TestServer, seconds: i64) -> Timestamp {
    let now = START.plus_seconds(seconds);
    server.state().clock.set(now);
    store_salt(server).await;
    now
}

/// Stores the day's salt. A view waits for it no longer than a page may take, which is less than a
/// slow disk takes to write it, and counts without a visitor then.
async fn store_salt(server: &TestServer) {
    let state = server.state();
    let day = state.clock.now().0.div_euclid(DAY_S * 1_000_000);
    let day = i32::try_from(day).expect("days of this era");
    rookery_storage::meters::salt(&state.rooms.db, day, [7; 32]).await.expect("it is stored");
}

async fn report(server: &TestServer, owner: &Owner, app: &App, below: &str) -> Value {
    server.get_as(owner, &app.path(below)).await.expect(200)
}

//! The same with a real browser on a real server: `tests/browser` drives Chromium.

use std::{path::Path, process::Command};

use reqwest::Method;
use rookery_domain::manifest::Visibility;
use rookery_testkit::not_run;
use serde_json::{Value, json};

use super::world::{HTML, World};
use crate::{
    harness::{Answer, TestServer, services},
    routes::domains::Hosted,
};

const PRIVATE: &str = "<!doctype html><title>Private</title><h1>For my eyes</h1>";

/// What the browser tests need, by the Debian package that has it.
pub fn missing_package() -> Option<&'static str> {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    if services::version(&chromium).is_none() { Some("chromium") } else { *services::MISSING_NODE }
}

#[tokio::test]
async fn a_real_browser_meets_apps_as_people_and_attackers_do() {
    if let Some(package) = missing_package() {
        not_run("tests/visitors/browser.rs", package);
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = |file: &str| {
        std::fs::read_to_string(folder.join("examples/guestbook").join(file)).expect("the example")
    };
    let manifest: Value = serde_json::from_str(&example("manifest.json")).expect("JSON");
    let notes = json!({"collections": {"notes": {"permissions": {
        "read": ["owner"], "write": ["owner"], "update": ["owner"], "delete": ["owner"]}}}});
    let challenged = json!({"collections": {"entries": {"antiAbuse": "challenge", "permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["owner"], "delete": ["owner"]}}}});

    let world = World::start().await;
    let open = Visibility::Public;
    let guestbook = world.deploy("guestbook", open, manifest, &example("index.html"), &[]).await;
    let private = world.deploy("diary", Visibility::Private, notes, PRIVATE, &[]).await;
    let challenged = world.deploy("challenged", open, challenged, HTML, &[]).await;
    let hostile = world.deploy("hostile", open, json!({}), HTML, &[]).await;

    let mut browser = Command::new(folder.join("tests/browser/run"));
    browser
        .args(["--live", &format!("{}/", guestbook.origin()), "live.mjs", "visitors.mjs"])
        .env("SITE_URL", world.server.public_url())
        .env("PRIVATE_URL", format!("{}/", private.origin()))
        .env("CHALLENGED_URL", format!("{}/", challenged.origin()))
        .env("HOSTILE_URL", format!("{}/", hostile.origin()))
        .env("OWNER", &world.owner.email);
    finish(browser).await;
}

/// The SDK and the examples against a service of the tests' own, which fails as no real one can be
/// made to. It asks no database, so the run on SQLite is enough.
#[tokio::test]
async fn a_real_browser_runs_the_sdk_against_answers_of_every_kind() {
    if std::env::var("ROOKERY_TEST_DATABASE").is_ok_and(|database| database == "postgres") {
        return;
    }
    if let Some(package) = missing_package() {
        not_run("tests/visitors/browser.rs", package);
        return;
    }
    finish(Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run"))).await;
}

#[tokio::test]
async fn a_real_browser_is_carried_to_an_app_at_a_name_of_its_own() {
    if let Some(package) = missing_package() {
        not_run("tests/visitors/browser.rs", package);
        return;
    }
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({"html": PRIVATE, "visibility": "private"})).await;
    for name in ["www.example.com", "shop.example.com"] {
        here.proven(&owner, &app, name).await;
    }
    here.outside.activate();
    let mut browser = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run"));
    let at = |name: &str| format!("{}/", here.origin(name));
    browser
        .args(["--live", &at("www.example.com"), "domains.mjs"])
        .env("SITE_URL", here.server.public_url())
        .env("ALIAS_URL", at("shop.example.com"))
        .env("APP_ID", &app.id)
        .env("OWNER", "ann@example.org");
    finish(browser).await;
}

#[tokio::test]
async fn a_real_browser_opens_a_private_app_at_a_path() {
    if let Some(package) = missing_package() {
        not_run("tests/visitors/browser.rs", package);
        return;
    }
    let manifest = json!({"collections": {"notes": {"permissions": {
        "read": ["owner"], "write": ["owner"], "update": ["owner"], "delete": ["owner"]}}}});
    let page = "<!doctype html><link rel=stylesheet href=site.css><title>Private</title>\
                <h1>For my eyes</h1><img src=dot.svg><a href=./?again>Again</a>\
                <a href=#below>Below</a><p id=below>The end";
    let assets = [
        ("site.css", "text/css", "h1 { color: red }"),
        ("notes.txt", "text/plain", "kept"),
        ("module.js", "text/javascript", "export const value = 7;"),
        (
            "dot.svg",
            "image/svg+xml",
            "<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>",
        ),
    ];
    let world = TestServer::builder().set("ROOKERY__APPS_MODE", "path");
    let world = World::start_with(world).await;
    world.deploy("diary", Visibility::Private, manifest, page, &assets).await;
    world.deploy("other", Visibility::Private, json!({}), HTML, &[]).await;
    let open = world.server.by(&world.owner, Method::POST, "/v1/apps/other/unrestricted");
    Answer::of(open.json(&json!({"on": true}))).await.expect(200);
    let site = world.server.public_url();
    let mut browser = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run"));
    browser
        .args(["--live", &format!("{site}/a/diary/"), "paths.mjs"])
        .env("SITE_URL", site)
        .env("OTHER_URL", format!("{site}/a/other/"))
        .env("OWNER", &world.owner.email);
    finish(browser).await;
}

/// Runs the scripts, and fails with what they say. The server runs on this test's own thread, which
/// must stay free for it.
async fn finish(mut browser: Command) {
    let ran = tokio::task::spawn_blocking(move || browser.output());
    let ran = ran.await.expect("the runner runs").expect("the runner starts");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}\n{}", String::from_utf8_lossy(&ran.stderr));
}

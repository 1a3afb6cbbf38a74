//! Links in a real browser, on a real server: `tests/browser/sharing.mjs` drives Chromium.

use std::{path::Path, process::Command};

use rookery_testkit::not_run;
use serde_json::json;

use super::world::{World, manifest, text};
use crate::visitors::browser::missing_package;

const HTML: &str = "<!doctype html><title>Desk</title><h1>The desk</h1>";

#[tokio::test]
async fn a_real_browser_is_let_in_by_links_and_shown_out_when_they_end() {
    if let Some(package) = missing_package() {
        not_run("tests/sharing/browser.rs", package);
        return;
    }
    let world = World::start().await;
    let body = json!({"html": HTML, "visibility": "private", "manifest": manifest()});
    let app = world.server.deploy(&world.agent.key, body).await;
    let site = super::world::Site { server: &world.server, world: &world, app };
    site.row("desk", "owners").await;
    site.row("safe", "secret").await;
    let grant = site.post("/grants", json!({"role": "editor"})).await.expect(201);
    let preview = site.post("/preview-tokens", json!({})).await.expect(201);

    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run");
    let mut browser = Command::new(run);
    browser
        .args(["--live", &format!("{}/", site.origin()), "sharing.mjs"])
        .env("APP_API", world.server.url(&site.path("")))
        .env("OWNER_KEY", &world.agent.key)
        .env("GRANT_URL", text(&grant, "url"))
        .env("GRANT_ID", text(&grant, "id"))
        .env("PREVIEW_URL", text(&preview, "url"))
        .env("PREVIEW_ID", text(&preview, "id"));
    // The server runs on this test's own thread, which must stay free for it.
    let ran = tokio::task::spawn_blocking(move || browser.output());
    let ran = ran.await.expect("the runner runs").expect("the runner starts");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}\n{}", String::from_utf8_lossy(&ran.stderr));
}

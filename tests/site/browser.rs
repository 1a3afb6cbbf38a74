//! The site in a real browser on a real, fresh server: `tests/browser/site.mjs` and `looks.mjs`.

use std::{path::Path, process::Command};

use rookery_testkit::not_run;

use crate::{harness::TestServer, visitors::browser::missing_package};

#[tokio::test]
async fn a_real_browser_goes_through_the_site() {
    if let Some(package) = missing_package() {
        not_run("tests/site/browser.rs", package);
        return;
    }
    let server = TestServer::start().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut browser = Command::new(folder.join("tests/browser/run"));
    browser.args(["--site", server.public_url()]);
    // The server runs on this test's own thread, which must stay free for it.
    let ran = tokio::task::spawn_blocking(move || browser.output());
    let ran = ran.await.expect("the runner runs").expect("the runner starts");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}\n{}", String::from_utf8_lossy(&ran.stderr));
}

//! The site in a real browser on real, fresh servers: the scripts of `tests/browser`.

use std::{path::Path, process::Command};

use rookery_testkit::not_run;

use crate::{
    harness::{TestServer, services::Service},
    visitors::browser::missing_package,
};

/// This file, on the list of what could not run.
const TEST: &str = "tests/site/browser.rs";
/// Where the provider sends browsers back to, on whatever port the server has.
const CALLBACK: &str = "http://localhost/v1/auth/idp/callback";

/// Runs scripts of `tests/browser` against `server`: `which`, and what it is told besides.
async fn drive(server: &TestServer, which: &[&str], extra: &[(&str, &str)]) {
    let mut browser = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run"));
    let (script, more) = which.split_first().expect("a script");
    browser.args([script, server.public_url()]).args(more).envs(extra.iter().copied());
    // The server runs on this test's own thread, which must stay free for it.
    let ran = tokio::task::spawn_blocking(move || browser.output());
    let ran = ran.await.expect("the runner runs").expect("the runner starts");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}\n{}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test]
async fn a_real_browser_goes_through_the_site() {
    if let Some(package) = missing_package() {
        not_run(TEST, package);
        return;
    }
    drive(&TestServer::start().await, &["--site"], &[]).await;
}

#[tokio::test]
async fn a_real_browser_looks_at_every_page_on_a_desk() {
    if let Some(package) = missing_package() {
        not_run(TEST, package);
        return;
    }
    drive(&TestServer::start().await, &["--looks", "desk", "desk-dark"], &[]).await;
}

#[tokio::test]
async fn a_real_browser_looks_at_every_page_on_a_phone() {
    if let Some(package) = missing_package() {
        not_run(TEST, package);
        return;
    }
    drive(&TestServer::start().await, &["--looks", "phone", "phone-dark", "narrow"], &[]).await;
}

#[tokio::test]
async fn every_page_is_within_reach_of_large_text_and_the_keyboard() {
    if let Some(package) = missing_package() {
        not_run(TEST, package);
        return;
    }
    drive(&TestServer::start().await, &["--reach"], &[]).await;
}

#[tokio::test]
async fn a_real_browser_comes_in_by_real_mail_and_a_real_provider() {
    if let Some(package) = missing_package() {
        not_run(TEST, package);
        return;
    }
    let Some(mail) = Service::start(TEST, "mail.mjs", &[]).await else { return };
    let Some(provider) = Service::start(TEST, "idp.mjs", &[CALLBACK]).await else { return };
    let (smtp, inbox) = mail.address.split_once(' ').expect("two addresses");
    let server = TestServer::builder()
        .set("ROOKERY__MAIL__SMTP_URL", smtp)
        .set("ROOKERY__IDP__ISSUER", &provider.address)
        .set("ROOKERY__IDP__CLIENT_ID", "rookery")
        .set("ROOKERY__IDP__CLIENT_SECRET", "a secret of the tests")
        .start()
        .await;
    drive(&server, &["--doors"], &[("MAIL_URL", inbox), ("IDP_URL", &provider.address)]).await;
}

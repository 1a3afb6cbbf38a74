//! Visitors of an app that cannot start at once. Only whoever has to be known by it waits; the
//! others see its page, or that it is private, meanwhile.

use rookery_domain::manifest::Visibility;
use rookery_testkit::until;
use serde_json::json;

use super::{
    authorize::{callback, grant},
    world::{HTML, Site, World},
};

/// Apps that are tried: on a busy machine one may be up again before it is asked.
const TRIES: usize = 20;

/// Has the app crash three times in a row: after the third it waits, half a second at least.
async fn crash(site: &Site<'_>) {
    for _ in 0..3 {
        site.app.root().await.expect("it starts");
        let before = site.app.observe().crashes;
        assert!(site.app.inject_panic());
        until("a crash", || site.app.observe().crashes != before).await;
    }
}

#[tokio::test]
async fn a_page_that_has_to_wait_for_its_app_comes_again_by_itself() {
    let world = World::start().await;
    // Whether this human is a member, only the app knows.
    let human = world.server.human("somebody@example.com").await;
    let mut seen = None;
    for n in 0..TRIES {
        let slug = format!("secret-{n}");
        let site = world.deploy(&slug, Visibility::Private, json!({}), HTML, &[]).await;
        let cookie = callback(&site, &grant(&world, &human, &slug).await).await.cookie();
        crash(&site).await;
        let page = site.open("/", &cookie).await;
        if page.status == 503 {
            seen = Some(page);
            break;
        }
        assert_eq!(page.status, 401, "it is up again: {}", page.text);
    }
    let page = seen.expect("one of them waits");
    assert_eq!(page.header("retry-after"), "1");
    assert!(page.text.contains("Waking the app"), "{}", page.text);
    assert!(page.text.contains("<meta http-equiv=\"refresh\" content=\"1\">"), "{}", page.text);
}

#[tokio::test]
async fn nobody_else_waits_for_an_app() {
    let world = World::start().await;
    let secret = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    crash(&secret).await;
    assert_eq!(secret.open("/", "").await.status, 401);
    let site = world.public("open", json!({})).await;
    crash(&site).await;
    let page = site.open("/", "").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<title>App</title>"), "{}", page.text);
}

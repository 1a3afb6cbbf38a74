//! Visitors of an app that cannot start at once. Only pages that need its members have to wait for
//! it; the others are shown meanwhile.

use rookery_domain::manifest::Visibility;
use serde_json::json;

use super::world::{HTML, Site, World};

/// Apps that are tried: on a busy machine one may be up again before it is asked.
const TRIES: usize = 20;

/// Has the app crash three times in a row: after the third it waits, half a second at least.
async fn crash(site: &Site<'_>) {
    for _ in 0..3 {
        site.app.root().await.expect("it starts");
        let before = site.app.observe().crashes;
        assert!(site.app.inject_panic());
        while site.app.observe().crashes == before {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_page_that_has_to_wait_for_its_app_comes_again_by_itself() {
    let world = World::start().await;
    let mut seen = None;
    for n in 0..TRIES {
        let slug = format!("secret-{n}");
        let site = world.deploy(&slug, Visibility::Private, json!({}), HTML, &[]).await;
        crash(&site).await;
        let page = site.open("/", "").await;
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
async fn a_public_page_is_shown_whatever_its_app_does() {
    let world = World::start().await;
    let site = world.public("open", json!({})).await;
    crash(&site).await;
    let page = site.open("/", "").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<title>App</title>"), "{}", page.text);
}

//! The human's apps: lists, marks, opening, the trash.

use serde_json::json;

use super::GET;
use crate::harness::{Answer, TestServer, apps::App};

/// An account with an app.
async fn with_app(server: &TestServer) -> (crate::harness::Human, App) {
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let app = server.deploy(&agent.key, json!({"slug": "calm-garden"})).await;
    (ada, app)
}

#[tokio::test]
async fn home_lists_own_apps_with_marks_and_what_was_opened() {
    let server = TestServer::start().await;
    let (ada, app) = with_app(&server).await;
    let page = format!("/apps/{}", app.id);
    server.see(&ada, "/").await.says("calm-garden").hides("Favorites").hides("From nothing");

    let marked = server.submit(&ada, &page, &[("action", "favorite"), ("back", "/")]).await;
    assert_eq!(marked.led_to(), "/");
    server.see(&ada, "/").await.says("Favorites").says("aria-pressed=\"true\"");
    // Where to go back to is a path of this site, whatever the form says.
    for evil in ["https://evil.example", "//evil.example", "/\\evil.example"] {
        let sent = server.submit(&ada, &page, &[("action", "unfavorite"), ("back", evil)]).await;
        assert_eq!(sent.led_to(), page, "{evil}");
    }
    server.see(&ada, "/").await.hides("Favorites");

    let opened = server.submit(&ada, &page, &[("action", "open")]).await;
    assert_eq!(opened.led_to(), "/authorize?app=calm-garden&return_to=%2F");
    let recent = server.by(&ada, GET, "/v1/self/apps/recent").send().await.expect("an answer");
    assert!(recent.text().await.expect("a body").contains("calm-garden"));
}

#[tokio::test]
async fn an_app_goes_to_the_trash_and_comes_back_or_is_destroyed() {
    let server = TestServer::start().await;
    let (ada, app) = with_app(&server).await;
    let page = format!("/apps/{}", app.id);
    server.see(&ada, "/trash").await.says("Nothing here");
    let deleted = server.submit(&ada, &page, &[("action", "delete")]).await;
    assert_eq!(deleted.led_to(), "/trash?done=app-deleted#notice");
    let trash = server.see(&ada, deleted.led_to()).await;
    trash.says("calm-garden").says("The app is in the trash");
    trash.says("<span>will be destroyed on <time").says("aria-label=\"Destroy… calm-garden\"");
    // Another site's link claims nothing.
    let led = server.by(&ada, GET, deleted.led_to()).header("sec-fetch-site", "cross-site");
    Answer::of(led).await.says("calm-garden").hides("The app is in the trash");
    server.see(&ada, "/").await.hides("calm-garden");
    let restored = server.submit(&ada, &page, &[("action", "restore")]).await;
    assert_eq!(restored.led_to(), format!("{page}?done=app-restored#notice"));
    server.see(&ada, "/").await.says("calm-garden");

    // A live app is not destroyed, and a stranger destroys nothing.
    let live = server.submit(&ada, &page, &[("action", "purge")]).await;
    assert_eq!(live.status, 409);
    let bob = server.human("bob@example.org").await;
    for action in ["delete", "restore", "purge", "open", "favorite"] {
        assert_eq!(server.submit(&bob, &page, &[("action", action)]).await.status, 404);
    }
    server.submit(&ada, &page, &[("action", "delete")]).await;
    let purged = server.submit(&ada, &page, &[("action", "purge")]).await;
    assert_eq!(purged.led_to(), "/trash?done=app-purged#notice");
    server.see(&ada, "/trash").await.says("Nothing here");
}

#[tokio::test]
async fn names_of_others_are_text_on_a_page() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let path = format!("/v1/self/agents/{}", agent.id);
    let name = json!({"name": "<script>alert(1)</script>"});
    let renamed = server.by(&ada, reqwest::Method::PATCH, &path).json(&name);
    assert_eq!(renamed.send().await.expect("an answer").status(), 200);
    let page = server.see(&ada, "/agents").await;
    page.hides("<script>alert").says("&#60;script&#62;alert(1)");
    let done = server.see(&ada, "/agents?done=%3Cb%3E").await;
    done.hides("<b>").hides("role=\"status\"");
}

#[tokio::test]
async fn usage_shows_meters_the_month_and_every_day() {
    let server = TestServer::start().await;
    let (ada, _) = with_app(&server).await;
    let page = server.see(&ada, "/usage").await;
    page.says("<strong>1</strong> of 100").says("2026-01-31").says("2026-01-02");
    assert_eq!(page.text.matches("<th scope=\"row\">").count(), 30);
}

#[tokio::test]
async fn favorites_and_own_apps_stand_on_the_first_page_however_many_are_shared() {
    /// More than a page of the list holds.
    const SHARED: usize = 101;
    let server = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "200").start().await;
    let (ada, own) = with_app(&server).await;
    let marked = server.agent(&ada).await;
    let marked = server.deploy(&marked.key, json!({"slug": "old-favorite"})).await;
    let page = format!("/apps/{}", marked.id);
    server.submit(&ada, &page, &[("action", "favorite"), ("back", "/")]).await;
    let eve = server.owner("eve").await;
    for n in 0..SHARED {
        let shared = server.deploy(&eve, json!({"slug": format!("shared-{n:03}")})).await;
        let member = json!({"email": ada.email});
        let path = shared.path("/members");
        server.send(super::POST, &eve, &path, &member).await.expect(201);
    }
    let home = server.see(&ada, "/").await;
    home.says("id=\"favorites\">Favorites").says("old-favorite").says("id=\"own\">My apps");
    home.says(&own.slug).says("shared-100").hides("shared-000").hides("From nothing");
    assert_eq!(home.text.matches(&format!("class=\"name\" href=\"{page}\"")).count(), 1);
    // Its own list alone is turned.
    let next = home.between("id=\"next-shared%20apps\" class=\"button quiet small\" href=\"", "#");
    let second = server.see(&ada, &next.replace("&#38;", "&")).await;
    second.says("shared-000").hides("shared-100").says("old-favorite").says(&own.slug);
    let steps = server.part(&ada, "/first-run/steps", "/").await;
    steps.says("is running");
}

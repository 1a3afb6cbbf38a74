//! The pages of an app that was taken down: what can be read is there, and no form that would fail.

use serde_json::json;

use super::{GET, Owned, POST};
use crate::harness::{Answer, apps::open_collection};

/// An app with something of everything, taken down.
async fn closed() -> Owned {
    let owned = Owned::with(json!({
        "collections": {"entries": open_collection()},
        "roles": {"guest": {"title": "Guest"}},
    }))
    .await;
    for key in ["kept", "binned"] {
        let row = json!({"key": key, "data": {"n": 1}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let binned = owned.agent(reqwest::Method::DELETE, "/collections/entries/binned", json!(null));
    binned.await.expect(200);
    for (path, body) in [
        ("/members", json!({"email": "bob@example.org"})),
        ("/grants", json!({"role": "guest"})),
        ("/preview-tokens", json!({})),
        ("/credentials", json!({"mode": "following", "operations": ["read"]})),
        ("/versions", json!({"html": "<p>Second"})),
    ] {
        let made = owned.agent(POST, path, body).await;
        assert_eq!(made.status, 201, "{path}: {}", made.text);
    }
    let close = owned.server.close_app(&owned.app.id);
    Answer::of(close).await.expect(200);
    owned
}

#[tokio::test]
async fn every_page_of_a_closed_app_says_so_and_offers_nothing_that_would_fail() {
    let owned = closed().await;
    let rows = "/data/entries";
    for (page, shows) in [
        ("", "First deployed"),
        (rows, "kept"),
        ("/data/entries/new", "Back"),
        ("/data/entries/trash", "binned"),
        ("/data/entries/rows/kept", "&#34;n&#34;"),
        ("/data/entries/rows/binned", "&#34;n&#34;"),
        ("/versions", "Version 1"),
        ("/versions/1", "What it declares"),
        ("/sharing", "bob@example.org"),
        ("/analytics", "Visits of the last"),
        ("/usage", "Usage of the last"),
        ("/settings", "They stay as they were"),
        ("/domains", "Domains"),
    ] {
        let seen = owned.see(page).await;
        assert_eq!(seen.status, 200, "{page}: {}", seen.text);
        seen.says("This app was taken down").says(shows);
        seen.hides(">New row<").hides("Roll back").hides("Open the app");
        // What is left of forms signs out, or marks the app.
        let forms = seen.text.split("<form").skip(1).map(|form| {
            let (form, _) = form.split_once("</form>").expect("a whole form");
            form
        });
        for form in forms.filter(|form| form.contains("method=\"post\"")) {
            let works = ["/sign-out", "value=\"favorite\""];
            assert!(works.iter().any(|it| form.contains(it)), "{page}: {form}");
        }
    }
    // Such a form is refused all the same, and says so once more.
    let fields = [("action", "visibility"), ("visibility", "public")];
    let refused = owned.submit("/settings", &fields).await;
    assert_eq!(refused.status, 410);
    refused.says("Its owner can still read its data").hides("for now");
    let app = Answer::of(owned.server.by(&owned.ada, GET, &owned.app.path(""))).await.expect(200);
    assert_eq!(app["visibility"], "private");
}

#[tokio::test]
async fn a_live_app_has_all_its_forms() {
    let owned = Owned::with(json!({"collections": {"entries": open_collection()}})).await;
    owned.see("/data/entries").await.says("New row").hides("taken down");
    owned.see("/sharing").await.says("Add a member").says("New credential");
    owned.see("/settings").await.says("Who can open it").says("How long rows are kept");
}

#[tokio::test]
async fn the_list_of_apps_opens_none_that_was_taken_down() {
    let owned = closed().await;
    owned.server.see(&owned.ada, "/").await.says("Taken down").hides("value=\"open\"");
    let live = Owned::with(json!({"collections": {"entries": open_collection()}})).await;
    live.server.see(&live.ada, "/").await.says("value=\"open\"");
}

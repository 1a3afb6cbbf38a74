//! What is left of cursors after a deploy: whoever reads what it read before goes on where it was.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{World, text};
use crate::harness::{Answer, kinds};

/// These collections, by who reads them; the owner writes.
fn manifest(collections: &[(&str, &[&str])]) -> Value {
    let lists = |read: &[&str]| {
        json!({"permissions": {"read": read, "write": ["owner"], "update": ["owner"],
            "delete": ["owner"]}})
    };
    let collections: serde_json::Map<String, Value> =
        collections.iter().map(|(name, read)| ((*name).to_owned(), lists(read))).collect();
    json!({"collections": collections})
}

#[tokio::test]
async fn the_owner_who_waits_hears_of_the_deploy_and_of_the_rows_that_it_detaches() {
    let world = World::start().await;
    // Also of rows that the owner's own list hides.
    for read in [&["anyone"][..], &["owner"], &["creator"], &[]] {
        let both = manifest(&[("kept", &["anyone"]), ("gone", read)]);
        let site = world.site_of("public", both).await;
        site.row("gone", "k").await;
        let since = text(&site.get("/feed").await.expect(200), "cursor");
        let path = format!("/feed?since={since}&wait=60");
        let deploy = async {
            site.until_followed().await;
            site.redeploy(manifest(&[("kept", &["anyone"])])).await;
        };
        let (heard, ()) = tokio::join!(site.get(&path), deploy);
        let heard = heard.expect(200);
        assert_eq!(kinds(&heard), ["row.deleted", "app.deployed"], "{read:?}");
        let since = text(&heard, "cursor");
        let more = manifest(&[("kept", &["anyone"]), ("new", read)]);
        site.redeploy(more).await;
        let heard = site.get(&format!("/feed?since={since}&wait=0")).await.expect(200);
        assert_eq!(kinds(&heard), ["app.deployed"], "{read:?}");
    }
}

#[tokio::test]
async fn a_visitors_cursors_outlive_a_deploy_of_what_it_cannot_read() {
    let world = World::start().await;
    let site = world.site_of("public", manifest(&[("open", &["anyone"])])).await;
    for key in ["a", "b"] {
        site.row("open", key).await;
    }
    let guest = site.guest().await;
    let page = site.see(&guest, "/s/collections/open?limit=1").await.expect(200);
    let (next, feed) = (text(&page, "next_cursor"), text(&page, "feed_cursor"));
    let next = format!("/s/collections/open?limit=1&cursor={next}");
    let feed = format!("/s/feed?since={feed}&wait=0");

    let secret = manifest(&[("open", &["anyone"]), ("secret", &["owner"])]);
    site.redeploy(secret).await;
    assert_eq!(kinds(&site.see(&guest, &feed).await.expect(200)), ["app.deployed"]);
    site.see(&guest, &next).await.expect(200);
    site.redeploy(manifest(&[("open", &["anyone"])])).await;
    assert_eq!(kinds(&site.see(&guest, &feed).await.expect(200)), ["app.deployed"; 2]);

    // It reads something more: its feed begins anew, and the list that is as it was goes on.
    site.redeploy(manifest(&[("open", &["anyone"]), ("more", &["anyone"])])).await;
    site.see(&guest, &feed).await.error(ErrorCode::ResyncRequired);
    site.see(&guest, &next).await.expect(200);
    site.redeploy(manifest(&[("open", &["creator"]), ("more", &["anyone"])])).await;
    site.see(&guest, &next).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_visitors_waiting_poll_ends_when_it_may_read_something_else() {
    let world = World::start().await;
    let site = world.site_of("public", manifest(&[("open", &["anyone"])])).await;
    let guest = site.guest().await;
    let since = text(&site.see(&guest, "/s/feed").await.expect(200), "cursor");
    let poll = site.by(&guest, Method::GET, &format!("/s/feed?since={since}&wait=60"));
    let deploy = async {
        site.until_followed().await;
        site.redeploy(manifest(&[("open", &["owner"])])).await;
    };
    let (heard, ()) = tokio::join!(Answer::of(poll), deploy);
    heard.error(ErrorCode::ResyncRequired);
}

#[tokio::test]
async fn what_happened_while_it_was_closed_to_somebody_is_not_told_later() {
    let world = World::start().await;
    let site = world.site_of("public", manifest(&[("open", &["anyone"])])).await;
    let guest = site.guest().await;
    let cursor = async |token: &str| text(&site.see(token, "/s/feed").await.expect(200), "cursor");
    let (before, owners) =
        (cursor(&guest).await, text(&site.get("/feed").await.expect(200), "cursor"));
    let since = |cursor: &str| format!("/s/feed?since={cursor}&wait=0");

    // Nobody but the owner reaches the app for a while.
    site.patch("", json!({"visibility": "private"})).await.expect(200);
    site.row("open", "draft").await;
    site.patch("", json!({"visibility": "public"})).await.expect(200);
    site.see(&guest, &since(&before)).await.error(ErrorCode::ResyncRequired);
    let after = cursor(&guest).await;
    site.row("open", "shown").await;
    assert_eq!(kinds(&site.see(&guest, &since(&after)).await.expect(200)), ["row.created"]);

    // The collection is closed for a while, and then gone for a while.
    let between = [manifest(&[("open", &["owner"])]), json!({"collections": {}})];
    for (closed, key) in between.into_iter().zip(["secret", "another"]) {
        let before = cursor(&guest).await;
        site.redeploy(closed).await;
        site.redeploy(manifest(&[("open", &["owner"])])).await;
        site.row("open", key).await;
        site.redeploy(json!({"collections": {}})).await;
        site.redeploy(manifest(&[("open", &["anyone"])])).await;
        site.see(&guest, &since(&before)).await.error(ErrorCode::ResyncRequired);
        site.see(&guest, &since(&cursor(&guest).await)).await.expect(200);
    }

    // What is destroyed while it is closed leaves a key in the feed.
    let before = cursor(&guest).await;
    site.redeploy(json!({"collections": {}})).await;
    site.redeploy(manifest(&[("new", &["owner"])])).await;
    let unseen = cursor(&guest).await;
    site.row("new", "layoff").await;
    site.delete("/collections/new/layoff/purge").await.expect(200);
    site.redeploy(json!({"collections": {}})).await;
    site.redeploy(manifest(&[("new", &["anyone"])])).await;
    for cursor in [before, unseen] {
        site.see(&guest, &since(&cursor)).await.error(ErrorCode::ResyncRequired);
    }

    // The owner hears of everything.
    let all = site.get(&format!("/feed?since={owners}&wait=0")).await.expect(200);
    assert!(kinds(&all).len() > 10, "{all}");
}

#[tokio::test]
async fn a_list_is_another_one_to_another_visitor() {
    let world = World::start().await;
    let site = world.site_of("public", manifest(&[("open", &["anyone"])])).await;
    for key in ["a", "b"] {
        site.row("open", key).await;
    }
    let list = "/s/collections/open?limit=1";
    let (one, other) = (site.guest().await, site.guest().await);
    let seen = site.see(&one, list).await;
    assert_eq!(site.see(&one, list).await.header("etag"), seen.header("etag"));
    // Its cursor is the visitor's own.
    assert_ne!(site.see(&other, list).await.header("etag"), seen.header("etag"));
}

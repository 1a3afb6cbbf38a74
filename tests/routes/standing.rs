//! Rows and feed while the app itself changes: other permissions, trash, closed, migration mode.

use std::time::Duration;

use reqwest::Method;
use rookery_actors::{
    AppHandle,
    app::message::{AppOp, Op},
    control::{Bundle, Redeploy},
};
use rookery_domain::{ErrorCode, principal::Caller};
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, manifest};
use crate::harness::Answer;

impl Rows {
    fn owner(&self) -> Caller {
        Caller::human(self.human)
    }

    async fn handle(&self) -> AppHandle {
        self.server.state().rooms.apps().by_id(self.app).await.expect("the app")
    }

    /// Does something to the app itself, as its owner.
    async fn change(&self, op: AppOp) {
        self.handle().await.apply(self.owner(), Op::App(op)).await.expect("changed");
    }

    /// Deploys the manifest with other permissions of a collection.
    async fn permit(&self, collection: &str, list: &str, subjects: Value) {
        let mut manifest = manifest();
        manifest["collections"][collection]["permissions"][list] = subjects;
        let request = Redeploy {
            caller: self.owner(),
            bundle: Bundle {
                html: "<!doctype html><title>rows</title>".into(),
                manifest: Some(manifest.to_string()),
                ..Bundle::default()
            },
            expected: None,
            force: true,
            dry_run: false,
            idempotency: None,
        };
        let app = self.handle().await;
        self.server.state().rooms.control().deploy(&app, request).await.expect("deployed");
    }
}

#[tokio::test]
async fn cursors_from_before_a_change_of_what_one_reads_are_refused() {
    let rows = Rows::start().await;
    for n in 0..3 {
        rows.row("entries", &format!("k{n}"), json!({})).await;
    }
    let list = rows.get("entries?limit=1").await;
    let page = list.expect(200);
    let text = |name: &str| page[name].as_str().expect("a cursor").to_owned();
    let (next, feed) = (text("next_cursor"), text("feed_cursor"));

    rows.permit("others", "update", json!([])).await;
    let events = rows.events(&feed).await;
    assert_eq!(events[0]["type"], "app.deployed");
    rows.get(&format!("entries?cursor={next}")).await.expect(200);

    // The owner hears of everything, whatever it reads; a page chain is of its own collection.
    rows.permit("others", "read", json!([])).await;
    assert_eq!(rows.events(&feed).await.len(), 2);
    rows.get(&format!("entries?cursor={next}")).await.expect(200);

    rows.permit("entries", "read", json!(["creator"])).await;
    rows.get(&format!("entries?cursor={next}")).await.error(ErrorCode::InvalidRequest);
    let request = rows.request(OWNER, Method::GET, "entries?limit=1");
    let fresh = Answer::of(request.header("if-none-match", list.header("etag"))).await;
    fresh.expect(200);
}

#[tokio::test]
async fn an_app_in_the_trash_has_no_rows_and_no_feed() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let since = rows.now().await;
    let query = format!("?since={since}&wait=60");
    let poll = rows.feed(&query);
    let (answer, ()) = tokio::join!(poll, rows.change(AppOp::Delete));
    answer.error(ErrorCode::SoftDeleted);
    rows.get("entries").await.error(ErrorCode::SoftDeleted);
    rows.post("none", json!({"typo": 1})).await.error(ErrorCode::SoftDeleted);
    rows.change(AppOp::Restore).await;
    rows.get("entries/k").await.expect(200);
    let kinds: Vec<_> = rows.events(&since).await.iter().map(|one| one["type"].clone()).collect();
    assert_eq!(kinds, ["app.deleted", "app.restored"]);
}

#[tokio::test]
async fn of_a_closed_app_the_owner_reads_and_nobody_writes() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let since = rows.now().await;
    rows.change(AppOp::Close).await;
    for path in ["entries", "entries/k", "entries/count", "entries/deleted", "kept/retention"] {
        rows.get(path).await.expect(200);
    }
    assert_eq!(rows.events(&since).await[0]["type"], "app.updated");
    rows.post("entries", json!({"typo": 1})).await.error(ErrorCode::AppClosed);
    rows.patch("entries/k", json!({"data": {}})).await.error(ErrorCode::AppClosed);
    rows.delete("entries/k").await.error(ErrorCode::AppClosed);
    rows.delete("entries/k/purge").await.error(ErrorCode::AppClosed);
    rows.patch("kept/retention", json!({})).await.error(ErrorCode::AppClosed);
    let path = format!("/v1/apps/{}/events", rows.app);
    let event = rows.server.request(Method::POST, &path).bearer_auth(rows.key(OWNER));
    Answer::of(event.json(&json!({"type": "free", "data": {}}))).await.error(ErrorCode::AppClosed);
}

#[tokio::test]
async fn what_the_owner_writes_in_migration_mode_is_silent_until_it_ends() {
    let rows = Rows::start().await;
    rows.change(AppOp::Migration(Some(Duration::from_secs(60)))).await;
    let since = rows.now().await;
    rows.row("entries", "a", json!({})).await;
    let path = format!("/v1/apps/{}/events", rows.app);
    let event = rows.server.request(Method::POST, &path).bearer_auth(rows.key(OWNER));
    Answer::of(event.json(&json!({"type": "free", "data": {}}))).await.expect(201);
    rows.pass_seconds(60);
    rows.row("entries", "b", json!({})).await;
    let events = rows.events(&since).await;
    assert_eq!(events[0]["silent"], true);
    assert_eq!(events[1]["type"], "event.free");
    for loud in &events[1..] {
        assert!(loud.get("silent").is_none(), "{loud}");
    }
}

#[tokio::test]
async fn what_retention_prunes_in_migration_mode_is_not_silent() {
    let rows = Rows::start().await;
    rows.change(AppOp::Migration(Some(Duration::from_secs(60)))).await;
    for key in ["a", "b", "c"] {
        rows.row("kept", key, json!({})).await;
    }
    let since = rows.now().await;
    let app = rows.handle().await;
    app.apply(Caller::System, Op::App(AppOp::Prune)).await.expect("pruned");
    let events = rows.events(&since).await;
    assert_eq!((&events[0]["type"], &events[0]["key"]), (&json!("row.deleted"), &json!("a")));
    assert!(events[0].get("silent").is_none(), "{events:?}");
}

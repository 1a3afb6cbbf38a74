//! Lists of rows in the trash, and of live and deleted rows together, while the app changes.

use std::sync::Arc;

use rookery_actors::{AppHandle, app::read::ListQuery};
use rookery_domain::{
    principal::Caller,
    query::{PageLimit, RowQuery},
};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::support::{Bench, delete, paused};

/// Lists that may hold a whole trash at a time.
const PERMITS: u64 = 2;

fn with_deleted() -> ListQuery {
    ListQuery {
        rows: RowQuery::parse(None, None).unwrap(),
        limit: PageLimit::default(),
        cursor: None,
        include_deleted: true,
    }
}

/// Lists live and deleted rows; the keys with whether they are deleted, and the entity tag.
fn list(app: &AppHandle, caller: &Caller) -> JoinHandle<(Vec<(String, bool)>, String)> {
    let (app, caller) = (app.clone(), caller.clone());
    tokio::spawn(async move {
        let page = app.rows(&caller, "entries", with_deleted()).await.unwrap();
        let body: Value = serde_json::from_str(&page.body.collect::<String>()).unwrap();
        let item =
            |row: &Value| (row["key"].as_str().unwrap().to_owned(), !row["deleted_at"].is_null());
        (body["items"].as_array().unwrap().iter().map(item).collect(), page.etag)
    })
}

async fn reads_begun(bench: &Bench, count: u64) {
    while bench.store.trash_reads() < count {
        tokio::task::yield_now().await;
    }
}

async fn trash_of(bench: &Bench, keys: &[&str]) -> AppHandle {
    let app = bench.app().await;
    for key in keys {
        bench.create(&app, key).await.unwrap();
        app.apply(bench.caller.clone(), delete(key)).await.unwrap();
    }
    app
}

#[test]
fn a_row_that_is_deleted_while_a_list_reads_the_trash_is_there_once() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.create(&app, "a").await.unwrap();
        let gate = bench.store.gate_trash();
        let listing = list(&app, &bench.caller);
        reads_begun(&bench, 1).await;
        app.apply(bench.caller.clone(), delete("a")).await.unwrap();
        gate.add_permits(9);
        let (items, etag) = listing.await.unwrap();
        assert_eq!(items, [("a".to_owned(), true)]);
        let now = app.rows_etag(&bench.caller, "entries", &with_deleted()).await.unwrap();
        assert_eq!(etag, now, "it is the tag of what the page shows");
    });
}

#[test]
fn a_row_that_is_restored_while_a_list_reads_the_trash_is_there() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = trash_of(&bench, &["a"]).await;
        let gate = bench.store.gate_trash();
        let listing = list(&app, &bench.caller);
        reads_begun(&bench, 1).await;
        app.restore_row(&bench.caller, "entries", "a").await.unwrap();
        gate.add_permits(9);
        assert_eq!(listing.await.unwrap().0, [("a".to_owned(), false)]);
    });
}

#[test]
fn an_app_that_changes_at_each_look_is_listed_all_the_same_without_a_row_twice() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        for key in ["a", "b", "c", "d"] {
            bench.create(&app, key).await.unwrap();
        }
        let gate = bench.store.gate_trash();
        let listing = list(&app, &bench.caller);
        for (key, looks) in [("a", 1), ("b", 2), ("c", 3)] {
            reads_begun(&bench, looks).await;
            app.apply(bench.caller.clone(), delete(key)).await.unwrap();
            gate.add_permits(1);
        }
        let (items, etag) = listing.await.unwrap();
        let seen = |key: &str, deleted| (key.to_owned(), deleted);
        let expected = [seen("a", true), seen("b", true), seen("c", false), seen("d", false)];
        assert_eq!(items, expected);
        let now = app.rows_etag(&bench.caller, "entries", &with_deleted()).await.unwrap();
        assert_ne!(etag, now, "what is over is not confirmed");
    });
}

#[test]
fn no_more_than_two_lists_hold_a_whole_trash_at_a_time() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = trash_of(&bench, &["a"]).await;
        let gate = bench.store.gate_trash();
        let listings: Vec<_> = (0..5).map(|_| list(&app, &bench.caller)).collect();
        reads_begun(&bench, PERMITS).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(bench.store.trash_reads(), PERMITS);
        gate.add_permits(9);
        for listing in listings {
            assert_eq!(listing.await.unwrap().0, [("a".to_owned(), true)]);
        }
    });
}

#[test]
fn a_page_of_the_trash_reads_no_more_than_itself() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = trash_of(&bench, &["a", "b", "c"]).await;
        let limit = PageLimit::parse(Some("2")).unwrap();
        let (mut cursor, mut keys): (Option<String>, Vec<Arc<str>>) = (None, Vec::new());
        for reads in 1..=2 {
            let page = app.deleted_rows(&bench.caller, "entries", limit, cursor.as_deref()).await;
            let page: Value = serde_json::from_str(&page.unwrap()).unwrap();
            keys.extend(
                page["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|row| row["key"].as_str().unwrap().into()),
            );
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            assert_eq!(bench.store.trash_reads(), reads);
        }
        assert_eq!((keys, cursor), (vec!["c".into(), "b".into(), "a".into()], None));
    });
}

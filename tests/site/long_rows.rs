//! Rows that are as long as rows may be, or nest as deep: their page stays a page, and saves them.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Owned, POST};
use crate::harness::apps::open_collection;

const ROW: &str = "/data/entries/rows/k";

/// An app with one row.
async fn with_row(data: &Value) -> Owned {
    let owned = Owned::with(json!({"collections": {"entries": open_collection()}})).await;
    let row = json!({"key": "k", "data": data});
    owned.agent(POST, "/collections/entries", row).await.expect(201);
    owned
}

async fn patch(owned: &Owned, data: Value) {
    let patch = json!({"data": data});
    owned.agent(Method::PATCH, "/collections/entries/k", patch).await.expect(200);
}

#[tokio::test]
async fn what_nests_deep_is_shown_as_it_is_written() {
    let numbers = json!(vec![1; 10_000]);
    let deep = (0..50).fold(numbers, |inner, _| json!([inner]));
    let owned = with_row(&json!({"deep": deep, "n": 0})).await;
    for n in 1..=60 {
        patch(&owned, json!({"n": n})).await;
    }
    let page = owned.see(ROW).await;
    page.says("[1,1,1,").says("this page has room for a megabyte");
    // What each event changed is told of all of them.
    page.says("<dd>0 → 1</dd>").says("<dd>59 → 60</dd>");
    assert!(page.text.len() < 2 << 20, "{} bytes", page.text.len());
}

#[tokio::test]
async fn of_a_change_of_very_many_members_some_are_told() {
    let named = |n: u32| (0..60).map(|i| (format!("m{i:02}"), json!(n))).collect::<Value>();
    let owned = with_row(&named(1)).await;
    patch(&owned, named(2)).await;
    owned.see(ROW).await.says("<dt>m49</dt>").says("and 10 more fields").hides("<dt>m50</dt>");
}

#[tokio::test]
async fn the_longest_row_can_be_saved_from_its_page() {
    let point = json!({"x": 0, "y": 0});
    let owned = with_row(&json!({"points": vec![point; 4_600], "name": "before"})).await;
    let page = owned.see(ROW).await;
    let typed = page.between("rows=\"12\">", "</textarea>").replace("&#34;", "\"");
    assert!(typed.contains("\n      \"x\": 0,"), "it is indented");
    // As browsers send the lines of a text.
    let typed = typed.replace("before", "after").replace('\n', "\r\n");
    let base = page.between("name=\"base\" value=\"", "\"").replace("&#34;", "\"");
    let version = page.between("name=\"version\" value=\"", "\"");
    let fields = [("action", "save"), ("data", &*typed), ("version", &*version), ("base", &*base)];
    let saved = owned.submit(ROW, &fields).await;
    assert_eq!(saved.led_to(), owned.page("/data/entries/rows/k?done=saved#notice"));
    assert_eq!(owned.read("/collections/entries/k").await["data"]["name"], "after");
}

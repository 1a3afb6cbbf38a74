//! From a collection's list to a row and back: the way keeps filter, order and page. And what a list
//! shows of many collections and of long values.

use serde_json::json;

use super::{Owned, POST};
use crate::harness::apps::{guestbook, open_collection};

/// The address as it stands in an attribute.
fn attribute(address: &str) -> String {
    address.replace('&', "&#38;")
}

#[tokio::test]
async fn a_row_leads_back_to_the_list_as_it_was_looked_at() {
    let owned = Owned::with(guestbook()).await;
    for key in ["k1", "k2"] {
        let row = json!({"key": key, "data": {"name": "Ada & co", "n": 1}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let list = "/data/entries?field=n&op=eq&value=1&sort=-name";
    let page = owned.see(&format!("{list}&done=row-deleted")).await;
    let row = page.between("id=\"row-k1\" class=\"key\" href=\"", "\"");
    let row = row.strip_prefix(&owned.page("")).expect("a page of the app").to_owned();
    assert!(row.starts_with("/data/entries/rows/k1?list=") && !row.contains("done"), "{row}");
    let back = attribute(&owned.page(list));
    let seen = owned.see(&row).await;
    assert_eq!(seen.text.matches(&format!("href=\"{back}\"")).count(), 2, "{}", seen.text);

    // What the row's forms do keeps it, too.
    let fields = [("action", "save"), ("data", "{\"n\": 1}"), ("version", "1"), ("base", "{}")];
    let saved = owned.submit(&row, &fields).await;
    assert_eq!(saved.led_to(), owned.page(&format!("{row}&done=saved#notice")));
    owned.server.see(&owned.ada, saved.led_to()).await.says(&format!("href=\"{back}\""));
    let refused = owned.submit(&row, &[("action", "delete"), ("version", "9")]).await;
    assert_eq!(refused.status, 409);
    refused.says(&format!("href=\"{back}\""));
    let deleted = owned.submit(&row, &[("action", "delete"), ("version", "2")]).await;
    assert_eq!(deleted.led_to(), owned.page(&format!("{list}&done=row-deleted#notice")));

    // So do the trash and the form of a new row.
    for id in ["rows-trash", "rows-new"] {
        let beside = page.between(&format!("id=\"{id}\" class=\"button"), "</a>");
        let beside = beside.split("href=\"").nth(1).expect("a link").split('"').next();
        let path = beside.expect("an address");
        let seen = owned.server.see(&owned.ada, path).await;
        seen.says(&format!("href=\"{back}\""));
    }
    // Without any there is nothing to keep, and a way that somebody made up leads nowhere else.
    owned
        .see("/data/entries")
        .await
        .says(&format!("href=\"{}\"", owned.page("/data/entries/rows/k2")));
    let made_up = owned.see("/data/entries/rows/k2?list=%2F%2Fevil.example%0D%0Ax%22%3E%3Cb").await;
    let home = owned.page("/data/entries?");
    made_up.says(&format!("href=\"{home}%2F%2Fevil.example%0D%0Ax%22%3E%3Cb=\""));
}

#[tokio::test]
async fn many_collections_are_folded_and_few_are_not() {
    let names: Vec<String> = (0..30).map(|n| format!("collection_{n:02}")).collect();
    let all: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), open_collection())).collect();
    let owned = Owned::with(json!({"collections": all})).await;
    let page = owned.see("/data/collection_07").await;
    page.says("<nav class=\"collections\" aria-label=\"Collections\"><details><summary>");
    page.says("<strong>collection_07</strong> <span class=\"soft\">one of 30</span></summary>");
    for name in &names {
        page.says(&format!("href=\"{}\"", owned.page(&format!("/data/{name}"))));
    }
    assert_eq!(page.between("aria-current=\"page\">collection", " "), "_07");
    let few = Owned::with(guestbook()).await;
    let page = few.see("/data/entries").await;
    page.says("<ul class=\"chips line\">").hides("<summary>Collection");
}

#[tokio::test]
async fn a_cell_is_cut_and_says_more_when_it_is_asked() {
    let owned = Owned::with(guestbook()).await;
    let (some, more) = ("word ".repeat(16), "word ".repeat(44));
    let row = json!({"key": "k1", "data": {"name": format!("{some}{more}end"), "n": "short"}});
    owned.agent(POST, "/collections/entries", row).await.expect(201);
    let page = owned.see("/data/entries").await;
    page.says(&format!("title=\"{some}{more}…\"><span class=\"clip\">{some}…</span></td>"));
    page.says("<td data-label=\"n\"><span class=\"clip\">short</span></td>");
    owned.see("/data/entries/rows/k1").await.says(&format!("{more}end"));
}

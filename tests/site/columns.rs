//! The columns of a table of rows, and how its keys are told apart.

use serde_json::{Value, json};

use super::{Owned, POST};
use crate::harness::{
    Answer, TestServer,
    apps::{App, guestbook},
};

/// The headings of a table of rows, but for those that every table has.
fn headings(page: &Answer) -> Vec<&str> {
    let (_, head) = page.text.split_once("<thead>").expect("a table");
    let (head, _) = head.split_once("</thead>").expect("its head");
    let headings = head.split("</th>").filter_map(|heading| {
        heading.trim_end_matches("</a>").rsplit('>').next().filter(|name| !name.is_empty())
    });
    headings.filter(|name| !["Key", "Changed", "Version"].contains(name)).collect()
}

#[tokio::test]
async fn what_tells_rows_apart_comes_first_on_every_page() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    // As text, for the order of its members counts.
    let body = r##"{"html": "<p>", "manifest": {"collections": {"tasks": {
        "schema": {"$ref": "#/$defs/A%20task"}, "unique": ["title"],
        "permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"]}}},
        "$defs": {"A task": {"type": "object", "required": ["state", "title"], "properties": {
        "notes": {}, "due": {}, "title": {"type": "string"}, "done": {}, "state": {}, "code": {},
        "area": {}}}}}}"##;
    let app = App::of(server.post("/v1/apps", &agent.key, body).await.expect(201));
    let owned = Owned { server, ada, agent, app };
    let rows: Vec<Value> = (0..26)
        .map(|n| {
            let mut data = json!({"title": format!("Task {n}"), "state": 1});
            // Those of the first page alone have more.
            if n < 25 {
                data["area"] = json!("x");
                data["extra"] = json!("y");
            }
            json!({"key": format!("k{n:02}"), "data": data})
        })
        .collect();
    for row in rows {
        owned.agent(POST, "/collections/tasks", row).await.expect(201);
    }
    let first = owned.see("/data/tasks").await;
    let expected = ["title", "state", "notes", "due", "done", "code"];
    assert_eq!(headings(&first), expected);
    first.says("And 2 more fields").says("<option value=\"due\">");
    let next = first.between("id=\"next-rows\" class=\"button quiet small\" href=\"", "\"");
    let second = owned.server.see(&owned.ada, &next.replace("&#38;", "&")).await;
    second.says("Task 25").hides("more field");
    assert_eq!(headings(&second), expected);
    for sort in ["title", "-updated_at"] {
        assert_eq!(headings(&owned.see(&format!("/data/tasks?sort={sort}")).await), expected);
    }
}

#[tokio::test]
async fn what_the_manifest_does_not_say_goes_by_the_rows() {
    let mut manifest = guestbook();
    manifest["collections"]["entries"]["unique"] = json!(["slot"]);
    let owned = Owned::with(manifest).await;
    for data in [json!({"b": 1, "c": 1}), json!({"a": 1, "c": 1}), json!({"slot": "s"})] {
        owned.agent(POST, "/collections/entries", json!({"data": data})).await.expect(201);
    }
    assert_eq!(headings(&owned.see("/data/entries").await), ["slot", "c", "a", "b"]);
}

#[tokio::test]
async fn long_keys_are_shown_by_their_beginning_and_end() {
    let owned = Owned::with(guestbook()).await;
    let (alike, other) = ("order-2026-ada-of-the-tea", "order-2026-eve-of-the-tea");
    for key in ["short", "row_01m8pmwxr8e5ttrz2jk3m5mjgz", alike, other] {
        let row = json!({"key": key, "data": {"n": 1}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let page = owned.see("/data/entries").await;
    page.says(">short</a>")
        .says("title=\"row_01m8pmwxr8e5ttrz2jk3m5mjgz\">row_01m8p…jk3m5mjgz</a>");
    // What differs in the middle alone stays whole.
    page.says(&format!(">{alike}</a>")).says(&format!(">{other}</a>"));
}

//! An app's versions on the site: what each changed and exposes, and going back to one.

use serde_json::{Value, json};

use super::{Owned, POST};
use crate::harness::{Answer, TestServer};

fn manifest(read: &str, extra: bool) -> Value {
    let permissions = json!({"read": [read], "write": ["owner"], "update": ["owner"],
        "delete": ["owner"]});
    let mut collections = json!({"entries": {"permissions": permissions}});
    if extra {
        collections["notes"] = json!({"permissions": permissions});
    }
    json!({"collections": collections})
}

/// Version 1 lets everybody read; version 2 only the owner, and has a collection more.
async fn two_versions() -> Owned {
    let owned = Owned::with(manifest("anyone", false)).await;
    let row = json!({"key": "k1", "data": {"email": "ada@example.org"}});
    owned.agent(POST, "/collections/entries", row).await.expect(201);
    let html = "<!doctype html><title>An app</title><h1>Second</h1>";
    let body = json!({"html": html, "manifest": manifest("owner", true),
        "assets": [{"path": "a.txt", "text": "a"}]});
    owned.agent(POST, "/versions", body).await.expect(201);
    let row = json!({"key": "n1", "data": {"text": "kept"}});
    owned.agent(POST, "/collections/notes", row).await.expect(201);
    owned
}

async fn back(owned: &Owned, number: u32, force: bool) -> Answer {
    let app = owned.read("").await;
    let version = app["version"].to_string();
    let mut fields =
        vec![("version", &*version), ("visibility", app["visibility"].as_str().unwrap())];
    if force {
        fields.push(("force", "yes"));
    }
    owned.submit(&format!("/versions/{number}"), &fields).await
}

#[tokio::test]
async fn versions_show_what_they_changed_and_expose() {
    let owned = two_versions().await;
    let list = owned.see("/versions").await;
    list.says("Version 2").says("Version 1").says("by your agent “robot”").says("current");
    let second = owned.see("/versions/2").await;
    // What authors wrote keeps its direction to itself.
    second.says("<code dir=\"auto\">a.txt</code>");
    let lines = second.text.matches("<tr class=\"add\">").count();
    assert!(lines > 0);
    assert!(!second.between("class=\"table diff\"", "</table>").contains("<code>"));
    second.says("Second").says("a.txt").says("added").says("From version 1 to version 2");
    second.says("<ins>+<span class=\"visually-hidden\"> added</span></ins>");
    second.hides("Roll back to version");
    let first = owned.see("/versions/1").await;
    // The oldest one is shown beside the newest, which going back would replace.
    first.says("From version 2 to version 1").says("Roll back to version 1");
    // The report is about the rows that are there: an address that everybody may read.
    first.says("looks like an e-mail address").says("severity").hides(">Nothing.<");
    owned.see("/versions/1?against=2").await.says("From version 2 to version 1").says("removed");
    let only = Owned::with(json!({})).await;
    only.see("/versions/1").await.says("only one that is kept");
    let unknown = owned.see("/versions/7").await;
    assert_eq!(unknown.status, 404);
    unknown.says(&format!("href=\"{}\">Back to the app", owned.page("")));
    assert_eq!(owned.see("/versions/x").await.status, 404);
}

#[tokio::test]
async fn a_change_in_a_long_line_is_shown_and_what_turns_its_direction_as_well() {
    let owned = two_versions().await;
    let line = |end: &str, ending: &str| {
        let style = "b { color: red } ".repeat(60);
        json!({"html": format!("<style>{style}</style>{end}{ending}"), "manifest": manifest("owner", true)})
    };
    let scripted = "<script src=\"https://evil.example/x.js\"></script>";
    for html in [
        line("<p>hello</p>", "\n"),
        line(scripted, "\n"),
        line(scripted, "\r\n"),
        line("<p>\u{202e}olleh</p>", "\r\n"),
    ] {
        owned.agent(POST, "/versions", html).await.expect(201);
    }
    let scripted = owned.see("/versions/4").await;
    scripted.says("evil.example").says("hello").says("There is more than this page shows.");
    owned.see("/versions/5").await.says(r"\r\n</code>").says(r"\n</code>");
    owned.see("/versions/6").await.says(r"\u202eolleh").hides("\u{202e}");
}

#[tokio::test]
async fn going_back_is_a_new_version_through_the_same_gate() {
    let owned = two_versions().await;
    // Version 1 lacks a collection and reads wider: it breaks, and says so.
    let page = owned.see("/versions/1").await;
    page.says("name=\"force\"").says("is removed").says("(1 row)");
    let refused = back(&owned, 1, false).await;
    assert_eq!(refused.status, 422);
    refused.says("role=\"alert\"").says("tick the box").says("Roll back to version 1");
    assert_eq!(owned.read("").await["version"], 2);

    let done = back(&owned, 1, true).await;
    assert_eq!(done.led_to(), owned.page("/versions/3?done=rolled-back#notice"));
    let app = owned.read("").await;
    assert_eq!(app["version"], 3);
    let document = owned.server.get_as(&owned.agent.key, &owned.app.path("/document")).await;
    document.says("<h1>Hello</h1>");
    owned
        .see("/versions/3?done=rolled-back")
        .await
        .says("by you")
        .says("deployed as a new version");

    // What has no place is named on the overview, and leads nowhere.
    let overview = owned.see("").await;
    overview.says("1 row set aside").says("when a version declares the collection again");
    overview.hides("/data/notes").says("/data/entries");
    owned.see("/data/entries").await.hides("/data/notes");
    owned.see("/versions/2").await.says("1 row that was set aside is served again.");

    // And forth again: what was set aside is back.
    let forth = back(&owned, 2, true).await;
    assert_eq!(forth.led_to(), owned.page("/versions/4?done=rolled-back#notice"));
    let kept = owned.read("/collections/notes/n1").await;
    assert_eq!(kept["data"], json!({"text": "kept"}));
    assert_eq!(back(&owned, 4, true).await.status, 409, "the current one");
    assert_eq!(back(&owned, 9, true).await.status, 404);
}

#[tokio::test]
async fn going_back_is_held_to_what_its_page_showed() {
    let owned = two_versions().await;
    let shown = |page: &Answer| {
        let field = |name: &str| page.between(&format!("name=\"{name}\" value=\""), "\"");
        (field("version"), field("visibility"))
    };
    let back = async |(version, visibility): &(String, String)| {
        let fields = [("version", &**version), ("visibility", &**visibility), ("force", "yes")];
        owned.submit("/versions/1", &fields).await
    };
    let before = shown(&owned.see("/versions/1").await);
    // What the agent deploys meanwhile would be lost by a box that was ticked for something else.
    let html = "<!doctype html><title>An app</title><h1>Third</h1>";
    let third = json!({"html": html, "manifest": manifest("owner", true)});
    owned.agent(POST, "/versions", third).await.expect(201);
    let refused = back(&before).await;
    assert_eq!(refused.status, 409);
    refused.says("role=\"alert\"").says("was at version 2").says("is at version 3");

    // The page that tells so shows what is there now, and holds for who reaches the app as well.
    let shown_again = shown(&refused);
    assert_eq!(shown_again.0, "3");
    let opened = [("action", "visibility"), ("visibility", "public")];
    owned.submit("/settings", &opened).await.led_to();
    back(&shown_again).await.says("and is at version 3 and public now");
    assert_eq!(owned.read("").await["version"], 3);
    let last = shown(&owned.see("/versions/1").await);
    assert_eq!(back(&last).await.led_to(), owned.page("/versions/4?done=rolled-back#notice"));
}

#[tokio::test]
async fn nobody_else_rolls_an_app_back() {
    let owned = two_versions().await;
    let bob = owned.server.human("bob@example.org").await;
    let page = owned.page("/versions/1");
    let fields = [("version", "2"), ("visibility", "private"), ("force", "yes")];
    assert_eq!(owned.server.submit(&bob, &page, &fields).await.status, 404);
    let foreign = owned.server.request(POST, &page).header("cookie", &owned.ada.cookie);
    let foreign = foreign.header("origin", "https://evil.example").form(&fields);
    assert_eq!(Answer::of(foreign).await.status, 403);
    assert_eq!(owned.read("").await["version"], 2);
}

#[tokio::test]
async fn the_list_says_how_many_versions_this_service_keeps() {
    for (kept, says) in [("7", "The last 7 are kept."), ("1", "Only the last one is kept.")] {
        let server =
            TestServer::builder().set("ROOKERY__LIMITS__VERSIONS_KEPT", kept).start().await;
        let ada = server.human("ada@example.org").await;
        let agent = server.agent(&ada).await;
        let app = server.deploy(&agent.key, json!({})).await;
        server.see(&ada, &format!("/apps/{}/versions", app.id)).await.says(says);
    }
}

#[tokio::test]
async fn going_back_says_which_guards_fall_and_which_rows_stay_set_aside() {
    let version = |guard: Value, required: Value| {
        let lists = |who: &str| json!({"read": [who], "write": [who], "update": ["owner"], "delete": ["owner"]});
        let mut guests = json!({"permissions": lists("anyone")});
        guests.as_object_mut().unwrap().extend(guard.as_object().cloned().unwrap());
        json!({
            "collections": {"guests": guests, "notes": {"schema": {"$ref": "#/$defs/Note"},
                "unique": ["name"], "permissions": lists("owner")}},
            "$defs": {"Note": {"type": "object", "required": required,
                "properties": {"name": {"type": "string"}, "text": {"type": "string"}}}}
        })
    };
    let owned = Owned::with(version(json!({}), json!(["name"]))).await;
    let first = json!({"key": "s1", "data": {"name": "ada"}});
    owned.agent(POST, "/collections/notes", first).await.expect(201);
    let guarded = version(json!({"antiAbuse": "challenge"}), json!(["name", "text"]));
    let body = json!({"html": "<!doctype html><p>Guarded", "manifest": guarded, "force": true});
    owned.agent(POST, "/versions", body).await.expect(201);
    let page = owned.see("/versions/1").await;
    page.says("It would change what people you do not know can do:");
    page.says("anyone invited can create rows after a challenge, without a budget");
    page.says("1 row that was set aside is served again.").hides("There will be rows that stay");

    // Somebody has the name meanwhile.
    let second = json!({"data": {"name": "ada", "text": "x"}});
    owned.agent(POST, "/collections/notes", second).await.expect(201);
    let page = owned.see("/versions/1").await;
    page.says("There will be rows that stay detached because others hold their unique values: 1");
    page.says("s1").hides("is served again");
}

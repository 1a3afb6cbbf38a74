//! What a form says about its last sending: at the field that was refused, or at the part of the page
//! that it changed.

use serde_json::json;

use super::{Owned, POST};
use crate::harness::{Answer, TestServer, apps::guestbook};

const MARKS: &str = "aria-invalid=\"true\" aria-describedby=\"why\" autofocus";

/// Checks that one input of the page is marked, with its reason before it, and has the focus.
#[track_caller]
fn refuses(page: &Answer, input: &str, why: &str) {
    assert!((400..500).contains(&page.status), "{}", page.text);
    page.says(&format!("<p class=\"why\" id=\"why\">{why}"));
    let (before, _) = page.text.split_once(" aria-invalid=\"true\"").expect("a mark");
    let (_, tag) = before.rsplit_once('<').expect("a tag");
    assert!(tag.contains(&format!("id=\"{input}\"")) || tag.ends_with(input), "{tag:?} is marked");
    assert_eq!(page.text.matches("aria-invalid").count(), 1, "{}", page.text);
    assert_eq!(page.text.matches(" autofocus").count(), 1, "{}", page.text);
    page.says("role=\"alert\"");
}

#[tokio::test]
async fn a_refused_field_is_marked_and_says_why() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let send = async |page: &str, fields: &[(&str, &str)]| server.submit(&ada, page, fields).await;
    let long = "x".repeat(101);

    let page = send("/account", &[("action", "rename"), ("name", &long)]).await;
    refuses(&page, "name", "The name ");
    page.says("aria-describedby=\"why name-help\"");
    server.see(&ada, "/account").await.says("aria-describedby=\"name-help\"").hides("aria-invalid");
    let page =
        send("/account", &[("action", "close"), ("confirm_email", "else@example.org")]).await;
    refuses(&page, "confirm_email", "This is not the account");
    page.says("<details class=\"confirm\" open>");
    let page = send("/account", &[("action", "heard"), ("source", "")]).await;
    refuses(&page, "source", "The answer ");

    let fields = [("agent", &*agent.id), ("action", "rename"), ("name", &*long)];
    let page = send("/agents", &fields).await;
    refuses(&page, &format!("name-{}", agent.id), "The name ");
    page.says("<details class=\"menu\" open>").says(&format!("value=\"{long}\""));

    refuses(&send("/orgs", &[("name", "")]).await, "name", "The name ");
    let org = send("/orgs", &[("name", "Rooks")]).await.led_to().to_owned();
    let org = org.split('?').next().expect("a path");
    let page = send(org, &[("action", "add-member"), ("email", "nobody"), ("role", "admin")]).await;
    refuses(&page, "email", "This is not a valid e-mail address.");
    refuses(&send(org, &[("action", "rename"), ("name", &long)]).await, "name", "The name ");
    let page = send(org, &[("action", "leave")]).await;
    assert_eq!(page.status, 409);
    page.hides("aria-invalid").says("<div id=\"notice\" tabindex=\"-1\" autofocus>");
}

#[tokio::test]
async fn a_refused_field_of_an_apps_pages_is_marked() {
    let owned = Owned::with(json!({
        "collections": guestbook()["collections"], "roles": {"guest": {}},
    }))
    .await;
    let member = [("action", "add-member"), ("email", "nobody")];
    refuses(&owned.submit("/sharing", &member).await, "member-email", "This is not a valid");
    let role = [("action", "add-member"), ("email", "bob@example.org"), ("custom_role", "gone")];
    refuses(
        &owned.submit("/sharing", &role).await,
        "member-role",
        "The manifest declares no role ",
    );
    let offer = [("action", "offer"), ("email", "nobody")];
    refuses(&owned.submit("/sharing", &offer).await, "offer-email", "This is not a valid");
    let grant = |name, value| [("action", "grant"), ("role", "guest"), (name, value)];
    let page = owned.submit("/sharing", &grant("max_uses", "0")).await;
    refuses(&page, "grant-uses", "The number of visitors ");
    let page = owned.submit("/sharing", &grant("days", "many")).await;
    refuses(&page, "grant-days", "The time that it is valid ");
    let page = owned.submit("/sharing", &[("action", "credential"), ("mode", "following")]).await;
    // Of a group, its first box.
    refuses(&page, "name=\"operation\" value=\"read\"", "What it may do ");
    let fields = [("action", "credential"), ("mode", "explicit"), ("operation", "read")];
    let page = owned.submit("/sharing", &fields).await;
    refuses(&page, "name=\"collection\" value=\"entries\"", "The choice of collections ");
    let fields = [("action", "credential"), ("mode", "explicit"), ("collection", "entries")];
    let page = owned.submit("/sharing", &fields).await;
    refuses(&page, "name=\"operation\" value=\"read\"", "What it may do ");

    let zone = [("action", "timezone"), ("timezone", "Nowhere")];
    refuses(&owned.submit("/settings", &zone).await, "timezone", "The timezone ");
    let minutes = [("action", "migration"), ("on", "true"), ("minutes", "0")];
    refuses(&owned.submit("/settings", &minutes).await, "minutes", "The number of minutes ");
    let kept = [("action", "retention"), ("collection", "entries"), ("max_age_days", "0")];
    let why = "The number of days must be a whole number from 1 to 36500.";
    refuses(&owned.submit("/settings", &kept).await, "age-entries", why);

    let page = owned.submit("/data/entries/new", &[("key", "k1"), ("data", "{")]).await;
    refuses(&page, "data", "This is not JSON");
    let page = owned.submit("/data/entries/new", &[("key", ".."), ("data", "{}")]).await;
    refuses(&page, "key", "The key must not be “..”, which is reserved.");
    let page = owned.submit("/data/entries/new", &[("key", ""), ("data", "[]")]).await;
    refuses(&page, "data", "The content must be an object.");
    owned.agent(POST, "/collections/entries", json!({"key": "k1", "data": {}})).await.expect(201);
    let page = owned.submit("/data/entries/new", &[("key", "k1"), ("data", "{}")]).await;
    refuses(&page, "key", "There is already a row with this key.");
    let fields = [("action", "save"), ("version", "1"), ("base", "{}"), ("data", "{")];
    refuses(&owned.submit("/data/entries/rows/k1", &fields).await, "data", "This is not JSON");
    let page = owned.see("/data/entries?value=Ada").await;
    refuses(&page, "field", "Choose a field.");
    refuses(&owned.see("/data/entries?filter=%7Bx").await, "filter-json", "");
    owned.see("/data/entries").await.hides("aria-invalid").hides(MARKS);
}

#[tokio::test]
async fn what_is_refused_is_told_in_sentences() {
    let owned = Owned::with(guestbook()).await;
    let said = async |below: &str, fields: &[(&str, &str)], text: &str| {
        let page = owned.submit(below, fields).await;
        assert!((400..500).contains(&page.status), "{}", page.text);
        page.says(text).hides("uery parameter");
    };
    let fields = [("action", "credential"), ("mode", "explicit"), ("operation", "read")];
    said("/sharing", &fields, "The choice of collections must name at least one collection").await;
    let fields = [("action", "credential"), ("mode", "following")];
    said("/sharing", &fields, "What it may do must name at least one operation.").await;
    let fields = [("action", "add-member"), ("email", "bob@example.org"), ("custom_role", "zz")];
    said("/sharing", &fields, ">The manifest declares no role &#34;zz&#34;.").await;
    let fields = [("action", "organization"), ("org_id", "zz")];
    said("/settings", &fields, "The organization is unknown.").await;
    let fields = [("action", "timezone"), ("timezone", "a\0b")];
    said("/settings", &fields, "The timezone must ").await;
    said("/data/entries/new", &[("key", "a\0b"), ("data", "{}")], "must not hold NUL.").await;
    said("/data/entries/new", &[("key", "k")], "The form lacks “data”.").await;
    said("/settings", &[("action", "explode")], "This page has no such form.").await;
}

#[tokio::test]
async fn what_was_done_is_said_where_it_was_done() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let pause = [("agent", &*agent.id), ("action", "pause")];
    let paused = server.submit(&ada, "/agents", &pause).await;
    // The fragment leads to the notice, which can hold the focus.
    assert_eq!(paused.led_to(), "/agents?done=paused#notice");
    let page = server.see(&ada, paused.led_to()).await;
    page.says(
        "<div id=\"notice\" tabindex=\"-1\"><p class=\"notice\" role=\"status\">The agent is",
    );
    assert_eq!(page.text.matches("id=\"notice\"").count(), 1);
    let at = |page: &Answer, text: &str| page.text.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at(&page, "<h1>Your agents") < at(&page, "id=\"notice\""));
    // Where the page is left by a form, it says nothing twice.
    page.says("action=\"/agents\"").hides("action=\"/agents?done");

    let org = server.submit(&ada, "/orgs", &[("name", "Rooks")]).await.led_to().to_owned();
    let org = org.split('?').next().expect("a path");
    server.human("bob@example.org").await;
    let add = [("action", "add-member"), ("email", "bob@example.org"), ("role", "member")];
    let added = server.submit(&ada, org, &add).await;
    let page = server.see(&ada, added.led_to()).await;
    page.says("They are in the organization now.");
    assert!(at(&page, "<h2 id=\"members\"") < at(&page, "id=\"notice\""));
    assert!(at(&page, "id=\"notice\"") < at(&page, "bob@example.org"));
    assert_eq!(page.text.matches("id=\"notice\"").count(), 1);
    // What is said of nothing on the page stands at its top, or nowhere.
    server.see(&ada, "/agents?done=saved").await.says("Saved.");
    server.see(&ada, "/agents").await.says("<div id=\"notice\" tabindex=\"-1\"></div>");
}

#[tokio::test]
async fn a_mark_leads_back_to_its_button() {
    let owned = Owned::with(guestbook()).await;
    for (page, button) in
        [("/", format!("star-{}", owned.app.id)), (&*owned.page(""), "favorite".into())]
    {
        let seen = owned.server.see(&owned.ada, page).await;
        seen.says(&format!("<button id=\"{button}\""));
        let back = seen.between("name=\"back\" value=\"", "\"");
        let marked = owned.submit("", &[("action", "favorite"), ("back", &back)]).await;
        assert_eq!(marked.led_to(), format!("{page}#{button}"));
    }
}

#[tokio::test]
async fn moments_name_their_zone() {
    let owned = Owned::with(guestbook()).await;
    owned.agent(POST, "/collections/entries", json!({"key": "k1", "data": {}})).await.expect(201);
    for below in ["", "/data/entries", "/data/entries/rows/k1", "/versions"] {
        let page = owned.see(below).await;
        let times: Vec<_> = page.text.split("<time ").skip(1).collect();
        assert!(!times.is_empty(), "{below}");
        for time in times {
            let shown = time.split("</time>").next().expect("an end");
            assert!(shown.ends_with(" UTC"), "{below}: {shown}");
        }
    }
    owned.server.see(&owned.ada, "/usage?by=hour").await.says("Hours are those of UTC.");
}

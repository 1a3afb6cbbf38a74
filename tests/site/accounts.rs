//! A form acts for the account that its page showed, and for no other that has signed in since.

use rookery_domain::ErrorCode;
use serde_json::json;

use super::{GET, Owned, POST};
use crate::harness::{Answer, Human, TestServer, apps::guestbook};

/// What a page's forms say whom they are for.
async fn mark(server: &TestServer, human: &Human, path: &str) -> String {
    let page = server.see(human, path).await;
    let mark = page.between("name=\"made_for\" value=\"", "\"");
    let forms = page.text.matches("method=\"post\"").count();
    assert_eq!(page.text.matches(&format!("value=\"{mark}\"></form>")).count(), forms, "{path}");
    mark.replace("&#38;", "&")
}

#[tokio::test]
async fn a_form_that_another_account_sends_is_kept_and_asks_for_whom() {
    let server = TestServer::start().await;
    let bob = server.human("bob&co@example.org").await;
    let ann = server.human("ann@example.org").await;
    let for_bob = mark(&server, &bob, "/account").await;
    let fields = [("name", "Bob <b>"), ("action", "rename"), ("made_for", &*for_bob)];
    let asked = server.submit(&ann, "/account", &fields).await;
    assert_eq!(asked.status, 409);
    assert_eq!(asked.header("cache-control"), "no-store");
    asked.says("You are signed in as <strong>ann@example.org</strong> now");
    asked.says("made for <strong>bob&#38;co@example.org</strong>").says("Nothing was done");
    asked.says("Do it as ann@example.org").says("Sign in as bob&#38;co@example.org");
    asked.says("name=\"name\" value=\"Bob &#60;b&#62;\"").says("action=\"/account\"");
    asked.says("href=\"/sign-in?redirect_to=%2Faccount\"");
    server.see(&ann, "/account").await.says("<h1>ann</h1>");

    // Sent again for who is signed in, and by whom it was made for.
    let (_, for_now) = asked.text.split_once("signed in now").expect("the way for who is");
    let for_ann = for_now.split_once("name=\"made_for\" value=\"").expect("a mark").1;
    let for_ann = for_ann.split('"').next().unwrap();
    let fields = [("name", "Both"), ("action", "rename"), ("made_for", for_ann)];
    server.submit(&ann, "/account", &fields).await.led_to();
    server.see(&ann, "/account").await.says("<h1>Both</h1>");
    let fields = [("name", "Bob"), ("action", "rename"), ("made_for", &*for_bob)];
    server.submit(&bob, "/account", &fields).await.led_to();
    server.see(&bob, "/account").await.says("<h1>Bob</h1>");

    // One whose session ended says whose it was, and stays theirs.
    server.submit(&bob, "/sign-out", &[]).await;
    let ended = server.submit(&bob, "/account", &fields).await;
    assert_eq!(ended.status, 401);
    ended.says("as <strong>bob&#38;co@example.org</strong>");
    assert_eq!(ended.between("name=\"made_for\" value=\"", "\"").replace("&#38;", "&"), for_bob);
    // What is no account says nothing, and nobody's address is told by an id.
    let fields = [("name", "Ann"), ("action", "rename"), ("made_for", "nobody")];
    server.submit(&ann, "/account", &fields).await.led_to();
    let id = for_bob.split(' ').next().expect("an id");
    let fields = [("name", "Ann"), ("made_for", &*format!("{id} somebody"))];
    server.submit(&ann, "/account", &fields).await.says("somebody").hides("bob&");
}

#[tokio::test]
async fn an_agent_is_connected_to_the_account_that_the_page_showed() {
    let server = TestServer::start().await;
    let bob = server.human("bob@example.org").await;
    let ann = server.human("ann@example.org").await;
    let started = server.request(POST, "/v1/device/code").json(&json!({"name": "Tablet"}));
    let started = Answer::of(started).await.expect(200);
    let code = started["user_code"].as_str().expect("a code");
    let path = format!("/device?user_code={code}");
    let for_bob = mark(&server, &bob, &path).await;
    let fields = [("user_code", code), ("decision", "approve"), ("made_for", &*for_bob)];
    let asked = server.submit(&ann, &path, &fields).await;
    assert_eq!(asked.status, 409);
    asked.says("made for <strong>bob@example.org</strong>").says(&format!("action=\"{path}\""));
    let poll = async || {
        let body = json!({"device_code": started["device_code"]});
        Answer::of(server.request(POST, "/v1/device/token").json(&body)).await
    };
    poll().await.expect(202);

    let approved = server.submit(&bob, &path, &fields).await;
    assert_eq!(approved.led_to(), format!("{path}&done=decided"));
    for _ in 0..2 {
        let page = server.see(&bob, approved.led_to()).await;
        page.says("“Tablet” is approved").says("as soon as it asks for it");
    }
    server.state().clock.set(crate::harness::START.plus_seconds(10));
    poll().await.expect(200);
    server.see(&bob, approved.led_to()).await.says("“Tablet” is connected").says("has its key now");
    let agents = Answer::of(server.by(&bob, GET, "/v1/self/agents")).await.expect(200);
    assert_eq!(agents["items"][0]["name"], "Tablet");
    // Decided stays decided, whenever the page is loaded.
    server.state().clock.set(crate::harness::START.plus_seconds(600));
    server.see(&bob, approved.led_to()).await.says("This is decided").says("href=\"/agents\"");
    assert_eq!(server.see(&bob, &path).await.status, 404);
}

#[tokio::test]
async fn every_form_of_a_page_says_whom_it_is_for() {
    let owned = Owned::with(guestbook()).await;
    let row = json!({"key": "k1", "data": {"note": "<form method=\"post\"></form>"}});
    owned.agent(POST, "/collections/entries", row).await.expect(201);
    for path in ["/", "/agents", "/orgs", "/account"] {
        mark(&owned.server, &owned.ada, path).await;
    }
    for below in ["", "/sharing", "/settings", "/data/entries", "/data/entries/rows/k1"] {
        mark(&owned.server, &owned.ada, &owned.page(below)).await;
    }
    // Forms that only look say nothing of an account in their addresses.
    let page = owned.see("/data/entries").await;
    let filter = page.between("<form id=\"filter\"", "</form>");
    assert!(!filter.contains("made_for"), "{filter}");
}

#[tokio::test]
async fn a_member_of_an_app_writes_nothing_by_its_owners_pages() {
    let manifest = json!({"collections": {"notes": {"permissions": {
        "read": ["member"], "write": ["member"], "update": ["member"], "delete": ["member"],
    }}}});
    let owned = Owned::with(manifest).await;
    let row = json!({"key": "k1", "data": {"n": 1}});
    owned.agent(POST, "/collections/notes", row).await.expect(201);
    let bob = owned.server.human("bob@example.org").await;
    owned.submit("/sharing", &[("action", "add-member"), ("email", &bob.email)]).await.led_to();
    let new = [("key", "k2"), ("data", "{}")];
    let save = [("action", "save"), ("data", "{\"n\": 2}"), ("base", "{}"), ("version", "1")];
    let delete = [("action", "delete"), ("version", "1")];
    let row = "/data/notes/rows/k1";
    for (below, fields) in [("/data/notes/new", &new[..]), (row, &save), (row, &delete)] {
        let refused = owned.server.submit(&bob, &owned.page(below), fields).await;
        assert_eq!(refused.status, 403, "{below}: {}", refused.text);
    }
    let rows = owned.read("/collections/notes").await;
    assert_eq!(rows["items"].as_array().expect("rows").len(), 1);
    assert_eq!(rows["items"][0]["data"], json!({"n": 1}));
    owned.agent(GET, "/collections/notes/k2", json!({})).await.error(ErrorCode::RowNotFound);
}

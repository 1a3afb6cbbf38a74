//! Forms that are sent twice, as by a double click, or by going back and pressing the button again: the
//! second answer is the first one's, and nothing is made or refused by it.

use reqwest::Method;
use serde_json::{Value, json};

use super::{GET, Owned};
use crate::{
    harness::{Answer, Human, TestServer, apps::guestbook},
    routes::domains::Hosted,
};

/// Sends a form of the page at `path` twice, as that page makes it; what both led to.
async fn twice(server: &TestServer, human: &Human, path: &str, fields: &[(&str, &str)]) -> String {
    let token = server.see(human, path).await.between("name=\"form\" value=\"", "\"");
    let fields = [fields, &[("form", &*token)]].concat();
    again(server, human, path, &fields).await
}

/// The same for a form that has no token.
async fn again(server: &TestServer, human: &Human, path: &str, fields: &[(&str, &str)]) -> String {
    let first = server.submit(human, path, fields).await.led_to().to_owned();
    let second = server.submit(human, path, fields).await;
    assert_eq!(second.led_to(), first, "{fields:?}");
    first
}

async fn items(server: &TestServer, human: &Human, path: &str) -> Vec<Value> {
    let list = Answer::of(server.by(human, GET, path)).await.expect(200);
    list["items"].as_array().expect("items").clone()
}

#[tokio::test]
async fn an_organization_and_its_members_are_made_once() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.human("ada@example.org").await, server.human("bob@example.org").await);
    let made = twice(&server, &ada, "/orgs", &[("name", "Rooks")]).await;
    assert_eq!(items(&server, &ada, "/v1/orgs").await.len(), 1);
    server.see(&ada, &made).await.says("<h1>Rooks</h1>").says("you are its admin");
    // The same from a page that was seen anew is wanted.
    twice(&server, &ada, "/orgs", &[("name", "Rooks")]).await;
    assert_eq!(items(&server, &ada, "/v1/orgs").await.len(), 2);

    let org = made.split_once('?').expect("a mark").0;
    let add = [("action", "add-member"), ("email", "bob@example.org"), ("role", "admin")];
    twice(&server, &ada, org, &add).await;
    let left = again(&server, &bob, org, &[("action", "leave")]).await;
    server.see(&bob, &left).await.says("You have left the organization.");
    twice(&server, &ada, org, &add).await;
    let members = items(&server, &ada, &format!("/v1{org}/members")).await;
    let me = members.iter().find(|one| one["email"] == bob.email).expect("bob");
    let me = me["human_id"].as_str().expect("an id");
    // An admin no more, one may not set roles; but this one was set.
    again(&server, &bob, org, &[("action", "set-role"), ("member", me), ("role", "member")]).await;
    let other = [("action", "set-role"), ("member", me), ("role", "admin")];
    assert_eq!(server.submit(&bob, org, &other).await.status, 403);
}

#[tokio::test]
async fn an_app_is_shared_and_offered_once() {
    let owned = Owned::with(guestbook()).await;
    let (server, ada) = (&owned.server, &owned.ada);
    let page = owned.page("/sharing");
    twice(server, ada, &page, &[("action", "add-member"), ("email", "bob@example.org")]).await;
    let members = owned.read("/members").await;
    let members = members["items"].as_array().expect("items");
    let member = members.iter().find(|one| one["role"] == "member").expect("a member");
    let member = member["human_id"].as_str().expect("an id");
    again(server, ada, &page, &[("action", "remove-member"), ("member", member)]).await;

    let offer = [("action", "offer"), ("email", "bob@example.org")];
    let offered = twice(server, ada, &page, &offer).await;
    server.see(ada, &offered).await.says("The app is offered.");
    let other = [("action", "offer"), ("email", "eve@example.org")];
    assert_eq!(server.submit(ada, &page, &other).await.status, 409);
    again(server, ada, &page, &[("action", "withdraw")]).await;

    let visibility = [("action", "visibility"), ("visibility", "link")];
    again(server, ada, &owned.page("/settings"), &visibility).await;
    let token = owned.see("/sharing").await.between("name=\"form\" value=\"", "\"");
    let rotate = [("action", "rotate-link"), ("form", &*token)];
    server.submit(ada, &page, &rotate).await.led_to();
    let link = owned.read("").await["share_url"].clone();
    server.submit(ada, &page, &rotate).await.led_to();
    assert_eq!(owned.read("").await["share_url"], link, "the link that was copied still works");
}

#[tokio::test]
async fn a_domain_is_added_and_removed_once() {
    let here = Hosted::start().await;
    let ada = here.server.human("ada@example.org").await;
    let agent = here.server.agent(&ada).await;
    let app = here.server.deploy(&agent.key, json!({"manifest": {}})).await;
    let page = format!("/apps/{}/domains", app.id);
    let domain = ("domain", "www.example.com");
    twice(&here.server, &ada, &page, &[("action", "add"), domain]).await;
    let removed = again(&here.server, &ada, &page, &[("action", "remove"), domain]).await;
    here.server.see(&ada, &removed).await.says("The domain is removed.").says("No domain yet");
}

#[tokio::test]
async fn an_offer_is_taken_or_declined_once() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    server.offer(&ada, &app, &bob).await;
    // As the page makes the form.
    let form = async |who: &Human, decision: &'static str| {
        let page = server.see(who, "/transfers").await;
        let field = |name: &str| page.between(&format!("name=\"{name}\" value=\""), "\"");
        (field("transfer"), field("app"), decision)
    };
    let (transfer, offered, decision) = form(&bob.human, "decline").await;
    let decline = [("transfer", &*transfer), ("app", &*offered), ("decision", decision)];
    server.submit(&bob.human, "/transfers", &decline).await.led_to();
    let gone = server.submit(&bob.human, "/transfers", &decline).await;
    let gone = server.see(&bob.human, gone.led_to()).await;
    gone.says("That app is not offered to you any more.").hides("role=\"alert\"");

    server.offer(&ada, &app, &bob).await;
    let (transfer, offered, decision) = form(&bob.human, "accept").await;
    let accept = [("transfer", &*transfer), ("app", &*offered), ("decision", decision)];
    let taken = again(&server, &bob.human, "/transfers", &accept).await;
    server.see(&bob.human, &taken).await.says("The app is yours now.");
    // Declined after it was taken it is not, and nobody else has taken it.
    let decline = [("transfer", &*transfer), ("app", &*offered), ("decision", "decline")];
    for (who, fields) in [(&bob.human, &decline), (&ada.human, &accept)] {
        let refused = server.submit(who, "/transfers", fields).await;
        assert_eq!(refused.status, 404);
        refused.says("This offer is gone");
    }
}

#[tokio::test]
async fn a_row_is_created_changed_and_destroyed_once() {
    let owned = Owned::with(guestbook()).await;
    let (server, ada) = (&owned.server, &owned.ada);
    let new = owned.page("/data/entries/new");
    let made = twice(server, ada, &new, &[("key", ""), ("data", "{\"n\": 1}")]).await;
    twice(server, ada, &new, &[("key", "k1"), ("data", "{\"n\": 2}")]).await;
    let count = async || owned.read("/collections/entries/count").await["count"].clone();
    assert_eq!(count().await, 2);
    server.see(ada, &made).await.says("The row is created.");

    let row = owned.page("/data/entries/rows/k1");
    let save = |data: &'static str| {
        [("action", "save"), ("version", "1"), ("base", "{\"n\":2}"), ("data", data)]
    };
    again(server, ada, &row, &save("{\"n\": 3}")).await;
    assert_eq!(owned.read("/collections/entries/k1").await["version"], 2);
    assert_eq!(server.submit(ada, &row, &save("{\"n\": 4}")).await.status, 409);

    again(server, ada, &row, &[("action", "delete"), ("version", "2")]).await;
    again(server, ada, &row, &[("action", "restore")]).await;
    let destroyed = again(server, ada, &row, &[("action", "purge")]).await;
    server.see(ada, &destroyed).await.says("content is destroyed");
    // What is destroyed is in no trash.
    let delete = [("action", "delete"), ("version", "2")];
    assert_eq!(server.submit(ada, &row, &delete).await.status, 404);
    assert_eq!(count().await, 1);
}

#[tokio::test]
async fn an_app_goes_back_to_a_version_once() {
    let owned = Owned::with(guestbook()).await;
    let second = json!({"html": "<!doctype html><title>Second</title>", "manifest": guestbook()});
    owned.agent(Method::POST, "/versions", second).await.expect(201);
    let back = owned.page("/versions/1");
    let shown = [("version", "2"), ("visibility", "private")];
    let led = twice(&owned.server, &owned.ada, &back, &shown).await;
    assert_eq!(led, owned.page("/versions/3?done=rolled-back#notice"));
    assert_eq!(owned.read("").await["version"], 3);

    // Going back to the oldest of the twenty that are kept drops that one.
    for _ in 3..20 {
        owned.agent(Method::POST, "/versions", json!({"html": "<h1>Next</h1>"})).await.expect(201);
    }
    let shown = [("version", "20"), ("visibility", "private")];
    let led = twice(&owned.server, &owned.ada, &back, &shown).await;
    assert_eq!(led, owned.page("/versions/21?done=rolled-back#notice"));
    assert_eq!(owned.read("").await["version"], 21);
}

#[tokio::test]
async fn an_app_is_deleted_and_destroyed_once() {
    let owned = Owned::with(guestbook()).await;
    let (server, ada, page) = (&owned.server, &owned.ada, owned.page(""));
    for action in ["delete", "restore", "delete"] {
        again(server, ada, &page, &[("action", action)]).await;
    }
    let back = server.see(ada, "/trash").await.between("name=\"back\" value=\"", "\"");
    let purge = [("action", "purge"), ("back", &*back)];
    server.submit(ada, &page, &purge).await.led_to();
    let gone = server.submit(ada, &page, &purge).await;
    let gone = server.see(ada, gone.led_to()).await;
    gone.says("That app is not in your trash any more.").hides("role=\"alert\"");
}

#[tokio::test]
async fn a_session_ends_once_and_all_of_them_do() {
    let server = TestServer::start().await;
    let here = server.human("ada@example.org").await;
    server.human("ada@example.org").await;
    let session = server.see(&here, "/account").await.between("name=\"session\" value=\"", "\"");
    let end = [("action", "end-session"), ("session", &*session)];
    let ended = again(&server, &here, "/account", &end).await;
    server.see(&here, &ended).await.says("That session has ended.");

    let told = [("action", "heard"), ("source", "A friend")];
    twice(&server, &here, "/account", &told).await;

    // Nobody is signed in then; what was done may have been this.
    let close = [("action", "close"), ("confirm_email", "ada@example.org")];
    for fields in [&[("action", "end-all")][..], &close[..]] {
        let here = server.human("ada@example.org").await;
        server.submit(&here, "/account", fields).await.led_to();
        let second = server.submit(&here, "/account", fields).await;
        assert_eq!(second.status, 401);
        second.says("If you sent this a moment ago, it is done").hides("Nothing was saved");
        second.hides("role=\"alert\"");
    }
    let other = server.submit(&here, "/account", &[("action", "rename"), ("name", "A")]).await;
    other.says("Nothing was saved");
}

//! The human's own page: name, mail, sessions, leaving for good.

use super::GET;
use crate::harness::{Answer, TestServer};

#[tokio::test]
async fn name_and_mail_are_the_humans_to_change() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    server
        .see(&ada, "/account")
        .await
        .says("<h1>ada</h1>")
        .says("You get no mail about the product");
    let named = server.submit(&ada, "/account", &[("action", "rename"), ("name", "Ada L.")]).await;
    assert_eq!(named.led_to(), "/account?done=saved#notice");
    server.submit(&ada, "/account", &[("action", "consent"), ("welcome", "yes")]).await.led_to();
    server
        .see(&ada, "/account")
        .await
        .says("<h1>Ada L.</h1>")
        .hides("You get no mail about the product");
    let long = "x".repeat(101);
    let refused = server.submit(&ada, "/account", &[("action", "rename"), ("name", &long)]).await;
    assert_eq!(refused.status, 400);
    refused.says("role=\"alert\"").says("Ada L.");
    server.submit(&ada, "/account", &[("action", "rename"), ("name", "")]).await.led_to();
    server.see(&ada, "/account").await.says("<h1>ada</h1>");
}

#[tokio::test]
async fn a_new_account_is_asked_once_how_it_heard_of_the_service() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    for page in ["/", "/account"] {
        server.see(&ada, page).await.says("How did you hear of us?");
    }
    let empty = [("action", "heard"), ("source", ""), ("back", "/")];
    let refused = server.submit(&ada, "/account", &empty).await;
    assert_eq!(refused.status, 400);
    refused.says("role=\"alert\"").says("How did you hear of us?");
    let answer = [("action", "heard"), ("source", "A friend"), ("back", "/")];
    assert_eq!(server.submit(&ada, "/account", &answer).await.led_to(), "/?done=heard#notice");
    server.see(&ada, "/?done=heard").await.says("Thank you").hides("How did you hear");
    server.see(&ada, "/account").await.hides("How did you hear");
    let profile = Answer::of(server.by(&ada, GET, "/v1/self/profile")).await.expect(200);
    assert_eq!(profile["signup_source"], "A friend");
    assert_eq!(server.submit(&ada, "/account", &answer).await.status, 409);
    // Whoever has an app already is not asked where it works.
    let bob = server.human("bob@example.org").await;
    let agent = server.agent(&bob).await;
    server.deploy(&agent.key, serde_json::json!({})).await;
    server.see(&bob, "/").await.hides("How did you hear");
}

#[tokio::test]
async fn sessions_end_one_by_one_or_all_at_once() {
    let server = TestServer::start().await;
    let here = server.human("ada@example.org").await;
    let there = server.human("ada@example.org").await;
    let page = server.see(&here, "/account").await;
    page.says("This browser").says("Another browser, no. 2");
    page.says("aria-label=\"Sign it out: browser no. 2\"");
    let session = page.between("name=\"session\" value=\"", "\"");
    let ended =
        server.submit(&here, "/account", &[("action", "end-session"), ("session", &session)]).await;
    assert_eq!(ended.led_to(), "/account?done=session-ended#notice");
    assert_eq!(Answer::of(server.by(&there, GET, "/account")).await.status, 303);
    server.see(&here, "/account").await.hides("Another browser");

    let third = server.human("ada@example.org").await;
    let all = server.submit(&here, "/account", &[("action", "end-all")]).await;
    let said = server.get(all.led_to()).await;
    said.says("You are signed out everywhere").says("In every browser").hides("entered from here");
    assert!(all.header("set-cookie").contains("Max-Age=0"));
    for gone in [&here, &third] {
        assert_eq!(Answer::of(server.by(gone, GET, "/account")).await.status, 303);
    }
}

#[tokio::test]
async fn an_account_that_others_need_is_told_where_to_make_an_admin() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    server.human("bob@example.org").await;
    let made = server.submit(&ada, "/orgs", &[("name", "Rooks & Co")]).await;
    let org = made.led_to().split_once('?').expect("a mark").0.to_owned();
    let add = [("action", "add-member"), ("email", "bob@example.org"), ("role", "member")];
    server.submit(&ada, &org, &add).await.led_to();
    let close = [("action", "close"), ("confirm_email", "ada@example.org")];
    let refused = server.submit(&ada, "/account", &close).await;
    assert_eq!(refused.status, 409);
    refused.says("You are the last admin of “Rooks &#38; Co”, which others are in");
    refused
        .says(&format!("<a href=\"{org}\">Go to Rooks &#38; Co</a>"))
        .hides("last admin of org_");
    refused.hides("aria-invalid");
}

#[tokio::test]
async fn leaving_for_good_asks_for_the_address() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let wrong = [("action", "close"), ("confirm_email", "eve@example.org")];
    let refused = server.submit(&ada, "/account", &wrong).await;
    assert_eq!(refused.status, 400);
    refused.says("This is not the account&#39;s address.");
    refused.says("<details class=\"confirm\" open>").says("value=\"eve@example.org\"");
    assert_eq!(server.see(&ada, "/account").await.status, 200);
    let right = [("action", "close"), ("confirm_email", "ada@example.org")];
    let closed = server.submit(&ada, "/account", &right).await;
    assert_eq!(closed.led_to(), "/account-deleted");
    assert!(closed.header("set-cookie").contains("Max-Age=0"));
    let said = server.get(closed.led_to()).await;
    said.says("Your account is deleted").says("Your apps are closed").hides("You are signed out<");
    assert_eq!(Answer::of(server.by(&ada, GET, "/account")).await.status, 303);
}

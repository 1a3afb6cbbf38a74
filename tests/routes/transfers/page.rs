//! `/transfers`: where a mailed offer leads.

use reqwest::RequestBuilder;
use serde_json::Value;

use super::{GET, POST};
use crate::{
    harness::{Answer, TestServer},
    routes::orgs::Person,
};

fn decide(server: &TestServer, who: &Person, offer: &Value, decision: &str) -> RequestBuilder {
    let form = format!("transfer={}&decision={decision}", offer["id"].as_str().unwrap());
    server
        .by(&who.human, POST, "/transfers")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
}

#[tokio::test]
async fn a_human_takes_and_declines_apps_on_the_site() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let signed_out = server.get("/transfers").await;
    assert_eq!(signed_out.status, 303);
    assert_eq!(signed_out.header("location"), "/sign-in?redirect_to=%2Ftransfers");

    let (first, second) =
        (server.app_with_rows(&ada, 0).await, server.app_with_rows(&ada, 0).await);
    let taken = server.offer(&ada, &first, &bob).await;
    let declined = server.offer(&ada, &second, &bob).await;
    let page = || Answer::of(server.by(&bob.human, GET, "/transfers"));
    let shown = page().await;
    assert_eq!(shown.status, 200);
    for offer in [&taken, &declined] {
        assert!(shown.text.contains(offer["app"]["slug"].as_str().unwrap()), "{}", shown.text);
    }
    let answer = Answer::of(decide(&server, &bob, &taken, "accept")).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, "/transfers?done=accepted#notice")
    );
    assert_eq!(Answer::of(decide(&server, &bob, &declined, "decline")).await.status, 303);
    assert_eq!(server.owner_of(&first, &bob).await, bob.id);
    assert_eq!(server.owner_of(&second, &ada).await, ada.id);
    assert!(page().await.text.contains("Nothing is offered"));

    // What is over is said on the page, and nobody decides for somebody else.
    let gone = Answer::of(decide(&server, &bob, &taken, "accept")).await;
    assert_eq!(gone.status, 404);
    assert!(gone.text.contains("This offer is gone"), "{}", gone.text);
    let third = server.offer(&ada, &second, &bob).await;
    assert_eq!(Answer::of(decide(&server, &ada, &third, "accept")).await.status, 404);
    assert_eq!(server.owner_of(&second, &ada).await, ada.id);
}

#[tokio::test]
async fn the_form_comes_from_the_site_and_says_what_it_means() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let offer = server.offer(&ada, &app, &bob).await;
    let form = format!("transfer={}&decision=accept", offer["id"].as_str().unwrap());
    let foreign = server.request(POST, "/transfers").header("cookie", &bob.human.cookie);
    let foreign = foreign
        .header("origin", "https://evil.example")
        .header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(Answer::of(foreign.body(form)).await.status, 403);
    assert_eq!(Answer::of(decide(&server, &bob, &offer, "take")).await.status, 400);
    let wrong = serde_json::json!({"id": "trf_x"});
    assert_eq!(Answer::of(decide(&server, &bob, &wrong, "accept")).await.status, 400);
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
}

#[tokio::test]
async fn a_name_that_looks_like_an_address_stands_beside_the_proven_one() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let name = serde_json::json!({"name": "ann@x.test"});
    server.ask(&ada, reqwest::Method::PATCH, "/v1/self/profile", name).await.expect(200);
    let app = server.app_with_rows(&ada, 0).await;
    let offer = server.offer(&ada, &app, &bob).await;
    assert_eq!(offer["offered_by"]["email"], ada.human.email);
    server.see(&bob.human, "/transfers").await.says("by ann@x.test (ada@example.org)");
    let mail = server.mails(&bob.human.email).await[0]["text"].as_str().unwrap().to_owned();
    assert!(mail.contains("ada@example.org offers") && !mail.contains("ann@x.test"), "{mail}");
    // And where apps are listed that others share.
    assert_eq!(server.decide(&bob, &offer, "decline").await.status, 204);
    let member = serde_json::json!({"email": bob.human.email});
    server.ask(&ada, POST, &format!("{app}/members"), member).await.expect(201);
    server.see(&bob.human, "/").await.says("by ann@x.test (ada@example.org)");
}

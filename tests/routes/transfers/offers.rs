//! Offers: made, seen, withdrawn, declined; who may, and what is wrong with a request.

use rookery_domain::{ErrorCode, id::TransferId};
use serde_json::{Value, json};

use super::{DELETE, GET, MINE, POST};
use crate::{
    harness::{Answer, TestServer},
    routes::orgs::id_of,
};

#[tokio::test]
async fn an_offer_is_mailed_and_changes_nothing() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let path = format!("{app}/transfer");
    server.ask(&ada, GET, &path, Value::Null).await.error(ErrorCode::NotFound);
    let answer = server.tell(&ada, POST, &path, json!({"email": " Bob@Example.org "})).await;
    let offer = answer.expect(201);
    assert_eq!(answer.header("location"), path);
    assert_eq!(offer["app"]["id"], id_of(&app));
    assert_eq!(offer["email"], "bob@example.org");
    assert_eq!(offer["status"], "pending");
    assert_eq!(offer["offered_by"]["id"], ada.id);
    assert_eq!(server.ask(&ada, GET, &path, Value::Null).await.expect(200), offer);
    assert_eq!(server.offered(&bob).await, std::slice::from_ref(&offer));

    let mails = server.mails("bob@example.org").await;
    let text = mails[0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("{}/transfers", server.public_url())), "{text}");
    assert!(text.contains(offer["app"]["slug"].as_str().unwrap()) && text.contains("ada"));
    // It is not bob's before he takes it, and still ada's.
    server.tell(&bob, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    assert_eq!(server.apps_of(&bob).await, [""; 0]);
}

#[tokio::test]
async fn an_app_has_one_pending_offer_and_withdrawing_is_idempotent() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let path = format!("{app}/transfer");
    assert_eq!(server.tell(&ada, DELETE, &path, Value::Null).await.status, 204);
    let first = server.offer(&ada, &app, &bob).await;
    for email in ["bob@example.org", "cyd@example.org"] {
        let second = server.ask(&ada, POST, &path, json!({"email": email})).await;
        second.error(ErrorCode::Conflict);
    }
    assert_eq!(server.mails("cyd@example.org").await, [json!(null); 0]);
    for _ in 0..2 {
        assert_eq!(server.tell(&ada, DELETE, &path, Value::Null).await.status, 204);
    }
    server.tell(&ada, GET, &path, Value::Null).await.error(ErrorCode::NotFound);
    assert_eq!(server.offered(&bob).await, [json!(null); 0]);
    server.decide(&bob, &first, "accept").await.error(ErrorCode::NotFound);
    let second = server.offer(&ada, &app, &bob).await;
    assert_ne!(first["id"], second["id"]);
    server.decide(&bob, &first, "decline").await.error(ErrorCode::NotFound);
    assert_eq!(server.decide(&bob, &second, "decline").await.status, 204);
    server.decide(&bob, &second, "accept").await.error(ErrorCode::NotFound);
    server.tell(&ada, GET, &path, Value::Null).await.error(ErrorCode::NotFound);
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
}

#[tokio::test]
async fn an_idempotency_key_offers_and_mails_once() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 0).await;
    let offer = |email: &str| {
        let request = server.by_agent(&ada.agent, POST, &format!("{app}/transfer"));
        Answer::of(request.header("idempotency-key", "t").json(&json!({"email": email})))
    };
    let first = offer("new@example.org").await.expect(201);
    let again = offer("new@example.org").await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), first);
    offer("other@example.org").await.error(ErrorCode::Conflict);
    assert_eq!(server.mails("new@example.org").await.len(), 1);
}

#[tokio::test]
async fn what_is_wrong_with_an_offer_is_said() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 0).await;
    let path = format!("{app}/transfer");
    for body in [
        json!({}),
        json!({"email": ""}),
        json!({"email": "nobody"}),
        json!({"email": null}),
        json!({"email": "a@example.org", "to": "b"}),
        json!(["a@example.org"]),
    ] {
        server.ask(&ada, POST, &path, body).await.error(ErrorCode::InvalidRequest);
    }
    // To oneself there is nothing to give.
    let own = server.ask(&ada, POST, &path, json!({"email": "ADA@example.org"})).await;
    own.error(ErrorCode::Conflict);
    for query in ["?limit=0", "?limit=201", "?cursor=x", "?email=x"] {
        let refused = server.ask(&ada, GET, &format!("{MINE}{query}"), Value::Null).await;
        refused.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn an_offer_is_the_owners_to_make_and_the_addressees_to_take() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let eve = server.person("eve").await;
    let app = server.app_with_rows(&ada, 0).await;
    let path = format!("{app}/transfer");
    for (method, body) in
        [(GET, Value::Null), (POST, json!({"email": eve.human.email})), (DELETE, Value::Null)]
    {
        server.ask(&eve, method.clone(), &path, body.clone()).await.error(ErrorCode::AppNotFound);
        server.tell(&eve, method.clone(), &path, body.clone()).await.error(ErrorCode::AppNotFound);
        let anonymous = server.request(method.clone(), &path).json(&body);
        Answer::of(anonymous).await.error(ErrorCode::Unauthorized);
        let unclaimed = server.unclaimed_agent().await;
        let request = server.by_agent(&unclaimed, method.clone(), &path).json(&body);
        Answer::of(request).await.error(ErrorCode::AgentNotClaimed);
        if method != GET {
            let foreign = server.request(method, &path).header("cookie", &ada.human.cookie);
            let foreign = foreign.header("origin", "https://evil.example").json(&body);
            Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
        }
    }
    let offer = server.offer(&ada, &app, &bob).await;
    assert_eq!(server.offered(&eve).await, [json!(null); 0]);
    assert_eq!(server.offered(&ada).await, [json!(null); 0]);
    let id = offer["id"].as_str().unwrap();
    for decision in ["accept", "decline"] {
        // Somebody else learns nothing: as with an id that never was.
        let foreign = server.decide(&eve, &offer, decision).await.error(ErrorCode::NotFound);
        let unknown = json!({"id": TransferId::new().to_string()});
        let unknown = server.decide(&eve, &unknown, decision).await.error(ErrorCode::NotFound);
        assert_eq!(foreign["message"], unknown["message"]);
        server.decide(&ada, &offer, decision).await.error(ErrorCode::NotFound);
        server.decide(&bob, &json!({"id": "trf_x"}), decision).await.error(ErrorCode::NotFound);
        server.decide(&bob, &json!({"id": id_of(&app)}), decision).await.error(ErrorCode::NotFound);
        // In person only, from the site only, without anything to say.
        let route = format!("{MINE}/{id}/{decision}");
        server.tell(&bob, POST, &route, Value::Null).await.error(ErrorCode::Forbidden);
        Answer::of(server.request(POST, &route)).await.error_of_its_own(ErrorCode::Unauthorized);
        let foreign = server.request(POST, &route).header("cookie", &bob.human.cookie);
        let foreign = foreign.header("origin", "https://evil.example");
        Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
        let body = server.ask(&bob, POST, &route, json!({"sure": true})).await;
        body.error(ErrorCode::InvalidRequest);
    }
    server.tell(&bob, GET, MINE, Value::Null).await.error(ErrorCode::Forbidden);
    server.decide(&bob, &offer, "accept").await.expect(200);
}

#[tokio::test]
async fn an_offer_waits_for_whoever_proves_the_address() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 2).await;
    let body = json!({"email": "later@example.org"});
    server.ask(&ada, POST, &format!("{app}/transfer"), body).await.expect(201);
    let server = server.restart().await;
    let later = server.person("later").await;
    let offers = server.offered(&later).await;
    assert_eq!(offers.len(), 1);
    let record = server.decide(&later, &offers[0], "accept").await.expect(200);
    assert_eq!(record["owner"]["id"], later.id);
    assert_eq!(record["usage"]["rows"], 2);
}

#[tokio::test]
async fn offers_are_listed_newest_first_page_by_page() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let mut made = Vec::new();
    for _ in 0..5 {
        let app = server.app_with_rows(&ada, 0).await;
        made.insert(0, server.offer(&ada, &app, &bob).await);
        // A second on, so that the order is the order of making.
        let clock = &server.state().clock;
        clock.set(clock.now().plus_seconds(1));
    }
    let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = server.ask(&bob, GET, &format!("{MINE}{query}"), Value::Null).await.expect(200);
        seen.extend(page["items"].as_array().unwrap().clone());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=2&cursor={cursor}");
    }
    assert_eq!(seen, made);
    let foreign = server.ask(&ada, GET, &format!("{MINE}{query}"), Value::Null).await;
    foreign.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn an_app_in_the_trash_is_not_taken_and_a_purged_one_is_not_offered() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 1).await;
    let path = format!("{app}/transfer");
    let offer = server.offer(&ada, &app, &bob).await;
    server.tell(&ada, DELETE, &app, Value::Null).await;
    assert_eq!(server.offered(&bob).await, [json!(null); 0]);
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::SoftDeleted);
    server
        .ask(&ada, POST, &path, json!({"email": "x@example.org"}))
        .await
        .error(ErrorCode::SoftDeleted);
    server.ask(&ada, GET, &path, Value::Null).await.error(ErrorCode::SoftDeleted);
    server.tell(&ada, POST, &format!("{app}/restore"), Value::Null).await.expect(200);
    assert_eq!(server.offered(&bob).await, std::slice::from_ref(&offer));
    server.tell(&ada, DELETE, &app, Value::Null).await;
    let purged = server.tell(&ada, POST, &format!("{app}/purge"), Value::Null).await;
    assert!(purged.status < 300, "{}", purged.text);
    for decision in ["accept", "decline"] {
        server.decide(&bob, &offer, decision).await.error(ErrorCode::NotFound);
    }
    assert_eq!(server.offered(&bob).await, [json!(null); 0]);
}

#[tokio::test]
async fn a_closed_app_is_not_taken() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let offer = server.offer(&ada, &app, &bob).await;
    server.state().rooms.close_app(id_of(&app)).await.unwrap();
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::AppClosed);
    let path = format!("{app}/transfer");
    server
        .ask(&ada, POST, &path, json!({"email": "x@example.org"}))
        .await
        .error(ErrorCode::AppClosed);
    server.ask(&ada, DELETE, &path, Value::Null).await.error(ErrorCode::AppClosed);
    server.ask(&ada, GET, &path, Value::Null).await.expect(200);
}

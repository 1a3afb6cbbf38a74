//! Slugs of destroyed apps: what an app left in browsers is bound to its origin, so nobody but the account
//! that had it last gets the slug again.

use reqwest::Method;
use rookery_actors::WorkerKind;
use rookery_domain::{ErrorCode, time::DAY_S};
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, HTML, Owner},
};

async fn create(server: &TestServer, who: &Owner, query: &str) -> Answer {
    let body = json!({"html": HTML, "slug": "guestbook"});
    server.send(Method::POST, who, &format!("/v1/apps{query}"), &body).await
}

async fn purge(server: &TestServer, owner: &Owner, app: &App) {
    for (method, below) in [(Method::DELETE, ""), (Method::POST, "/purge")] {
        let answer = server.send(method, owner, &app.path(below), &Value::Null).await;
        assert_eq!(answer.status, 204, "{}", answer.text);
    }
}

#[tokio::test]
async fn the_slug_of_a_purged_app_is_free_to_its_account_and_taken_to_every_other() {
    let server = TestServer::start().await;
    let (ann, eve) = (server.owner("ann").await, server.owner("eve").await);
    for _ in 0..2 {
        let app = App::of(create(&server, &ann, "").await.expect(201));
        purge(&server, &ann, &app).await;
        for query in ["", "?dry_run=true"] {
            create(&server, &eve, query).await.error(ErrorCode::SlugTaken);
        }
        create(&server, &ann, "?dry_run=true").await.expect(200);
    }
    let server = server.restart().await;
    create(&server, &eve, "").await.error(ErrorCode::SlugTaken);
    create(&server, &ann, "").await.expect(201);
}

#[tokio::test]
async fn a_colleagues_slug_is_not_to_be_had_by_purging_the_app() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    let org = server.send(Method::POST, &ann, "/v1/orgs", &json!({"name": "Rooks"})).await;
    let org = org.expect(201)["id"].clone();
    let members = format!("/v1/orgs/{}/members", org.as_str().unwrap());
    let bobs = json!({"email": "bob@example.org", "role": "admin"});
    server.send(Method::POST, &ann, &members, &bobs).await.expect(201);
    let app = App::of(create(&server, &ann, "").await.expect(201));
    let joins = json!({"org_id": org});
    server.send(Method::PATCH, &ann, &app.path(""), &joins).await.expect(200);
    // One that is live may be deployed over; nothing else makes the slug bob's.
    for hinted in ["Deploy over the app", "keeps its own"] {
        let refused = create(&server, &bob, "?dry_run=true").await;
        let error = refused.error_of_its_own(ErrorCode::SlugTaken);
        assert_eq!(error["details"]["app"]["id"], app.id);
        assert!(error["message"].to_string().contains("in your organization"), "{error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("another slug") && hint.contains(hinted), "{error}");
        assert!(!hint.contains("urge"), "{error}");
        server.send(Method::DELETE, &ann, &app.path(""), &Value::Null).await;
    }
}

#[tokio::test]
async fn an_app_that_waits_for_the_sweeper_says_when_its_slug_is_free() {
    let server = TestServer::start().await;
    let (ann, eve) = (server.owner("ann").await, server.owner("eve").await);
    let app = App::of(create(&server, &ann, "").await.expect(201));
    let answer = server.send(Method::DELETE, &ann, &app.path(""), &Value::Null).await;
    assert_eq!(answer.status, 204);
    let clock = &server.state().clock;
    clock.set(clock.now().plus_seconds(30 * DAY_S + 1));
    for query in ["", "?dry_run=true"] {
        let refused = create(&server, &ann, query).await;
        let error = refused.error_of_its_own(ErrorCode::SlugTaken);
        assert!(
            error["message"].to_string().contains("whose time in the trash is over"),
            "{error}"
        );
        let error = create(&server, &eve, query).await.error(ErrorCode::SlugTaken);
        assert!(error["message"].to_string().contains("somebody else"), "{error}");
    }
    server.round(WorkerKind::Sweeper).await;
    create(&server, &ann, "").await.expect(201);
}

#[tokio::test]
async fn whoever_an_app_was_given_to_has_its_slug_afterwards() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    let first = App::of(create(&server, &ann, "").await.expect(201));
    purge(&server, &ann, &first).await;
    let app = App::of(create(&server, &ann, "").await.expect(201));
    let offer = json!({"email": "bob@example.org"});
    let offer = server.send(Method::POST, &ann, &app.path("/transfer"), &offer).await.expect(201);
    let path = format!("/v1/self/transfers/{}/accept", offer["id"].as_str().expect("an id"));
    let accept = server.request(Method::POST, &path).header("origin", server.public_url());
    let accept = accept.header("cookie", format!("service_session={}", bob.session));
    Answer::of(accept).await.expect(200);
    purge(&server, &bob, &app).await;
    create(&server, &ann, "").await.error(ErrorCode::SlugTaken);
    create(&server, &bob, "").await.expect(201);
}

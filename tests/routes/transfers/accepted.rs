//! What an acceptance changes: everything, at once, and what must have room for it.

use std::time::Duration;

use rookery_domain::ErrorCode;
use rookery_testkit::until;
use serde_json::{Value, json};

use super::{DELETE, GET, PATCH, POST};
use crate::{
    harness::TestServer,
    routes::orgs::{Person, id_of},
};

/// Creates a row as the owner.
async fn row(server: &TestServer, who: &Person, app: &str) -> crate::harness::Answer {
    server.tell(who, POST, &format!("{app}/collections/entries"), json!({"data": {}})).await
}

#[tokio::test]
async fn with_the_acceptance_everything_of_the_app_goes_over_at_once() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 3).await;
    // Awake, with rows that its actor has written.
    row(&server, &ada, &app).await.expect(201);
    let offer = server.offer(&ada, &app, &bob).await;
    let record = server.decide(&bob, &offer, "accept").await.expect(200);
    assert_eq!(record["id"], id_of(&app));
    assert_eq!(record["owner"]["id"], bob.id);
    assert_eq!(record["usage"]["rows"], 4);
    // The former owner is a stranger, in person and by its agents.
    for path in ["", "/transfer", "/collections/entries", "/feed", "/document"] {
        let path = format!("{app}{path}");
        let in_person = server.ask(&ada, GET, &path, Value::Null).await;
        // Rows are for agents, whoever's app it is.
        in_person.error(match path.contains("/collections") || path.ends_with("/feed") {
            true => ErrorCode::Forbidden,
            false => ErrorCode::AppNotFound,
        });
        server.tell(&ada, GET, &path, Value::Null).await.error(ErrorCode::AppNotFound);
    }
    row(&server, &ada, &app).await.error(ErrorCode::AppNotFound);
    server.tell(&ada, DELETE, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    assert_eq!(server.apps_of(&ada).await, [""; 0]);
    // The new one is it, in person and by its agents, in lists and in the app.
    assert_eq!(server.apps_of(&bob).await, [id_of(&app)]);
    row(&server, &bob, &app).await.expect(201);
    let rows = server.tell(&bob, GET, &format!("{app}/collections/entries"), Value::Null).await;
    assert_eq!(rows.expect(200)["items"].as_array().unwrap().len(), 5);
    server
        .tell(&bob, GET, &format!("{app}/transfer"), Value::Null)
        .await
        .error(ErrorCode::NotFound);
    // A second time there is nothing to accept, and nothing to decline.
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::NotFound);
    server.decide(&bob, &offer, "decline").await.error(ErrorCode::NotFound);

    let server = server.restart().await;
    assert_eq!(server.owner_of(&app, &bob).await, bob.id);
    server.tell(&ada, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    // And on it goes.
    let back = server.offer(&bob, &app, &ada).await;
    server.decide(&ada, &back, "accept").await.expect(200);
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    server.tell(&bob, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn what_an_app_was_used_for_before_stays_with_the_account_that_had_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    for _ in 0..3 {
        row(&server, &ada, &app).await.expect(201);
    }
    let offer = server.offer(&ada, &app, &bob).await;
    server.decide(&bob, &offer, "accept").await.expect(200);
    row(&server, &bob, &app).await.expect(201);
    for (who, writes) in [(&ada, 3), (&bob, 1)] {
        let usage = server.ask(who, GET, "/v1/self/usage", Value::Null).await.expect(200);
        assert_eq!(usage["month"]["row_writes"], writes, "{usage}");
    }
}

#[tokio::test]
async fn the_feed_tells_the_new_owner_and_the_old_owners_poll_ends() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let feed = format!("{app}/feed");
    let start = server.tell(&ada, GET, &feed, Value::Null).await.expect(200);
    let cursor = start["cursor"].as_str().unwrap().to_owned();
    let offer = server.offer(&ada, &app, &bob).await;
    let poll = format!("{feed}?wait=60&since={cursor}");
    let waiting = tokio::spawn(
        server.by_agent(&ada.agent, GET, &poll).timeout(Duration::from_secs(30)).send(),
    );
    let handle = server.state().rooms.apps().find(id_of(&app)).await.unwrap();
    until("a follower", || handle.observe().followers > 0).await;
    server.decide(&bob, &offer, "accept").await.expect(200);
    let ended = waiting.await.unwrap().expect("it ends long before its time is over");
    assert_eq!(ended.status(), 404);
    let page = format!("{feed}?wait=0&since={cursor}");
    let page = server.tell(&bob, GET, &page, Value::Null).await.expect(200);
    let event = &page["events"][0];
    assert_eq!((&event["type"], &event["data"]["owner"]), (&json!("app.updated"), &json!(bob.id)));
    assert_eq!(event["by"], json!({"kind": "human", "id": bob.id}));
}

#[tokio::test]
async fn an_app_leaves_its_organization_with_its_owner() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let cyd = server.person("cyd").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &cyd, "admin").await;
    let app = server.app_with_rows(&ada, 0).await;
    let body = json!({"org_id": id_of(&org)});
    server.ask(&ada, PATCH, &app, body).await.expect(200);
    // An admin acts as the owner: it may offer.
    let offer = server.offer(&cyd, &app, &bob).await;
    assert_eq!(offer["offered_by"]["id"], cyd.id);
    let record = server.decide(&bob, &offer, "accept").await.expect(200);
    assert_eq!((&record["owner"]["id"], &record["org_id"]), (&json!(bob.id), &Value::Null));
    for stranger in [&ada, &cyd] {
        server.tell(stranger, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    }
}

#[tokio::test]
async fn what_a_demoted_admin_has_offered_is_no_offer_any_more() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let cyd = server.person("cyd").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &cyd, "admin").await;
    let app = server.app_with_rows(&ada, 0).await;
    let body = json!({"org_id": id_of(&org)});
    server.ask(&ada, PATCH, &app, body).await.expect(200);
    let offer = server.offer(&cyd, &app, &bob).await;
    assert_eq!(server.offered(&bob).await.len(), 1);
    server.set_role(&org, &ada, &cyd, "member").await.expect(200);
    assert_eq!(server.offered(&bob).await, [json!(null); 0]);
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::NotFound);
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    // It is gone for everybody, and stands in nobody's way.
    let path = format!("{app}/transfer");
    server.ask(&ada, GET, &path, Value::Null).await.error(ErrorCode::NotFound);
    server.decide(&bob, &offer, "decline").await.error(ErrorCode::NotFound);
    let offer = server.offer(&ada, &app, &bob).await;
    server.decide(&bob, &offer, "accept").await.expect(200);
}

#[tokio::test]
async fn an_offer_that_has_ended_does_not_come_back() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let cyd = server.person("cyd").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &cyd, "admin").await;
    let app = server.app_with_rows(&ada, 0).await;
    let put = async |org: Value| {
        let body = json!({"org_id": org});
        server.ask(&ada, PATCH, &app, body).await.expect(200);
    };
    put(json!(id_of(&org))).await;
    for end in ["demoted", "removed", "left"] {
        let offer = server.offer(&cyd, &app, &bob).await;
        match end {
            "demoted" => {
                server.set_role(&org, &ada, &cyd, "member").await.expect(200);
                server.set_role(&org, &ada, &cyd, "admin").await.expect(200);
            }
            "removed" => {
                let member = format!("{org}/members/{}", cyd.id);
                assert_eq!(server.ask(&ada, DELETE, &member, Value::Null).await.status, 204);
                server.join(&org, &ada, &cyd, "admin").await;
            }
            _ => {
                put(Value::Null).await;
                put(json!(id_of(&org))).await;
            }
        }
        assert_eq!(server.offered(&bob).await, [json!(null); 0], "{end}");
        server.decide(&bob, &offer, "accept").await.error(ErrorCode::NotFound);
        let path = format!("{app}/transfer");
        server.ask(&ada, GET, &path, Value::Null).await.error(ErrorCode::NotFound);
    }
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    // What the owner offers stands, whatever the owner is in the organization.
    let offer = server.offer(&ada, &app, &bob).await;
    server.set_role(&org, &cyd, &ada, "member").await.expect(200);
    server.set_role(&org, &cyd, &ada, "admin").await.expect(200);
    server.decide(&bob, &offer, "accept").await.expect(200);
}

#[tokio::test]
async fn an_account_with_as_many_apps_as_it_may_takes_none() {
    let server = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "2").start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let own = server.app_with_rows(&bob, 0).await;
    server.app_with_rows(&bob, 0).await;
    let app = server.app_with_rows(&ada, 1).await;
    let offer = server.offer(&ada, &app, &bob).await;
    for _ in 0..2 {
        let full = server.decide(&bob, &offer, "accept").await;
        let error = full.error(ErrorCode::AccountQuotaExceeded);
        assert_eq!(error["details"], json!({"dimension": "apps", "limit": 2}));
    }
    // No room is needed for what is not to be had.
    server.tell(&ada, DELETE, &app, Value::Null).await;
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::SoftDeleted);
    server.tell(&ada, POST, &format!("{app}/restore"), Value::Null).await.expect(200);
    // Nothing has changed, and the app works on.
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    row(&server, &ada, &app).await.expect(201);
    server.tell(&bob, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    assert_eq!(server.offered(&bob).await, std::slice::from_ref(&offer));
    // Apps in the trash do not count, and come back only where there is room.
    server.tell(&bob, DELETE, &own, Value::Null).await;
    server.decide(&bob, &offer, "accept").await.expect(200);
    let full = server.tell(&bob, POST, &format!("{own}/restore"), Value::Null).await;
    full.error(ErrorCode::AccountQuotaExceeded);
    // The former owner's place is free again.
    server.app_with_rows(&ada, 0).await;
    server.app_with_rows(&ada, 0).await;
}

#[tokio::test]
async fn rows_count_for_the_new_account_and_must_have_room_there() {
    let server = TestServer::builder().set("MAX_ROWS_PER_ACCOUNT", "10").start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 6).await;
    let own = server.app_with_rows(&bob, 5).await;
    let offer = server.offer(&ada, &app, &bob).await;
    let full = server.decide(&bob, &offer, "accept").await;
    let error = full.error(ErrorCode::AccountQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "rows", "limit": 10}));
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    // What was refused is counted nowhere: 4 more for ada, 5 more for bob, and not one beyond.
    for _ in 0..4 {
        row(&server, &ada, &app).await.expect(201);
    }
    row(&server, &ada, &app).await.error(ErrorCode::AccountQuotaExceeded);
    for _ in 0..5 {
        row(&server, &bob, &own).await.expect(201);
    }
    row(&server, &bob, &own).await.error(ErrorCode::AccountQuotaExceeded);
    // Bob gives his away and has room for ten.
    let cyd = server.person("cyd").await;
    let away = server.offer(&bob, &own, &cyd).await;
    server.decide(&cyd, &away, "accept").await.expect(200);
    server.decide(&bob, &offer, "accept").await.expect(200);
    row(&server, &bob, &app).await.error(ErrorCode::AccountQuotaExceeded);
    row(&server, &cyd, &own).await.error(ErrorCode::AccountQuotaExceeded);
    // And ada for ten of her own.
    let fresh = server.app_with_rows(&ada, 10).await;
    row(&server, &ada, &fresh).await.error(ErrorCode::AccountQuotaExceeded);

    // The same after everything was counted anew.
    let server = server.restart().await;
    for (who, app) in [(&ada, &fresh), (&bob, &app), (&cyd, &own)] {
        row(&server, who, app).await.error(ErrorCode::AccountQuotaExceeded);
    }
}

#[tokio::test]
async fn unrestricted_does_not_go_over_with_the_app() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 0).await;
    let set = format!("{app}/unrestricted");
    let on = server.ask(&ada, POST, &set, json!({"on": true})).await.expect(200);
    assert_eq!(on["unrestricted"], true);
    let feed = format!("{app}/feed");
    let cursor = server.tell(&ada, GET, &feed, Value::Null).await.expect(200)["cursor"].clone();
    let offer = server.offer(&ada, &app, &bob).await;
    assert_eq!(server.decide(&bob, &offer, "accept").await.expect(200)["unrestricted"], false);
    let page = format!("{feed}?wait=0&since={}", cursor.as_str().unwrap());
    let told = server.tell(&bob, GET, &page, Value::Null).await.expect(200);
    assert_eq!(told["events"][0]["data"]["unrestricted"], false);
    let server = server.restart().await;
    let record = server.tell(&bob, GET, &app, Value::Null).await.expect(200);
    assert_eq!(record["unrestricted"], false);
    // What it kept the app from is free again; the new owner may turn it on for itself.
    server.tell(&bob, PATCH, &app, json!({"visibility": "public"})).await.expect(200);
    server.tell(&bob, PATCH, &app, json!({"visibility": "private"})).await.expect(200);
    let on = server.ask(&bob, POST, &set, json!({"on": true})).await.expect(200);
    assert_eq!(on["unrestricted"], true);
}

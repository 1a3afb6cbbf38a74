//! Life and death of an app: trash, restore, purge, closing, waking.

use reqwest::Method;
use rookery::routes::ops::close;
use rookery_actors::app::message::{AppOp, Op};
use rookery_domain::{ErrorCode, principal::Caller};
use serde_json::json;

use crate::harness::{
    Answer, START, TestServer,
    apps::{App, HTML, Owner, guestbook},
};

async fn post(server: &TestServer, owner: &Owner, app: &App, below: &str) -> Answer {
    Answer::of(server.call(Method::POST, &app.path(below), owner)).await
}

async fn delete(server: &TestServer, owner: &Owner, app: &App) -> Answer {
    Answer::of(server.call(Method::DELETE, &app.path(""), owner)).await
}

#[tokio::test]
async fn a_deleted_app_can_be_read_on_request_and_restored_whole() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let body = json!({"manifest": guestbook(), "input_data": {"entries": [{"data": {"a": 1}}]}});
    let app = server.deploy(&owner, body).await;
    for _ in 0..2 {
        assert_eq!(delete(&server, &owner, &app).await.status, 204, "again is the same");
    }
    server.get_as(&owner, &app.path("")).await.error(ErrorCode::SoftDeleted);
    let shown = server.get_as(&owner, &app.path("?include_deleted=true")).await.expect(200);
    assert_eq!((&shown["status"], &shown["dormant"]), (&json!("deleted"), &json!(false)));
    assert_eq!(shown["deleted_at"], START.to_string());
    assert_eq!(shown["purge_at"], START.plus_seconds(30 * 86_400).to_string());

    let patch = json!({"timezone": "UTC"});
    let refused = [
        server.send(Method::PATCH, &owner, &app.path(""), &patch).await,
        server.send(Method::POST, &owner, &app.path("/versions"), &json!({"html": HTML})).await,
        server.send(Method::POST, &owner, &app.path("/migration-mode"), &json!({"on": true})).await,
        post(&server, &owner, &app, "/wake").await,
        server.get_as(&owner, &app.path("/document")).await,
        server.get_as(&owner, &app.path("/manifest")).await,
        server.get_as(&owner, &app.path("/disclosure")).await,
        server.get_as(&owner, &app.path("/roles")).await,
    ];
    for answer in refused {
        answer.error(ErrorCode::SoftDeleted);
    }
    for _ in 0..2 {
        let restored = post(&server, &owner, &app, "/restore").await.expect(200);
        assert_eq!((&restored["deleted_at"], &restored["purge_at"]), (&json!(null), &json!(null)));
        assert_eq!(restored["collections"][0]["row_count"], 1);
    }
    server.get_as(&owner, &app.path("")).await.expect(200);
}

#[tokio::test]
async fn an_app_comes_back_only_where_its_account_has_room() {
    let builder = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "3");
    let server = builder.set("MAX_ROWS_PER_ACCOUNT", "3").start().await;
    let owner = server.owner("ann").await;
    let with_rows = |rows: usize| {
        let rows = vec![json!({"data": {}}); rows];
        json!({"manifest": guestbook(), "input_data": {"entries": rows}})
    };
    let used = async |server: &TestServer| {
        let cookie = format!("service_session={}", owner.session);
        let usage = server.request(Method::GET, "/v1/self/usage").header("cookie", cookie);
        let usage = Answer::of(usage).await.expect(200);
        (usage["meters"]["apps"]["used"].clone(), usage["meters"]["rows"]["used"].clone())
    };
    let full = server.deploy(&owner, with_rows(3)).await;
    assert_eq!(delete(&server, &owner, &full).await.status, 204);
    assert_eq!(used(&server).await, (json!(0), json!(0)));
    let small = server.deploy(&owner, with_rows(1)).await;
    let refused = post(&server, &owner, &full, "/restore").await;
    let error = refused.error(ErrorCode::AccountQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "rows", "limit": 3}));
    assert_eq!(delete(&server, &owner, &small).await.status, 204);
    post(&server, &owner, &full, "/restore").await.expect(200);
    assert_eq!(used(&server).await, (json!(1), json!(3)));

    // Of many at once no more come back than there is room for.
    let mut others = Vec::new();
    for _ in 0..8 {
        let app = server.deploy(&owner, with_rows(0)).await;
        assert_eq!(delete(&server, &owner, &app).await.status, 204);
        others.push(app);
    }
    let restored = others.iter().map(|app| post(&server, &owner, app, "/restore"));
    let restored = futures::future::join_all(restored).await;
    assert_eq!(restored.iter().filter(|answer| answer.status == 200).count(), 2);
    for answer in restored.iter().filter(|answer| answer.status != 200) {
        let error = answer.error(ErrorCode::AccountQuotaExceeded);
        assert_eq!(error["details"], json!({"dimension": "apps", "limit": 3}));
    }
    // An app that an operator takes down is no trash of its owner's any more, full or not.
    let taken_down =
        server.state().rooms.apps().by_id(small.id.parse().expect("an id")).await.expect("an app");
    let close = Op::App(AppOp::Close);
    taken_down.apply(Caller::System, close).await.expect("closed");
    assert_eq!(used(&server).await, (json!(4), json!(4)));
    let server = server.restart().await;
    assert_eq!(used(&server).await, (json!(4), json!(4)));
    let entries = full.path("/collections/entries");
    let row = server.send(Method::POST, &owner, &entries, &json!({"data": {}})).await;
    row.error(ErrorCode::AccountQuotaExceeded);
}

#[tokio::test]
async fn a_full_trash_says_that_it_is_what_has_to_be_emptied() {
    let server = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "1").start().await;
    let owner = server.owner("ann").await;
    let mut trash = Vec::new();
    // The trash has room for a hundred; one more takes the place of an app.
    for _ in 0..101 {
        let app = server.deploy(&owner, json!({"html": HTML})).await;
        assert_eq!(delete(&server, &owner, &app).await.status, 204);
        trash.push(app);
    }
    for path in ["/v1/apps?dry_run=true", "/v1/apps"] {
        let refused = server.send(Method::POST, &owner, path, &json!({"html": HTML})).await;
        let error = refused.error_of_its_own(ErrorCode::AccountQuotaExceeded);
        let (message, hint) = (error["message"].to_string(), error["hint"].to_string());
        assert!(message.contains("in its trash beyond 100 count too"), "{error}");
        assert!(hint.contains("POST /v1/apps/:id/purge"), "{error}");
    }
    // One that comes back leaves it, so there is room for that.
    post(&server, &owner, &trash[0], "/restore").await.expect(200);
    let refused = post(&server, &owner, &trash[1], "/restore").await;
    refused.error(ErrorCode::AccountQuotaExceeded);
    assert_eq!(delete(&server, &owner, &trash[0]).await.status, 204);
    assert_eq!(post(&server, &owner, &trash[1], "/purge").await.status, 204);
    server.deploy(&owner, json!({"html": HTML})).await;
}

#[tokio::test]
async fn a_purge_needs_a_deleted_app_and_leaves_nothing() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let body = json!({"slug": "short-lived", "manifest": guestbook(),
        "input_data": {"entries": [{"data": {"a": 1}}]}});
    let app = server.deploy(&owner, body.clone()).await;
    post(&server, &owner, &app, "/purge").await.error(ErrorCode::Conflict);
    delete(&server, &owner, &app).await;
    // Nothing is passed over in silence, least of all here.
    for (below, body) in [("/purge", json!({"dry_run": true})), ("/restore", json!({"x": 1}))] {
        let request = server.call(Method::POST, &app.path(below), &owner).json(&body);
        Answer::of(request).await.error(ErrorCode::InvalidRequest);
    }
    server.get_as(&owner, &app.path("?include_deleted=true")).await.expect(200);
    assert_eq!(post(&server, &owner, &app, "/purge").await.status, 204);
    for path in [app.path(""), app.path("?include_deleted=true"), "/v1/apps/short-lived".into()] {
        server.get_as(&owner, &path).await.error(ErrorCode::AppNotFound);
    }
    post(&server, &owner, &app, "/restore").await.error(ErrorCode::AppNotFound);
    post(&server, &owner, &app, "/purge").await.error(ErrorCode::AppNotFound);
    let list = server.get_as(&owner, "/v1/apps?include_deleted=true").await.expect(200);
    assert_eq!(list["items"], json!([]));
    let db = &server.state().rooms.db;
    let head = rookery_storage::apps::head(db, app.id.parse().unwrap()).await;
    assert_eq!(head.unwrap(), None);
    let again = server.deploy(&owner, body).await;
    assert_eq!(again.slug, "short-lived", "the slug is free to its account");
    assert_ne!(again.id, app.id);
}

#[tokio::test]
async fn a_purge_forgets_the_answers_that_named_the_app() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let create = || {
        let request = server.call(Method::POST, "/v1/apps", &owner).json(&json!({"html": HTML}));
        Answer::of(request.header("idempotency-key", "k"))
    };
    let app = App::of(create().await.expect(201));
    delete(&server, &owner, &app).await;
    post(&server, &owner, &app, "/purge").await;
    assert_ne!(create().await.expect(201)["id"], app.id.as_str());
}

#[tokio::test]
async fn a_closed_app_is_read_by_its_owner_and_written_by_nobody() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"slug": "taken-down", "manifest": guestbook()})).await;
    // Whoever reaches the listener, as any page can make a browser do, reads no key.
    let path = "/ops/apps/taken-down/close";
    let of_another = close::proof(&server.state().rooms.key, "another");
    for proof in ["", "forged", &of_another] {
        let request = server.ops(Method::POST, path).header(close::PROOF_HEADER, proof);
        Answer::of(request).await.error_of_its_own(ErrorCode::Forbidden);
    }
    Answer::of(server.ops(Method::POST, path)).await.error_of_its_own(ErrorCode::Forbidden);
    Answer::of(server.close_app("no-such-app")).await.error_of_its_own(ErrorCode::AppNotFound);
    for _ in 0..2 {
        let closed = Answer::of(server.close_app("taken-down")).await.expect(200);
        assert_eq!(closed, json!({"id": app.id, "slug": "taken-down"}));
    }
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!((&shown["status"], &shown["dormant"]), (&json!("closed"), &json!(false)));
    for below in ["/document", "/disclosure", "/roles"] {
        assert_eq!(server.get_as(&owner, &app.path(below)).await.status, 200, "{below}");
    }
    let patch = json!({"timezone": "UTC"});
    let refused = [
        server.send(Method::PATCH, &owner, &app.path(""), &patch).await,
        server.send(Method::POST, &owner, &app.path("/versions"), &json!({"html": HTML})).await,
        server.send(Method::POST, &owner, &app.path("/migration-mode"), &json!({"on": true})).await,
        post(&server, &owner, &app, "/wake").await,
        post(&server, &owner, &app, "/restore").await,
        delete(&server, &owner, &app).await,
    ];
    for answer in refused {
        answer.error(ErrorCode::AppClosed);
    }
}

#[tokio::test]
async fn only_a_wake_that_woke_the_app_is_told_in_the_feed() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    assert_eq!(app.record["status"], "dormant");
    let wakes: Vec<_> = (0..16)
        .map(|_| {
            let request = server.call(Method::POST, &app.path("/wake"), &owner);
            tokio::spawn(Answer::of(request))
        })
        .collect();
    let mut woke = 0;
    for wake in wakes {
        let answer = wake.await.unwrap().expect(200);
        assert_eq!(answer["status"], "live");
        woke += u32::from(answer["woke_in_ms"].as_u64().unwrap() > 0);
    }
    assert_eq!(woke, 1, "one of them woke it");
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!((&shown["status"], &shown["dormant"]), (&json!("live"), &json!(false)));
    let again = post(&server, &owner, &app, "/wake").await.expect(200);
    assert_eq!(again, json!({"status": "live", "woke_in_ms": 0}));

    let (db, id) = (&server.state().rooms.db, app.id.parse().unwrap());
    let page = rookery_storage::feed::events_after(db, id, 0, 100, 100).await.unwrap();
    let kinds: Vec<_> = page.iter().map(|event| event.kind.name().into_owned()).collect();
    assert_eq!(kinds, ["app.deployed", "app.woken"]);
}

#[tokio::test]
async fn migration_mode_ends_by_itself() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    let set = |body: serde_json::Value| {
        let (server, owner, path) = (&server, &owner, app.path("/migration-mode"));
        async move { server.send(Method::POST, owner, &path, &body).await }
    };
    let until = |minutes: i64| START.plus_seconds(minutes * 60).to_string();
    let on = set(json!({"on": true})).await.expect(200);
    assert_eq!(on["migration_mode"], json!({"on": true, "until": until(60)}));
    let on = set(json!({"on": true, "ttl_minutes": 1440})).await.expect(200);
    assert_eq!(on["migration_mode"]["until"], until(1440));
    for body in [json!({"on": false}), json!({"on": false, "ttl_minutes": 5})] {
        let off = set(body).await.expect(200);
        assert_eq!(off["migration_mode"], json!({"on": false, "until": null}));
    }
    for wrong in [
        json!({}),
        json!({"on": true, "ttl_minutes": 0}),
        json!({"on": true, "ttl_minutes": 1441}),
        json!({"on": true, "ttl_minutes": "5"}),
        json!({"on": false, "ttl_minutes": 0}),
        json!({"on": true, "ttl": 5}),
    ] {
        set(wrong).await.error(ErrorCode::InvalidRequest);
    }
    set(json!({"on": true, "ttl_minutes": 5})).await.expect(200);
    server.state().clock.set(START.plus_seconds(301));
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!(shown["migration_mode"], json!({"on": false, "until": null}));
}

#[tokio::test]
async fn a_closed_app_is_not_purged() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    post(&server, &owner, &app, "/purge").await.error(ErrorCode::Conflict);
    server.state().rooms.close_app(&app.id).await.unwrap();
    post(&server, &owner, &app, "/purge").await.error(ErrorCode::AppClosed);
}

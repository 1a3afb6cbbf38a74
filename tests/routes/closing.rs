//! Closing an account that others count on: organizations, apps of others, offers. What becomes of
//! its own sessions, keys and apps is in `account`.

use futures::future::join_all;
use reqwest::Method;
use rookery_actors::{
    WorkerKind,
    app::message::{AppOp, Op},
};
use rookery_domain::{ErrorCode, app::AppStatus, principal::Caller};
use rookery_storage::faults::{Fault, Faults, Point};
use rookery_testkit::until_async;
use serde_json::{Value, json};

use super::orgs::{Person, id_of};
use crate::harness::{Answer, TestServer};

const SELF: &str = "/v1/self";

/// The members of the app at `app`, behind its owner, as `by` sees them.
async fn members(server: &TestServer, by: &Person, app: &str) -> Vec<Value> {
    let list = server.tell(by, Method::GET, &format!("{app}/members"), Value::Null).await;
    list.expect(200)["items"].as_array().expect("items")[1..].to_vec()
}

async fn let_in(server: &TestServer, by: &Person, app: &str, who: &Person) {
    let body = json!({"email": who.human.email});
    server.tell(by, Method::POST, &format!("{app}/members"), body).await.expect(201);
}

#[tokio::test]
async fn the_last_admin_of_others_cannot_leave_and_nothing_of_the_account_has_changed() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 1).await;
    let (shared, alone) = (server.org(&ada).await, server.org(&ada).await);
    server.join(&shared, &ada, &bob, "member").await;
    let refused = server.close(&ada).await.error(ErrorCode::Conflict);
    assert_eq!(refused["details"], json!({"org_id": id_of(&shared)}));
    let profile = server.ask(&ada, Method::GET, "/v1/self/profile", Value::Null).await.expect(200);
    assert_eq!(profile["email"], ada.human.email);
    assert_eq!(server.roles(&shared, &ada).await.len(), 2);
    assert_eq!(server.roles(&alone, &ada).await.len(), 1);
    assert_eq!(server.owner_of(&app, &ada).await, ada.id);
    server.tell(&ada, Method::POST, &format!("{app}/wake"), Value::Null).await.expect(200);

    server.set_role(&shared, &ada, &bob, "admin").await.expect(200);
    assert_eq!(server.close(&ada).await.status, 204);
    let org = server.ask(&bob, Method::GET, &shared, Value::Null).await.expect(200);
    assert_eq!((&org["role"], &org["member_count"]), (&json!("admin"), &json!(1)));
    assert_eq!(org["billing_account"]["id"], bob.id);
    assert_eq!(server.roles(&shared, &bob).await, [(bob.id.clone(), "admin".to_owned())]);
    let server = server.restart().await;
    assert_eq!(server.roles(&shared, &bob).await, [(bob.id.clone(), "admin".to_owned())]);
}

#[tokio::test]
async fn of_two_last_admins_that_close_at_once_one_stays_for_the_others() {
    for _ in 0..4 {
        let server = TestServer::start().await;
        let (ada, bob) = (server.person("ada").await, server.person("bob").await);
        let cyd = server.person("cyd").await;
        let org = server.org(&ada).await;
        server.join(&org, &ada, &bob, "admin").await;
        server.join(&org, &ada, &cyd, "member").await;
        let closings = (0..64).map(|n| server.close(if n % 2 == 0 { &ada } else { &bob }));
        let answers = join_all(closings).await;
        let closed = answers.iter().filter(|answer| answer.status == 204).count();
        assert_eq!(closed, 1);
        for late in answers.iter().filter(|answer| answer.status != 204) {
            let code =
                if late.status == 401 { ErrorCode::Unauthorized } else { ErrorCode::Conflict };
            late.error(code);
        }
        let roles = server.roles(&org, &cyd).await;
        let admins = roles.iter().filter(|(_, role)| role == "admin").count();
        assert_eq!((roles.len(), admins), (2, 1), "{roles:?}");
    }
}

#[tokio::test]
async fn whoever_closes_an_account_is_a_member_of_no_app_any_more() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let open = server.app_with_rows(&ada, 0).await;
    let trashed = server.app_with_rows(&ada, 0).await;
    for app in [&open, &trashed] {
        let_in(&server, &ada, app, &bob).await;
    }
    let deleted = server.tell(&ada, Method::DELETE, &trashed, Value::Null).await;
    assert!(deleted.status < 300, "{}", deleted.text);
    assert_eq!(server.close(&bob).await.status, 204);
    assert_eq!(members(&server, &ada, &open).await, [Value::Null; 0]);
    // Of an app in the trash the sweeper finds it, when the app is back.
    server.tell(&ada, Method::POST, &format!("{trashed}/restore"), Value::Null).await.expect(200);
    server.round(WorkerKind::Sweeper).await;
    assert_eq!(members(&server, &ada, &trashed).await, [Value::Null; 0]);
    // Whoever proves the address afterwards is somebody else, and no member.
    let again = server.person("bob").await;
    assert_ne!(again.id, bob.id);
    let own = server.ask(&again, Method::GET, "/v1/self/apps", Value::Null).await.expect(200);
    assert_eq!(own["items"], json!([]));
    let_in(&server, &ada, &open, &again).await;
    assert_eq!(members(&server, &ada, &open).await[0]["human_id"], again.id);
}

#[tokio::test]
async fn an_app_that_could_not_be_closed_with_its_account_is_closed_soon() {
    let faults = Faults::listed([(Point::AfterAppWrite, 1, Fault::Refuse)]);
    let server = TestServer::builder().on_sqlite().with_faults(faults).start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 1).await;
    let id = app.rsplit('/').next().expect("an id").parse().expect("an id");
    assert_eq!(server.close(&ada).await.status, 204);
    let apps = server.state().rooms.apps();
    until_async("the app is closed", async || {
        apps.by_id(id).await.expect("it is there").record().status == AppStatus::Closed
    })
    .await;
}

#[tokio::test]
async fn an_offer_ends_with_the_account_that_made_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 1).await;
    let offer = server.offer(&ada, &app, &bob).await;
    assert_eq!(server.close(&ada).await.status, 204);
    assert_eq!(server.offered(&bob).await, [Value::Null; 0]);
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::AppClosed);
    let own = server.ask(&bob, Method::GET, "/v1/self/apps", Value::Null).await.expect(200);
    assert_eq!(own["items"], json!([]));
}

#[tokio::test]
async fn an_app_that_was_accepted_just_before_is_not_taken_down_with_the_account() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let app = server.app_with_rows(&ada, 1).await;
    let offer = server.offer(&ada, &app, &bob).await;
    server.decide(&bob, &offer, "accept").await;
    assert_eq!(server.owner_of(&app, &bob).await, bob.id);
    // What closing the account has on its list from before.
    let handle = server.state().rooms.apps().find(app.rsplit('/').next().unwrap()).await.unwrap();
    let op = Op::App(AppOp::Abandon { account: ada.id.parse().unwrap() });
    handle.apply(Caller::System, op).await.unwrap();
    let shown = server.tell(&bob, Method::GET, &app, Value::Null).await.expect(200);
    assert_eq!((&shown["status"], &shown["purge_at"]), (&json!("live"), &Value::Null));
}

#[tokio::test]
async fn no_credential_reads_for_an_account_that_is_closed() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let app = server.app_with_rows(&ada, 1).await;
    let body = json!({"collections": ["entries"], "operations": ["read"]});
    let made = server.tell(&ada, Method::POST, &format!("{app}/credentials"), body).await;
    let token = made.expect(201)["token"].as_str().unwrap().to_owned();
    let read = |path: &'static str| {
        let request = server.request(Method::GET, &format!("{app}{path}"));
        Answer::of(request.bearer_auth(&token))
    };
    read("/collections/entries").await.expect(200);
    assert_eq!(server.close(&ada).await.status, 204);
    for path in ["/collections/entries", "/feed"] {
        read(path).await.error(ErrorCode::AppClosed);
    }
}

#[tokio::test]
async fn what_a_crash_left_of_a_closed_account_is_closed_before_the_server_answers() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let (org, others) = (server.org(&ada).await, server.app_with_rows(&bob, 0).await);
    server.join(&org, &ada, &bob, "admin").await;
    let_in(&server, &bob, &others, &ada).await;
    let app = server.app_with_rows(&ada, 1).await;
    let offer = server.offer(&ada, &app, &bob).await;
    let shared = server.app_with_rows(&ada, 1).await;
    let moved = json!({"org_id": id_of(&org)});
    server.ask(&ada, Method::PATCH, &shared, moved).await.expect(200);
    let body = json!({"collections": ["entries"], "operations": ["read"]});
    let made = server.tell(&ada, Method::POST, &format!("{app}/credentials"), body).await;
    let token = made.expect(201)["token"].as_str().unwrap().to_owned();

    // The account's own transaction, and nothing that comes behind it.
    let directory = &server.state().rooms.directory;
    let email = Some(ada.human.email.clone());
    directory.close_account(ada.id.parse().unwrap(), email).await.unwrap();
    let server = server.restart().await;
    let read = server.request(Method::GET, &format!("{app}/collections/entries"));
    Answer::of(read.bearer_auth(&token)).await.error(ErrorCode::AppClosed);
    assert_eq!(server.offered(&bob).await, [Value::Null; 0]);
    server.decide(&bob, &offer, "accept").await.error(ErrorCode::AppClosed);
    let seen = server.tell(&bob, Method::GET, &shared, Value::Null).await.expect(200);
    assert_eq!(seen["status"], "closed");
    assert_eq!(members(&server, &bob, &others).await, [Value::Null; 0]);
    let mails = server.mails(&bob.human.email).await;
    assert_eq!(mails[0]["subject"], "Apps of the organization Rooks are closed");
}

#[tokio::test]
async fn an_account_is_closed_by_its_human_alone_and_with_its_own_address() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    for wrong in [json!({"confirm_email": ""}), json!({"confirm_email": null}), json!({})] {
        let refused = server.ask(&ada, Method::DELETE, SELF, wrong).await;
        refused.error(ErrorCode::InvalidRequest);
    }
    // Neither an agent of the account nor another site can.
    let body = json!({"confirm_email": ada.human.email});
    server.tell(&ada, Method::DELETE, SELF, body.clone()).await.error(ErrorCode::Forbidden);
    let foreign = server.request(Method::DELETE, SELF).header("cookie", &ada.human.cookie);
    for origin in ["https://evil.example", "null"] {
        let request = foreign.try_clone().unwrap().header("origin", origin).json(&body);
        Answer::of(request).await.error(ErrorCode::CsrfOriginMismatch);
    }
    Answer::of(foreign.json(&body)).await.error(ErrorCode::CsrfOriginMismatch);
    assert_eq!(server.close(&ada).await.status, 204);
}

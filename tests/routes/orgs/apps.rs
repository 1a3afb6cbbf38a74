//! Apps that belong to an organization: its admins act as their owner, until they are none.

use std::time::Duration;

use reqwest::Method;
use rookery_domain::{ErrorCode, id::OrgId};
use rookery_testkit::until;
use serde_json::{Value, json};

use super::{Person, id_of};
use crate::harness::{Answer, TestServer, apps::HTML};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// A manifest with a collection that is the owner's alone.
fn manifest() -> Value {
    let owner = json!({"read": ["owner"], "write": ["owner"], "update": ["owner"],
        "delete": ["owner"], "countRead": ["owner"]});
    json!({"collections": {"entries": {"permissions": owner}}})
}

/// The path of a new app of `owner`, in the organization at `org` if there is one.
async fn app(server: &TestServer, owner: &Person, org: Option<&str>) -> String {
    let mut body = json!({"html": HTML, "manifest": manifest()});
    if let Some(org) = org {
        body["org_id"] = json!(id_of(org));
    }
    let record = server.tell(owner, POST, "/v1/apps", body).await.expect(201);
    assert_eq!(record["org_id"], org.map_or(Value::Null, |org| json!(id_of(org))));
    format!("/v1/apps/{}", record["id"].as_str().unwrap())
}

/// What only the owner may do.
fn owners_routes(app: &str) -> Vec<(Method, String, Value)> {
    vec![
        (GET, app.to_owned(), Value::Null),
        (PATCH, app.to_owned(), json!({"timezone": "Europe/Oslo"})),
        (GET, format!("{app}/roles"), Value::Null),
        (GET, format!("{app}/transfer"), Value::Null),
        (GET, format!("{app}/collections/entries"), Value::Null),
        (POST, format!("{app}/collections/entries"), json!({"data": {"n": 1}})),
        (POST, format!("{app}/wake"), Value::Null),
        (DELETE, app.to_owned(), Value::Null),
        (POST, format!("{app}/restore"), Value::Null),
    ]
}

#[tokio::test]
async fn an_apps_organization_is_named_by_an_admin_of_both() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let (ravens, rooks) = (server.org(&bob).await, server.org(&ada).await);
    let deploy =
        |org: Value| server.tell(&ada, POST, "/v1/apps", json!({"html": HTML, "org_id": org}));
    let app = app(&server, &ada, Some(&rooks)).await;
    // A stranger's organization is not there; a member's is not its to give apps to.
    deploy(json!(id_of(&ravens))).await.error(ErrorCode::NotFound);
    deploy(json!(OrgId::new())).await.error(ErrorCode::NotFound);
    deploy(json!("org_x")).await.error(ErrorCode::InvalidRequest);
    deploy(json!(7)).await.error(ErrorCode::InvalidRequest);
    server.join(&ravens, &bob, &ada, "member").await;
    deploy(json!(id_of(&ravens))).await.error(ErrorCode::Forbidden);
    let put = |who: &'_ Person, org: Value| {
        let body = json!({"org_id": org});
        let request = server.by(&who.human, PATCH, &app).json(&body);
        Answer::of(request)
    };
    put(&ada, json!(id_of(&ravens))).await.error(ErrorCode::Forbidden);
    put(&ada, json!(OrgId::new())).await.error(ErrorCode::NotFound);
    put(&ada, json!("x")).await.error(ErrorCode::InvalidRequest);
    put(&bob, json!(id_of(&ravens))).await.error(ErrorCode::AppNotFound);
    assert_eq!(server.ask(&ada, GET, &app, Value::Null).await.expect(200)["org_id"], id_of(&rooks));

    server.set_role(&ravens, &bob, &ada, "admin").await.expect(200);
    assert_eq!(put(&ada, json!(id_of(&ravens))).await.expect(200)["org_id"], id_of(&ravens));
    // Null takes it out; absence leaves it.
    let zone = server.ask(&bob, PATCH, &app, json!({"timezone": "Asia/Tokyo"})).await.expect(200);
    assert_eq!(zone["org_id"], id_of(&ravens));
    assert_eq!(put(&bob, Value::Null).await.expect(200)["org_id"], Value::Null);
    put(&bob, Value::Null).await.error(ErrorCode::AppNotFound);

    // The record sent back changes nothing, whoever left the organization meanwhile.
    assert_eq!(put(&ada, json!(id_of(&ravens))).await.expect(200)["org_id"], id_of(&ravens));
    server.set_role(&ravens, &bob, &ada, "member").await.expect(200);
    assert_eq!(put(&ada, json!(id_of(&ravens))).await.expect(200)["org_id"], id_of(&ravens));
    let again = json!({"html": HTML, "org_id": id_of(&rooks)});
    let versions = format!("{app}/versions");
    let refused = server.tell(&ada, POST, &versions, again).await.error(ErrorCode::InvalidRequest);
    assert!(refused["message"].as_str().unwrap().contains("org_id"));
}

#[tokio::test]
async fn a_deploy_names_the_organization_in_any_of_its_forms() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let org = server.org(&ada).await;
    let id = id_of(&org);
    let form = reqwest::multipart::Form::new().text("html", HTML).text("org_id", id.to_owned());
    let request = server.by_agent(&ada.agent, POST, "/v1/apps").multipart(form);
    assert_eq!(Answer::of(request).await.expect(201)["org_id"], id);
    let path = format!("/v1/apps?org_id={id}");
    let made = server.tell(&ada, POST, &path, json!({"html": HTML})).await;
    assert_eq!(made.expect(201)["org_id"], id);
    let twice = server.tell(&ada, POST, &path, json!({"html": HTML, "org_id": id})).await;
    twice.error(ErrorCode::InvalidRequest);
    let form = reqwest::multipart::Form::new().text("html", HTML).text("org_id", "x");
    let request = server.by_agent(&ada.agent, POST, "/v1/apps").multipart(form);
    Answer::of(request).await.error(ErrorCode::InvalidRequest);
    // With a key, another organization is another body.
    let keyed = |body: Value| {
        let request = server.by_agent(&ada.agent, POST, "/v1/apps").header("idempotency-key", "o");
        Answer::of(request.json(&body))
    };
    let first = keyed(json!({"html": HTML, "org_id": id})).await.expect(201);
    keyed(json!({"html": HTML})).await.error(ErrorCode::Conflict);
    // What was made once is told again, also to whoever may make no other one there.
    let bob = server.person("bob").await;
    server.join(&org, &ada, &bob, "admin").await;
    server.set_role(&org, &bob, &ada, "member").await.expect(200);
    assert_eq!(keyed(json!({"html": HTML, "org_id": id})).await.expect(201)["id"], first["id"]);
    let another = server.tell(&ada, POST, "/v1/apps", json!({"html": HTML, "org_id": id})).await;
    another.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn admins_and_their_agents_act_as_the_owner_of_the_organizations_apps() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let (cyd, eve) = (server.person("cyd").await, server.person("eve").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    server.join(&org, &ada, &cyd, "member").await;
    let app = app(&server, &ada, Some(&org)).await;
    for (method, path, body) in owners_routes(&app) {
        let session = server.ask(&bob, method.clone(), &path, body.clone()).await;
        let wanted = if path.ends_with("/transfer") { 404 } else { 200 };
        // Rows are for agents.
        let for_people = !path.contains("/collections/");
        let ok = [if for_people { wanted } else { 403 }, 201, 204].contains(&session.status);
        assert!(ok, "{method} {path}: {}", session.text);
        let agent = server.tell(&bob, method.clone(), &path, body.clone()).await;
        assert!([wanted, 201, 204].contains(&agent.status), "{method} {path}: {}", agent.text);
        // To a plain member it is as absent as to a stranger.
        for stranger in [&cyd, &eve] {
            let refused = server.ask(stranger, method.clone(), &path, body.clone()).await;
            refused.error(match for_people {
                true => ErrorCode::AppNotFound,
                false => ErrorCode::Forbidden,
            });
            let refused = server.tell(stranger, method.clone(), &path, body.clone()).await;
            refused.error(ErrorCode::AppNotFound);
        }
    }
    let deploy = json!({"html": HTML, "manifest": manifest()});
    server.tell(&bob, POST, &format!("{app}/versions"), deploy).await.expect(201);
    // It is still ada's: her name, her quota.
    let record = server.tell(&bob, GET, &app, Value::Null).await.expect(200);
    assert_eq!(record["owner"]["id"], ada.id);
}

#[tokio::test]
async fn a_demoted_or_removed_admin_is_a_stranger_on_the_very_next_request() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "member").await;
    let app = app(&server, &ada, Some(&org)).await;
    let rows = format!("{app}/collections/entries");
    for _ in 0..10 {
        server.set_role(&org, &ada, &bob, "admin").await.expect(200);
        server.tell(&bob, POST, &rows, json!({"data": {}})).await.expect(201);
        server.set_role(&org, &ada, &bob, "member").await.expect(200);
        let refused = server.tell(&bob, POST, &rows, json!({"data": {}})).await;
        refused.error(ErrorCode::AppNotFound);
    }
    server.set_role(&org, &ada, &bob, "admin").await.expect(200);
    server.tell(&bob, GET, &app, Value::Null).await.expect(200);
    let place = format!("{org}/members/{}", bob.id);
    assert_eq!(server.ask(&ada, DELETE, &place, Value::Null).await.status, 204);
    server.tell(&bob, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    // And so it stays.
    let server = server.restart().await;
    server.tell(&bob, GET, &app, Value::Null).await.error(ErrorCode::AppNotFound);
    server.tell(&ada, GET, &app, Value::Null).await.expect(200);
}

#[tokio::test]
async fn an_open_poll_ends_when_its_admin_is_demoted() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let app = app(&server, &ada, Some(&org)).await;
    let feed = format!("{app}/feed");
    let start = server.tell(&bob, GET, &feed, Value::Null).await.expect(200);
    let poll = format!("{feed}?wait=60&since={}", start["cursor"].as_str().unwrap());
    let waiting = tokio::spawn(
        server.by_agent(&bob.agent, GET, &poll).timeout(Duration::from_secs(30)).send(),
    );
    let handle = server.state().rooms.apps().find(id_of(&app)).await.unwrap();
    until("a follower", || handle.observe().followers > 0).await;
    server.set_role(&org, &ada, &bob, "member").await.expect(200);
    let ended = waiting.await.unwrap().expect("it ends long before its time is over");
    assert_eq!(ended.status(), 404);
    let body: Value = ended.json().await.unwrap();
    assert_eq!(body["error"]["code"], "app_not_found");
}

#[tokio::test]
async fn the_apps_of_an_organization_are_listed_for_its_admins() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let eve = server.person("eve").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let of_ada = app(&server, &ada, Some(&org)).await;
    app(&server, &ada, None).await;
    let of_bob = app(&server, &bob, Some(&org)).await;
    let list = async |who: &Person, query: &str| {
        server.tell(who, GET, &format!("/v1/apps{query}"), Value::Null).await
    };
    let ids = |body: &Value| -> Vec<String> {
        let items = body["items"].as_array().unwrap().iter();
        items.map(|app| app["id"].as_str().unwrap().to_owned()).collect()
    };
    let query = format!("?org_id={}", id_of(&org));
    for admin in [&ada, &bob] {
        let apps = list(admin, &query).await.expect(200);
        assert_eq!(ids(&apps), [id_of(&of_bob), id_of(&of_ada)]);
        assert_eq!(apps["items"][0]["owner"]["id"], bob.id);
        assert_eq!(apps["items"][1]["owner"]["id"], ada.id);
    }
    // Without it, an account's own alone.
    assert_eq!(ids(&list(&bob, "").await.expect(200)), [id_of(&of_bob)]);
    assert_eq!(ids(&list(&ada, "").await.expect(200)).len(), 2);
    let first = list(&ada, &format!("{query}&limit=1")).await.expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = list(&ada, &format!("{query}&limit=1&cursor={cursor}")).await.expect(200);
    assert_eq!(
        (ids(&first), ids(&rest)),
        (vec![id_of(&of_bob).into()], vec![id_of(&of_ada).into()])
    );
    list(&ada, &format!("?cursor={cursor}")).await.error(ErrorCode::InvalidRequest);

    list(&eve, &query).await.error(ErrorCode::NotFound);
    server.join(&org, &ada, &eve, "member").await;
    list(&eve, &query).await.error(ErrorCode::Forbidden);
    list(&ada, "?org_id=x").await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_human_lists_an_organizations_apps_with_what_it_is_to_them() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let eve = server.person("eve").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let of_ada = app(&server, &ada, Some(&org)).await;
    let of_bob = app(&server, &bob, Some(&org)).await;
    app(&server, &bob, None).await;
    let list = async |who: &Person, query: &str| {
        server.ask(who, GET, &format!("/v1/self/apps{query}"), Value::Null).await
    };
    let roles = |body: &Value| -> Vec<(String, String)> {
        let text = |app: &Value, name: &str| app[name].as_str().unwrap().to_owned();
        let items = body["items"].as_array().unwrap().iter();
        items.map(|app| (text(app, "id"), text(app, "role"))).collect()
    };
    let role = |app: &str, role: &str| (id_of(app).to_owned(), role.to_owned());
    let query = format!("?org_id={}", id_of(&org));
    let whole = list(&bob, &query).await.expect(200);
    assert_eq!(roles(&whole), [role(&of_bob, "owner"), role(&of_ada, "admin")]);
    let first = list(&bob, &format!("{query}&limit=1")).await.expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = list(&bob, &format!("{query}&limit=1&cursor={cursor}")).await.expect(200);
    assert_eq!(roles(&rest), [role(&of_ada, "admin")]);
    list(&bob, &format!("?cursor={cursor}")).await.error(ErrorCode::InvalidRequest);

    list(&eve, &query).await.error(ErrorCode::NotFound);
    server.join(&org, &ada, &eve, "member").await;
    list(&eve, &query).await.error(ErrorCode::Forbidden);
    list(&ada, "?org_id=x").await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn an_admin_sees_the_organizations_apps_among_those_it_opened_until_it_is_none() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let app = app(&server, &ada, Some(&org)).await;
    let own = format!("/v1/self/apps/{}", id_of(&app));
    assert_eq!(server.ask(&bob, POST, &format!("{own}/view"), Value::Null).await.status, 204);
    let favorite = server.ask(&bob, Method::PUT, &format!("{own}/favorite"), Value::Null).await;
    assert_eq!(favorite.status, 204);
    let recent = async || {
        let list = server.ask(&bob, GET, "/v1/self/apps/recent", Value::Null).await.expect(200);
        list["items"].as_array().expect("items").clone()
    };
    let seen = recent().await;
    assert_eq!((&seen[0]["role"], &seen[0]["favorite"]), (&json!("admin"), &json!(true)));
    server.set_role(&org, &ada, &bob, "member").await.expect(200);
    assert_eq!(recent().await, [Value::Null; 0]);
    let view = server.ask(&bob, POST, &format!("{own}/view"), Value::Null).await;
    view.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn an_admin_finds_an_organizations_deleted_app_in_the_trash_and_restores_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let eve = server.person("eve").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    server.join(&org, &ada, &eve, "member").await;
    let app = app(&server, &ada, Some(&org)).await;
    let deleted = server.ask(&ada, Method::DELETE, &app, Value::Null).await;
    assert_eq!(deleted.status, 204);
    let trash = async |who: &Person| {
        let list = server.ask(who, GET, "/v1/self/apps/deleted", Value::Null).await.expect(200);
        list["items"].as_array().expect("items").clone()
    };
    let found = trash(&bob).await;
    assert_eq!((&found[0]["id"], &found[0]["role"]), (&json!(id_of(&app)), &json!("admin")));
    assert!(found[0]["purge_at"].is_string(), "{found:?}");
    assert_eq!(trash(&eve).await, [Value::Null; 0]);
    server.ask(&bob, POST, &format!("{app}/restore"), Value::Null).await.expect(200);
    assert_eq!(trash(&bob).await, [Value::Null; 0]);
    // What a closed account left there nobody brings back.
    server.ask(&ada, Method::DELETE, &app, Value::Null).await;
    let body = json!({"confirm_email": ada.human.email});
    assert_eq!(server.ask(&ada, Method::DELETE, "/v1/self", body).await.status, 204);
    assert_eq!(trash(&bob).await, [Value::Null; 0]);
    let refused = server.ask(&bob, POST, &format!("{app}/restore"), Value::Null).await;
    let error = refused.error(ErrorCode::Forbidden);
    assert_eq!(error["message"], "the account that owns the app is closed");
}

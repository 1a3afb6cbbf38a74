//! Making organizations, renaming them, and who is in them.

use reqwest::Method;
use rookery_domain::{ErrorCode, id::OrgId, orgs::ORGS_PER_ACCOUNT_MAX};
use serde_json::{Value, json};

use super::{Person, id_of};
use crate::harness::{Answer, TestServer};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// Every route of one organization with a body that fits.
fn routes(org: &str, member: &str) -> [(Method, String, Value); 6] {
    [
        (GET, org.to_owned(), Value::Null),
        (GET, format!("{org}/members"), Value::Null),
        (PATCH, org.to_owned(), json!({"name": "Mine"})),
        (POST, format!("{org}/members"), json!({"email": "zoe@example.org"})),
        (PATCH, format!("{org}/members/{member}"), json!({"role": "member"})),
        (DELETE, format!("{org}/members/{member}"), Value::Null),
    ]
}

#[tokio::test]
async fn whoever_makes_an_organization_is_its_first_admin_and_billing_account() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let answer = server.tell(&ada, POST, "/v1/orgs", json!({"name": "  Rooks & Sons "})).await;
    let made = answer.expect(201);
    assert_eq!(made["name"], "Rooks & Sons");
    assert_eq!(made["role"], "admin");
    assert_eq!(made["member_count"], 1);
    assert_eq!(made["billing_account"], json!({"id": ada.id, "name": "ada"}));
    let path = format!("/v1/orgs/{}", made["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), path);
    // The human and its agents are one account.
    assert_eq!(server.ask(&ada, GET, &path, Value::Null).await.expect(200), made);
    assert_eq!(server.tell(&ada, GET, &path, Value::Null).await.expect(200), made);
    let list = server.ask(&ada, GET, "/v1/orgs", Value::Null).await.expect(200);
    assert_eq!(list, json!({"items": [made], "next_cursor": null}));
    let members = server.tell(&ada, GET, &format!("{path}/members"), Value::Null).await;
    let members = members.expect(200);
    let founder = &members["items"][0];
    assert_eq!(founder["human_id"], ada.id);
    assert_eq!(founder["email"], "ada@example.org");
    assert_eq!((&founder["role"], &founder["name"]), (&json!("admin"), &json!("ada")));
}

#[tokio::test]
async fn what_others_leave_to_an_account_takes_no_room_from_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    for _ in 0..ORGS_PER_ACCOUNT_MAX {
        let made = server.tell(&ada, POST, "/v1/orgs", json!({"name": "Rooks"})).await.expect(201);
        let members = format!("/v1/orgs/{}/members", made["id"].as_str().unwrap());
        let admin = json!({"email": "bob@example.org", "role": "admin"});
        server.tell(&ada, POST, &members, admin).await.expect(201);
        let left = server.tell(&ada, DELETE, &format!("{members}/{}", ada.id), Value::Null).await;
        assert_eq!(left.status, 204);
    }
    let refused = server.tell(&ada, POST, "/v1/orgs", json!({"name": "More"})).await;
    let error = refused.error_of_its_own(ErrorCode::AccountQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "organizations", "limit": 100}));
    // Who was left with all of them is billed for them, and can make its own.
    let list = server.tell(&bob, GET, "/v1/orgs?limit=1", Value::Null).await.expect(200);
    assert_eq!(list["items"][0]["billing_account"]["id"], bob.id);
    server.tell(&bob, POST, "/v1/orgs", json!({"name": "Mine"})).await.expect(201);
}

#[tokio::test]
async fn an_organization_is_made_once_for_an_idempotency_key() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let make = |name: &str| {
        let request = server.by_agent(&ada.agent, POST, "/v1/orgs").header("idempotency-key", "k");
        Answer::of(request.json(&json!({"name": name})))
    };
    let first = make("Rooks").await.expect(201);
    let again = make("Rooks").await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201), first);
    make("Ravens").await.error(ErrorCode::Conflict);
    let list = server.ask(&ada, GET, "/v1/orgs", Value::Null).await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn to_a_stranger_an_organization_is_not_there() {
    let server = TestServer::start().await;
    let (ada, eve) = (server.person("ada").await, server.person("eve").await);
    let org = server.org(&ada).await;
    let wrong = format!("/v1/orgs/{}", ada.id);
    for unknown in [org.as_str(), &format!("/v1/orgs/{}", OrgId::new()), "/v1/orgs/x", &wrong] {
        for (method, path, body) in routes(unknown, &ada.id) {
            let refused = server.ask(&eve, method.clone(), &path, body.clone()).await;
            assert_eq!(
                refused.error(ErrorCode::NotFound)["message"],
                "no such organization",
                "{method} {path}"
            );
            server.tell(&eve, method, &path, body).await.error(ErrorCode::NotFound);
        }
    }
    let list = server.ask(&eve, GET, "/v1/orgs", Value::Null).await.expect(200);
    assert_eq!(list, json!({"items": [], "next_cursor": null}));
}

#[tokio::test]
async fn a_plain_member_sees_the_organization_and_changes_nothing() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "member").await;
    let seen = server.ask(&bob, GET, &org, Value::Null).await.expect(200);
    assert_eq!((&seen["role"], &seen["member_count"]), (&json!("member"), &json!(2)));
    assert_eq!(server.roles(&org, &bob).await, server.roles(&org, &ada).await);
    for (method, path, body) in routes(&org, &ada.id).into_iter().skip(2) {
        server.ask(&bob, method.clone(), &path, body.clone()).await.error(ErrorCode::Forbidden);
        server.tell(&bob, method, &path, body).await.error(ErrorCode::Forbidden);
    }
    // Not even to leave.
    let own = format!("{org}/members/{}", bob.id);
    server.ask(&bob, DELETE, &own, Value::Null).await.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn nobody_gets_in_without_a_credential_of_a_person() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let org = server.org(&ada).await;
    let unclaimed = server.unclaimed_agent().await;
    let mut all = routes(&org, &ada.id).to_vec();
    all.push((GET, "/v1/orgs".to_owned(), Value::Null));
    all.push((POST, "/v1/orgs".to_owned(), json!({"name": "Rooks"})));
    for (method, path, body) in all {
        let anonymous = server.request(method.clone(), &path).json(&body);
        Answer::of(anonymous).await.error(ErrorCode::Unauthorized);
        let bad = server.by(&ada.human, method.clone(), &path).bearer_auth("rk_agent_x");
        Answer::of(bad.json(&body)).await.error(ErrorCode::Unauthorized);
        let agent = server.by_agent(&unclaimed, method.clone(), &path).json(&body);
        Answer::of(agent).await.error(ErrorCode::AgentNotClaimed);
        if method != GET {
            let foreign = server.request(method, &path).header("cookie", &ada.human.cookie);
            let foreign = foreign.header("origin", "https://evil.example").json(&body);
            Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_said() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    let members = format!("{org}/members");
    let one = format!("{members}/{}", bob.id);
    server.join(&org, &ada, &bob, "member").await;
    let long = "x".repeat(101);
    for name in [json!(""), json!("  "), json!(long), json!("a\nb"), json!(null), json!(1)] {
        for (method, path) in [(POST, "/v1/orgs"), (PATCH, org.as_str())] {
            let refused = server.ask(&ada, method, path, json!({"name": name})).await;
            let message = refused.error(ErrorCode::InvalidRequest)["message"].clone();
            assert!(message.as_str().unwrap().contains("name"), "{message}");
        }
    }
    let refused = [
        (POST, "/v1/orgs", json!({})),
        (POST, "/v1/orgs", json!({"name": "x", "billing": "y"})),
        (PATCH, &org, json!({"name": "x", "role": "admin"})),
        (POST, &members, json!({})),
        (POST, &members, json!({"email": "not an address"})),
        (POST, &members, json!({"email": "cy@example.org", "role": "owner"})),
        (POST, &members, json!({"email": "cy@example.org", "admin": true})),
        (PATCH, &one, json!({})),
        (PATCH, &one, json!({"role": "Admin"})),
        (PATCH, &one, json!({"role": null})),
        (PATCH, &one, json!({"role": "admin", "name": "x"})),
    ];
    for (method, path, body) in refused {
        server.ask(&ada, method, path, body).await.error(ErrorCode::InvalidRequest);
    }
    let huge = json!({"name": "x".repeat(1 << 20)});
    server.ask(&ada, POST, "/v1/orgs", huge).await.error(ErrorCode::PayloadTooLarge);
    for query in ["?limit=0", "?limit=201", "?cursor=x", "?sort=name"] {
        for path in ["/v1/orgs", &members] {
            let refused = server.ask(&ada, GET, &format!("{path}{query}"), Value::Null).await;
            refused.error(ErrorCode::InvalidRequest);
        }
    }
}

#[tokio::test]
async fn existing_accounts_are_added_by_their_verified_address() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    let members = format!("{org}/members");
    let add = |body: Value| server.ask(&ada, POST, &members, body);
    let added = add(json!({"email": " BOB@Example.org "})).await;
    let record = added.expect(201);
    assert_eq!(record["human_id"], bob.id);
    assert_eq!((&record["role"], &record["email"]), (&json!("member"), &json!("bob@example.org")));
    assert_eq!(added.header("location"), format!("{members}/{}", bob.id));
    add(json!({"email": "bob@example.org"})).await.error(ErrorCode::Conflict);
    add(json!({"email": "ada@example.org", "role": "member"})).await.error(ErrorCode::Conflict);
    add(json!({"email": "nobody@example.org"})).await.error(ErrorCode::NotFound);
    // The new member sees it at once, in its own list too.
    let list = server.tell(&bob, GET, "/v1/orgs", Value::Null).await.expect(200);
    assert_eq!(list["items"][0]["id"], id_of(&org));
    assert_eq!(list["items"][0]["role"], "member");

    let again = |body: Value| {
        let request = server.by(&ada.human, POST, &members).header("idempotency-key", "m");
        Answer::of(request.json(&body))
    };
    server.person("cyd").await;
    let first = again(json!({"email": "cyd@example.org"})).await.expect(201);
    let replayed = again(json!({"email": "cyd@example.org"})).await;
    assert_eq!(replayed.header("idempotent-replayed"), "true");
    assert_eq!(replayed.expect(201), first);
    again(json!({"email": "bob@example.org"})).await.error(ErrorCode::Conflict);
}

#[tokio::test]
async fn the_last_admin_can_be_neither_removed_nor_demoted() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "member").await;
    let own = format!("{org}/members/{}", ada.id);
    server.set_role(&org, &ada, &ada, "member").await.error(ErrorCode::Conflict);
    server.ask(&ada, DELETE, &own, Value::Null).await.error(ErrorCode::Conflict);
    server.set_role(&org, &ada, &ada, "admin").await.expect(200);

    let raised = server.set_role(&org, &ada, &bob, "admin").await.expect(200);
    assert_eq!((&raised["role"], &raised["human_id"]), (&json!("admin"), &json!(bob.id)));
    server.set_role(&org, &ada, &ada, "member").await.expect(200);
    // Demoted: refused on the very next request.
    server.set_role(&org, &ada, &bob, "member").await.error(ErrorCode::Forbidden);
    server.set_role(&org, &bob, &bob, "member").await.error(ErrorCode::Conflict);
    server.set_role(&org, &bob, &ada, "admin").await.expect(200);

    // The billing account is always a member: it passes to an admin.
    assert_eq!(server.ask(&bob, DELETE, &own, Value::Null).await.status, 204);
    let org_record = server.ask(&bob, GET, &org, Value::Null).await.expect(200);
    assert_eq!(org_record["billing_account"]["id"], bob.id);
    assert_eq!(org_record["member_count"], 1);
    server.ask(&ada, GET, &org, Value::Null).await.error(ErrorCode::NotFound);
    // A second time is the same; who never was a member is not found.
    assert_eq!(server.ask(&bob, DELETE, &own, Value::Null).await.status, 204);
    let eve = server.person("eve").await;
    for unknown in [eve.id.as_str(), "hum_x", id_of(&org)] {
        let path = format!("{org}/members/{unknown}");
        server.ask(&bob, DELETE, &path, Value::Null).await.error(ErrorCode::NotFound);
        let patched = server.ask(&bob, PATCH, &path, json!({"role": "admin"})).await;
        patched.error(ErrorCode::NotFound);
    }
    server.set_role(&org, &bob, &ada, "admin").await.error(ErrorCode::NotFound);
    // Whoever was removed can be added again.
    server.join(&org, &bob, &ada, "member").await;
    assert_eq!(server.roles(&org, &ada).await.len(), 2);
}

#[tokio::test]
async fn an_admin_renames_the_organization() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let renamed = server.tell(&bob, PATCH, &org, json!({"name": "Ravens"})).await.expect(200);
    assert_eq!(renamed["name"], "Ravens");
    assert_eq!(server.ask(&ada, GET, &org, Value::Null).await.expect(200)["name"], "Ravens");
}

#[tokio::test]
async fn organizations_survive_a_restart_with_everybody_in_them() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let cyd = server.person("cyd").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    server.join(&org, &ada, &cyd, "member").await;
    let removed = format!("{org}/members/{}", cyd.id);
    assert_eq!(server.ask(&bob, DELETE, &removed, Value::Null).await.status, 204);
    let before = server.ask(&ada, GET, &org, Value::Null).await.expect(200);
    let roles = server.roles(&org, &ada).await;
    let server = server.restart().await;
    assert_eq!(server.ask(&ada, GET, &org, Value::Null).await.expect(200), before);
    assert_eq!(server.roles(&org, &bob).await, roles);
    server.ask(&cyd, GET, &org, Value::Null).await.error(ErrorCode::NotFound);
    assert_eq!(server.ask(&bob, DELETE, &removed, Value::Null).await.status, 204);
    server.set_role(&org, &bob, &ada, "member").await.expect(200);
}

#[tokio::test]
async fn lists_go_page_by_page_and_their_cursors_are_their_own() {
    let server = TestServer::start().await;
    let ada = server.person("ada").await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(server.org(&ada).await);
    }
    let mut people: Vec<Person> = Vec::new();
    for name in ["bob", "cyd", "dot", "eve"] {
        let person = server.person(name).await;
        server.join(&made[0], &ada, &person, "member").await;
        people.push(person);
    }
    let pages = async |path: &str| {
        let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
        loop {
            let page = server.ask(&ada, GET, &format!("{path}{query}"), Value::Null).await;
            let page = page.expect(200);
            seen.extend(page["items"].as_array().unwrap().clone());
            let Some(cursor) = page["next_cursor"].as_str() else { return (seen, query) };
            query = format!("?limit=2&cursor={cursor}");
        }
    };
    let (orgs, cursor) = pages("/v1/orgs").await;
    let newest_first: Vec<_> = made.iter().rev().map(|path| json!(id_of(path))).collect();
    assert_eq!(orgs.iter().map(|org| org["id"].clone()).collect::<Vec<_>>(), newest_first);
    let (members, _) = pages(&format!("{}/members", made[0])).await;
    let mut expected = vec![json!(ada.id)];
    expected.extend(people.iter().map(|person| json!(person.id)));
    assert_eq!(members.iter().map(|m| m["human_id"].clone()).collect::<Vec<_>>(), expected);
    // A cursor is of one list and one account.
    let foreign = server.ask(&people[0], GET, &format!("/v1/orgs{cursor}"), Value::Null).await;
    foreign.error(ErrorCode::InvalidRequest);
    let other = server.ask(&ada, GET, &format!("{}/members{cursor}", made[0]), Value::Null).await;
    other.error(ErrorCode::InvalidRequest);
}

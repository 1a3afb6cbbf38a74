//! Members: added by address, listed, given a role, removed.

use reqwest::Method;
use rookery_actors::app::{
    access_ops::AccessOp,
    message::{AppOp, Op},
};
use rookery_domain::{ErrorCode, principal::Caller};
use serde_json::{Value, json};

use super::world::{Site, World, text};
use crate::harness::Answer;

#[tokio::test]
async fn the_owner_is_listed_first_then_members_as_they_came() {
    let world = World::start().await;
    let site = world.site("private").await;
    let mut expected = vec!["owner@example.com".to_owned()];
    for name in ["cara", "ada", "bob"] {
        let email = format!("{name}@example.com");
        site.post("/members", json!({"email": email})).await.expect(201);
        expected.push(email);
    }
    let whole = site.get("/members").await.expect(200);
    assert_eq!(whole["next_cursor"], Value::Null);
    assert_eq!(whole["items"][0]["role"], "owner");
    assert_eq!(whole["items"][1]["role"], "member");
    let (mut seen, mut path) = (Vec::new(), "/members?limit=1".to_owned());
    loop {
        let page = site.get(&path).await.expect(200);
        assert_eq!(page["items"].as_array().expect("items").len(), 1);
        seen.push(text(&page["items"][0], "email"));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/members?limit=1&cursor={cursor}");
    }
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_list_and_its_app() {
    let world = World::start().await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    site.post("/members", json!({"email": "ada@example.com"})).await.expect(201);
    let page = site.get("/members?limit=1").await.expect(200);
    let cursor = text(&page, "next_cursor");
    for (site, list) in [(&other, "members"), (&site, "grants"), (&site, "credentials")] {
        let answer = site.get(&format!("/{list}?cursor={cursor}")).await;
        assert!(answer.error(ErrorCode::InvalidRequest).to_string().contains("cursor"));
    }
    site.get(&format!("/members?cursor={cursor}x")).await.error(ErrorCode::InvalidRequest);
    for wrong in ["limit=0", "limit=201", "limit=x", "page=2"] {
        for list in ["members", "grants", "credentials"] {
            let answer = site.get(&format!("/{list}?{wrong}")).await;
            let error = answer.error(ErrorCode::InvalidRequest);
            let name = wrong.split('=').next().expect("a name");
            assert!(error["message"].as_str().expect("text").contains(name), "{error}");
        }
    }
}

#[tokio::test]
async fn an_account_is_added_as_itself_and_gets_no_mail() {
    let world = World::start().await;
    let site = world.site("private").await;
    let ada = world.server.human("ada@example.com").await;
    let mails = world.server.mails(&ada.email).await.len();
    let body = json!({"email": "Ada@Example.com", "custom_role": "editor"});
    let added = site.post("/members", body).await;
    let record = added.expect(201);
    let id = text(&record, "human_id");
    assert_eq!(added.header("location"), site.path(&format!("/members/{id}")));
    assert_eq!(record["email"], "ada@example.com");
    assert_eq!((&record["role"], &record["custom_role"]), (&json!("member"), &json!("editor")));
    assert_eq!(world.server.mails(&ada.email).await.len(), mails);
    let token = site.enter(&ada).await;
    let me = site.see(&token, "/s/session").await.expect(200);
    assert_eq!((&me["id"], &me["role"]), (&json!(id), &json!("member")));
    assert_eq!(me["custom_role"], "editor");
    let apps = Answer::of(world.server.by(&ada, Method::GET, "/v1/self/apps")).await.expect(200);
    assert_eq!(apps["items"][0]["id"], json!(site.app.id));
    assert_eq!(apps["items"][0]["role"], "member");
}

#[tokio::test]
async fn an_unknown_address_is_invited_and_is_the_member_once_it_is_proven() {
    let world = World::start().await;
    let site = world.site("private").await;
    let request = site.request(Method::POST, "/members").header("x-forwarded-host", "evil.example");
    let added = Answer::of(request.json(&json!({"email": "new@example.com"}))).await;
    let id = text(&added.expect(201), "human_id");
    let listed = site.get("/members").await.expect(200);
    assert_eq!(listed["items"][1]["human_id"], json!(id));
    // Everybody is called what others are shown, as in organizations.
    assert_eq!(listed["items"][0]["name"], "owner");
    assert_eq!(listed["items"][1]["name"], "new");
    let mails = world.server.mails("new@example.com").await;
    assert_eq!(mails.len(), 1);
    let mail = text(&mails[0], "text");
    assert!(mail.contains(&format!("/authorize?app={}", site.app.slug)), "{mail}");
    assert!(mail.contains(world.server.public_url()) && !mail.contains("evil"), "{mail}");
    let human = world.server.human("new@example.com").await;
    let token = site.enter(&human).await;
    let me = site.see(&token, "/s/session").await.expect(200);
    assert_eq!((&me["id"], &me["role"]), (&json!(id), &json!("member")));
}

#[tokio::test]
async fn who_is_added_is_invited_though_nobody_waits_for_the_answer() {
    const LEAVING: usize = 32;
    const LOOKS_MAX: usize = 10_000;
    let world = World::start().await;
    let site = world.site("private").await;
    let ask = async |email: String| {
        let body = json!({"email": email}).to_string();
        let path = site.path("/members");
        let key = &world.agent.key;
        let mut client = world.server.raw().await;
        client
            .send(&format!(
                "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        client
    };
    let mut stays = ask("m@example.com".to_owned()).await;
    let answered = tokio::spawn(async move { stays.read_some(1).await });
    let mut whole = 0;
    while !answered.is_finished() {
        tokio::task::yield_now().await;
        whole += 1;
    }
    for n in 0..LEAVING {
        let leaves = ask(format!("m{n}@example.com")).await;
        for _ in 0..whole * n / LEAVING {
            tokio::task::yield_now().await;
        }
        leaves.reset();
    }
    let listed = site.get("/members?limit=200").await.expect(200);
    for member in &listed["items"].as_array().expect("items")[1..] {
        let email = text(member, "email");
        let mut looks = 0;
        while world.server.mails(&email).await.is_empty() {
            looks += 1;
            assert!(looks < LOOKS_MAX, "{email} is a member and was not invited");
        }
    }
}

#[tokio::test]
async fn who_is_in_already_and_what_is_no_address_is_refused_by_name() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.post("/members", json!({"email": "ada@example.com"})).await.expect(201);
    for email in ["ada@example.com", " ADA@example.com", "owner@example.com"] {
        site.post("/members", json!({"email": email})).await.error(ErrorCode::Conflict);
    }
    let wrong = [
        (json!({}), "email"),
        (json!({"email": "nobody"}), "email"),
        (json!({"email": 7}), "email"),
        (json!({"email": "b@example.com", "custom_role": "pilot"}), "custom_role"),
        (json!({"email": "b@example.com", "owner": true}), "owner"),
    ];
    for (body, name) in wrong {
        let error = site.post("/members", body).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains(name), "{error}");
    }
    assert_eq!(world.server.mails("b@example.com").await.len(), 0, "nobody is invited in vain");
    assert_eq!(site.get("/members").await.expect(200)["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_role_is_refused_by_the_name_that_it_was_sent_by() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, id, _) = site.member("ada@example.com", None).await;
    let path = format!("/members/{id}");
    for name in ["custom_role", "role"] {
        for role in [json!("pilot"), json!(7)] {
            for refused in [
                site.post("/members", json!({"email": "b@example.com", name: role})).await,
                site.patch(&path, json!({name: role})).await,
                site.post("/grants", json!({name: role})).await,
            ] {
                let error = refused.error(ErrorCode::InvalidRequest);
                let message = error["message"].as_str().expect("text");
                assert!(message.starts_with(&format!("`{name}`: ")), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn a_role_is_set_and_cleared_and_holds_on_the_next_request() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.row("desk", "d").await;
    let (_, id, token) = site.member("ada@example.com", None).await;
    let path = format!("/members/{id}");
    site.see(&token, "/s/collections/desk").await.error(ErrorCode::CollectionReadForbidden);
    let member = site.patch(&path, json!({"custom_role": "editor"})).await.expect(200);
    assert_eq!((&member["human_id"], &member["custom_role"]), (&json!(id), &json!("editor")));
    site.see(&token, "/s/collections/desk/d").await.expect(200);
    let roles = site.get("/roles").await.expect(200);
    assert!(roles.to_string().contains("editor"), "{roles}");
    let cleared = site.patch(&path, json!({"custom_role": null})).await.expect(200);
    assert_eq!(cleared["custom_role"], Value::Null);
    site.see(&token, "/s/collections/desk/d").await.error(ErrorCode::RowNotFound);
    site.see(&token, "/s/session").await.expect(200);

    for (body, name) in [
        (json!({}), "custom_role"),
        (json!({"custom_role": "pilot"}), "custom_role"),
        (json!({"custom_role": "editor", "email": "x@example.com"}), "email"),
    ] {
        let error = site.patch(&path, body).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains(name), "{error}");
    }
}

#[tokio::test]
async fn the_owner_and_strangers_are_no_members_to_change() {
    let world = World::start().await;
    let site = world.site("private").await;
    let owner = text(&site.get("/members").await.expect(200)["items"][0], "human_id");
    let never = rookery_domain::id::HumanId::new().to_string();
    let role = json!({"custom_role": null});
    site.patch(&format!("/members/{owner}"), role.clone()).await.error(ErrorCode::Conflict);
    site.delete(&format!("/members/{owner}")).await.error(ErrorCode::Conflict);
    for id in [never.as_str(), "hum_x", &site.app.id] {
        site.patch(&format!("/members/{id}"), role.clone()).await.error(ErrorCode::NotFound);
        site.delete(&format!("/members/{id}")).await.error(ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn a_member_is_removed_once_and_for_all_until_added_again() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (human, id, token) = site.member("ada@example.com", Some("editor")).await;
    let path = format!("/members/{id}");
    for _ in 0..2 {
        assert_eq!(site.delete(&path).await.status, 204);
    }
    site.see(&token, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    site.patch(&path, json!({"custom_role": null})).await.error(ErrorCode::NotFound);
    let usage = world.server.by(&human, Method::GET, &site.path("/usage"));
    Answer::of(usage).await.error(ErrorCode::AppNotFound);
    let again = site.post("/members", json!({"email": "ada@example.com"})).await.expect(201);
    assert_eq!((&again["human_id"], &again["custom_role"]), (&json!(id), &Value::Null));
    site.see(&token, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    let token = site.enter(&human).await;
    assert_eq!(site.see(&token, "/s/session").await.expect(200)["role"], "member");
}

#[tokio::test]
async fn removing_somebody_again_ends_nothing_that_came_since() {
    let world = World::start().await;
    let site = world.site("public").await;
    let (human, id, _) = site.member("ada@example.com", None).await;
    let path = format!("/members/{id}");
    assert_eq!(site.delete(&path).await.status, 204);
    // As anybody who signed in may be here.
    let token = site.enter(&human).await;
    assert_eq!(site.delete(&path).await.status, 204);
    assert_eq!(site.see(&token, "/s/session").await.expect(200)["role"], "anyone");
}

#[tokio::test]
async fn an_open_page_of_an_app_that_is_given_away_says_that_there_is_none() {
    let world = World::start().await;
    let bob = world.server.human("bob@example.com").await;
    for visibility in ["private", "public"] {
        let site = world.site(visibility).await;
        let page = format!("/apps/{}/data/safe", site.app.id);
        let shown = Answer::of(world.server.by(&world.owner, Method::GET, &page)).await;
        let waits =
            shown.text.split("data-hx-get=\"").find(|part| part.contains("/changes?since="));
        let waits = waits.and_then(|part| part.split('"').next()).expect("the page waits");
        let offer = site.post("/transfer", json!({"email": "bob@example.com"})).await.expect(201);
        let accept = format!("/v1/self/transfers/{}/accept", text(&offer, "id"));
        let given_away = async {
            site.until_followed().await;
            Answer::of(world.server.by(&bob, Method::POST, &accept)).await.expect(200);
        };
        let (poll, ()) = tokio::join!(world.server.part(&world.owner, waits, &page), given_away);
        let next = world.server.part(&world.owner, waits, &page).await;
        for answer in [poll, next] {
            assert_eq!(answer.status, 404, "{visibility}");
            assert!(!answer.headers.contains_key("hx-redirect"), "whoever is signed in stays so");
        }
    }
}

#[tokio::test]
async fn an_account_that_closed_while_the_app_was_in_the_trash_is_no_member_after_its_return() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (human, ..) = site.member("ada@example.com", None).await;
    assert_eq!(site.delete("").await.status, 204);
    let close = world.server.by(&human, Method::DELETE, "/v1/self");
    let closed = Answer::of(close.json(&json!({"confirm_email": "ada@example.com"}))).await;
    assert!(closed.status < 300, "{}", closed.text);
    site.post("/restore", json!({})).await.expect(200);
    let members = site.get("/members").await.expect(200);
    let kinds = |one: &Value| text(one, "role");
    let left: Vec<_> = members["items"].as_array().expect("members").iter().map(kinds).collect();
    assert_eq!(left, ["owner"]);
}

#[tokio::test]
async fn a_crash_behind_the_end_of_a_membership_leaves_none_of_its_visits() {
    let world = World::start().await;
    let site = world.site("public").await;
    let (_, id, token) = site.member("ada@example.com", None).await;
    let op = AccessOp::RemoveMember { human: id.parse().expect("an id") };
    // All that the route does besides is left undone.
    let op = Op::App(AppOp::Access(op));
    site.handle().await.apply(Caller::System, op).await.expect("removed");
    let app = site.app.clone();
    let World { server, owner, agent } = world;
    let world = World { server: server.restart().await, owner, agent };
    let site = Site { server: &world.server, world: &world, app };
    site.see(&token, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    site.post("/members", json!({"email": "ada@example.com"})).await.expect(201);
    site.see(&token, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
}

#[tokio::test]
async fn a_member_that_takes_the_app_over_is_its_owner_and_no_member() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (ada, id, token) = site.member("ada@example.com", Some("editor")).await;
    site.post("/transfer", json!({"email": "ada@example.com"})).await.expect(201);
    let offers = Answer::of(world.server.by(&ada, Method::GET, "/v1/self/transfers")).await;
    let offer = text(&offers.expect(200)["items"][0], "id");
    let accept = format!("/v1/self/transfers/{offer}/accept");
    let accepted = Answer::of(world.server.by(&ada, Method::POST, &accept)).await;
    assert!(accepted.status < 300, "{}", accepted.text);
    let me = site.see(&token, "/s/session").await.expect(200);
    assert_eq!((&me["role"], &me["custom_role"]), (&json!("owner"), &Value::Null));
    let members = world.server.by(&ada, Method::GET, &site.path("/members"));
    let members = Answer::of(members).await.expect(200);
    let items = members["items"].as_array().expect("items");
    assert_eq!(items.len(), 1, "{members}");
    assert_eq!((&items[0]["human_id"], &items[0]["role"]), (&json!(id), &json!("owner")));
}

#[tokio::test]
async fn members_survive_a_restart_and_strangers_at_the_door_wake_nobody() {
    let world = World::start().await;
    let site = world.site("private").await;
    let app = site.app.clone();
    let (ada, _, _) = site.member("ada@example.com", None).await;
    let World { server, owner, agent } = world;
    let stranger = server.human("stranger@example.com").await;
    let server = server.restart().await;
    let path = app.path("/usage");
    let sleeping = async || {
        let record = server.get_as(&agent.key, &app.path("")).await.expect(200);
        assert_eq!(record["dormant"], true, "{record}");
    };
    Answer::of(server.by(&stranger, Method::GET, &path)).await.error(ErrorCode::AppNotFound);
    Answer::of(server.by(&ada, Method::GET, &path)).await.expect(200);
    let members = app.path("/members");
    Answer::of(server.by(&ada, Method::GET, &members)).await.error(ErrorCode::Forbidden);
    Answer::of(server.by(&owner, Method::GET, &members)).await.expect(200);
    sleeping().await;
}

#[tokio::test]
async fn the_feed_tells_the_owner_of_members_and_links_and_nobody_else() {
    let world = World::start().await;
    let site = world.site("private").await;
    let since = text(&site.get("/feed").await.expect(200), "cursor");
    let (_, id, member) = site.member("ada@example.com", None).await;
    let seen = text(&site.see(&member, "/s/feed?wait=0").await.expect(200), "cursor");
    site.patch(&format!("/members/{id}"), json!({"custom_role": "reviewer"})).await.expect(200);
    let (grant, path) = site.grant(json!({"role": "editor"})).await;
    let holder = super::world::token_of(&site.open(&path).await);
    site.delete(&format!("/grants/{grant}")).await;
    let page = site.get(&format!("/feed?since={since}&wait=0")).await.expect(200);
    let kinds: Vec<_> =
        page["events"].as_array().expect("events").iter().map(|one| text(one, "type")).collect();
    assert_eq!(
        kinds,
        ["member.added", "member.updated", "grant.created", "grant.redeemed", "grant.revoked"]
    );
    let told = page.to_string();
    assert!(!told.contains("ada@example.com") && !told.contains(&holder), "ids only: {told}");
    let page = site.see(&member, &format!("/s/feed?since={seen}&wait=0")).await.expect(200);
    assert_eq!(page["events"], json!([]));
}

#[tokio::test]
async fn whoever_becomes_an_admin_of_the_organization_keeps_the_role_of_a_member() {
    let world = World::start().await;
    let site = world.site("private").await;
    let owner = |method, path: &str, body: Value| {
        Answer::of(world.server.by(&world.owner, method, path).json(&body))
    };
    let org = owner(Method::POST, "/v1/orgs", json!({"name": "Crew"})).await.expect(201);
    site.patch("", json!({"org_id": org["id"]})).await.expect(200);
    let (_, id, token) = site.member("ada@example.com", Some("editor")).await;
    let write =
        async || site.send(&token, Method::POST, "/s/collections/press", json!({"data": {}})).await;
    write().await.expect(201);

    let members = format!("/v1/orgs/{}/members", text(&org, "id"));
    let body = json!({"email": "ada@example.com", "role": "admin"});
    owner(Method::POST, &members, body).await.expect(201);
    write().await.expect(201);
    let me = site.see(&token, "/s/session").await.expect(200);
    assert_eq!(
        (&me["role"], &me["custom_role"], &me["id"]),
        (&json!("owner"), &json!("editor"), &json!(id))
    );
}

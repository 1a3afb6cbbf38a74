//! Service credentials: minted, listed, and what is wrong with one that is asked for.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use super::world::{World, text};
use crate::harness::{Answer, forged};

#[tokio::test]
async fn a_credential_is_shown_with_its_token_once() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({
        "name": "Nightly", "operations": ["read"],
        "collections": ["safe", {"name": "board", "operations": ["create", "count"], "scope": "own"}],
    });
    let made = site.post("/credentials", body).await;
    let record = made.expect(201);
    let (id, token) = (text(&record, "id"), text(&record, "token"));
    assert_eq!(made.header("location"), site.path(&format!("/credentials/{id}")));
    assert!(token.starts_with(&text(&record, "prefix")) && token.starts_with("rk_cred_"));
    assert_eq!((&record["name"], &record["status"]), (&json!("Nightly"), &json!("active")));
    assert_eq!(record["mode"], "explicit");
    assert_eq!(
        record["collections"],
        json!([
            {"name": "safe", "operations": ["read"], "scope": "all"},
            {"name": "board", "operations": ["create", "count"], "scope": "own"},
        ])
    );
    let list = site.get("/credentials").await;
    let mut item = list.expect(200)["items"][0].clone();
    assert!(!list.text.contains(&token) && item.get("token").is_none(), "{}", list.text);
    item["token"] = json!(token);
    assert_eq!(item, record);
}

#[tokio::test]
async fn credentials_are_listed_newest_first_the_revoked_ones_too() {
    let world = World::start().await;
    let site = world.site("private").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        world.pass_seconds(1);
        let body = json!({"collections": ["safe"], "operations": ["read"]});
        ids.insert(0, site.credential(body).await.0);
    }
    assert_eq!(site.delete(&format!("/credentials/{}", ids[1])).await.status, 204);
    let (mut seen, mut path) = (Vec::new(), "/credentials?limit=1".to_owned());
    loop {
        let page = site.get(&path).await.expect(200);
        let item = &page["items"][0];
        seen.push((text(item, "id"), text(item, "status")));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/credentials?limit=1&cursor={cursor}");
    }
    let expected = ids.into_iter().zip(["active", "revoked", "active"].map(str::to_owned));
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_wrong_with_a_new_credential_is_named() {
    let world = World::start().await;
    let site = world.site("private").await;
    let long = "x".repeat(101);
    let wrong = [
        (json!({}), "collections"),
        (json!({"mode": "explicit", "operations": ["read"]}), "collections"),
        (json!({"collections": ["safe"]}), "operations"),
        (json!({"collections": ["safe"], "operations": []}), "operations"),
        (json!({"collections": ["safe"], "operations": ["purge"]}), "operations"),
        (json!({"collections": ["safe"], "operations": ["read", "read"]}), "operations"),
        (json!({"collections": ["safe", "safe"], "operations": ["read"]}), "collections[1]"),
        (json!({"collections": [{"name": "safe", "operations": []}]}), "collections[0].operations"),
        (json!({"collections": [{"name": "safe", "ops": ["read"]}]}), "`ops`"),
        (json!({"collections": [{"operations": ["read"]}]}), "`name`"),
        (json!({"collections": ["safe", 1], "operations": ["read"]}), "collections[1]"),
        (json!({"mode": "following"}), "operations"),
        (json!({"mode": "all", "operations": ["read"]}), "mode"),
        (json!({"mode": {"following": null}, "operations": ["read"]}), "mode"),
        (json!({"mode": null, "collections": ["safe"], "operations": ["read"]}), "mode"),
        (json!({"collections": ["safe"], "operations": [{"read": null}]}), "operations[0]"),
        (json!({"collections": ["safe"], "operations": ["read"], "scope": "mine"}), "scope"),
        (json!({"collections": ["safe"], "operations": ["read"], "name": ""}), "name"),
        (json!({"collections": ["safe"], "operations": ["read"], "name": long}), "name"),
        (json!({"collections": ["safe"], "operations": ["read"], "name": "a\nb"}), "name"),
        (json!({"collections": ["safe"], "operations": ["read"], "name": "\u{202e}evil"}), "name"),
        (json!({"collections": ["safe"], "operations": ["read"], "name": "\u{200b}"}), "name"),
        (json!({"collections": ["safe"], "operations": ["read"], "name": "  "}), "name"),
        (json!({"collections": ["safe"], "operations": ["read"], "token": "x"}), "token"),
    ];
    for (body, name) in wrong {
        let error = site.post("/credentials", body.clone()).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains(name), "{body}: {error}");
    }
    let unknown = json!({"collections": ["safe", "later"], "operations": ["read"]});
    let error = site.post("/credentials", unknown).await.error(ErrorCode::CollectionNotFound);
    assert!(error["message"].as_str().expect("text").contains("later"), "{error}");
    assert_eq!(site.get("/credentials").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_credential_is_stopped_resumed_and_ended() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"collections": ["safe"], "operations": ["read"]});
    let (id, token) = site.credential(body).await;
    let change =
        async |what: &str| site.post(&format!("/credentials/{id}/{what}"), json!({})).await;
    let list = || Answer::of(site.with(&token, Method::GET, "/collections/safe"));
    list().await.expect(200);
    for _ in 0..2 {
        assert_eq!(change("pause").await.expect(200)["status"], "paused");
        list().await.error(ErrorCode::Unauthorized);
    }
    for _ in 0..2 {
        assert_eq!(change("resume").await.expect(200)["status"], "active");
        list().await.expect(200);
    }
    change("pause").await.expect(200);
    for _ in 0..2 {
        assert_eq!(site.delete(&format!("/credentials/{id}")).await.status, 204);
        list().await.error(ErrorCode::Unauthorized);
    }
    for what in ["pause", "resume", "rotate"] {
        change(what).await.error(ErrorCode::Conflict);
    }
    list().await.error(ErrorCode::Unauthorized);
    let never = rookery_domain::id::CredentialId::new().to_string();
    for id in [never.as_str(), "crd_x", &world.agent.id] {
        for what in ["pause", "resume", "rotate"] {
            let path = format!("/credentials/{id}/{what}");
            site.post(&path, json!({})).await.error(ErrorCode::NotFound);
        }
        site.delete(&format!("/credentials/{id}")).await.error(ErrorCode::NotFound);
    }
    let other = world.site("private").await;
    other.delete(&format!("/credentials/{id}")).await.error(ErrorCode::NotFound);
}

#[tokio::test]
async fn what_was_paused_or_revoked_stays_so_over_a_restart() {
    let world = World::start().await;
    let site = world.site("private").await;
    let app = site.app.clone();
    let body = json!({"collections": ["safe"], "operations": ["read"]});
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(site.credential(body.clone()).await);
    }
    site.post(&format!("/credentials/{}/pause", tokens[0].0), json!({})).await.expect(200);
    site.delete(&format!("/credentials/{}", tokens[1].0)).await;
    let World { server, agent, .. } = world;
    let server = server.restart().await;
    let list = async |token: &str| server.get_as(token, &app.path("/collections/safe")).await;
    list(&tokens[0].1).await.error(ErrorCode::Unauthorized);
    list(&tokens[1].1).await.error(ErrorCode::Unauthorized);
    list(&tokens[2].1).await.expect(200);
    let resume = app.path(&format!("/credentials/{}/resume", tokens[0].0));
    server.send(Method::POST, &agent.key, &resume, &json!({})).await.expect(200);
    list(&tokens[0].1).await.expect(200);
}

#[tokio::test]
async fn a_credential_is_of_one_app_and_for_its_rows() {
    let world = World::start().await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    let body = json!({"mode": "following", "operations": ["read", "create"]});
    let (_, token) = site.credential(body).await;
    let ask = async |method, path: &str| Answer::of(world.server.call(method, path, &token)).await;
    ask(Method::GET, &site.path("/collections/board")).await.expect(200);
    ask(Method::GET, &other.path("/collections/board")).await.error(ErrorCode::AppNotFound);
    ask(Method::GET, "/v1/apps/nowhere/collections/board").await.error(ErrorCode::AppNotFound);
    for below in ["", "/members", "/credentials", "/usage", "/collections/board/retention"] {
        ask(Method::GET, &site.path(below)).await.error(ErrorCode::Forbidden);
    }
    for path in ["/v1/apps", "/v1/keys", "/v1/orgs", "/v1/self/apps"] {
        ask(Method::GET, path).await.error(ErrorCode::Forbidden);
    }
    let forged = forged(&token);
    for wrong in [forged.as_str(), "rk_cred_short", &token[..30]] {
        let answer = world.server.get_as(wrong, &site.path("/collections/board")).await;
        answer.error(ErrorCode::Unauthorized);
    }
    site.delete("").await;
    ask(Method::GET, &site.path("/collections/board")).await.error(ErrorCode::SoftDeleted);
    site.post("/purge", json!({})).await;
    ask(Method::GET, &site.path("/collections/board")).await.error(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn a_rotated_credential_says_until_when_the_token_before_works() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"collections": ["safe"], "operations": ["read"]});
    let (id, _) = site.credential(body).await;
    let change = async |what: &str, body| {
        site.post(&format!("/credentials/{id}/{what}"), body).await.expect(200)
    };
    let listed = async || site.get("/credentials").await.expect(200)["items"][0].clone();
    const MEMBER: &str = "previous_token_expires_at";
    assert!(listed().await.get(MEMBER).is_none());
    let end = change("rotate", json!({"overlap_s": 600})).await[MEMBER].clone();
    assert!(end.is_string(), "{end}");
    assert_eq!(listed().await[MEMBER], end);
    for what in ["pause", "resume"] {
        assert_eq!(change(what, json!({})).await[MEMBER], end, "{what}");
    }
    let page = format!("/apps/{}/sharing", site.app.id);
    let seen = world.server.see(&world.owner, &page).await;
    seen.says("the token before works until");
    world.pass_seconds(600);
    assert!(listed().await.get(MEMBER).is_none(), "it is over");
    assert!(change("pause", json!({})).await.get(MEMBER).is_none());
}

#[tokio::test]
async fn a_credential_that_only_writes_is_told_the_version_that_is_there() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.row("safe", "k").await;
    let body = json!({"collections": ["safe"], "operations": ["update", "delete"]});
    let (_, token) = site.credential(body).await;
    let path = "/collections/safe/k";
    let body = json!({"data": {"x": 1}, "if_match": 9});
    let late = Answer::of(site.with(&token, Method::PATCH, path).json(&body)).await;
    let current = &late.error(ErrorCode::Conflict)["details"]["current"];
    assert_eq!((&current["version"], &current["data"]), (&json!(1), &json!({})), "{}", late.text);
}

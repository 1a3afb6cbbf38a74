//! Grant links: what one opens, to how many, until when, and what it does not.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{World, manifest, text, token_of};
use crate::harness::{Answer, START, forged};

#[tokio::test]
async fn a_link_is_shown_once_and_listed_without_its_token() {
    let world = World::start().await;
    let site = world.site("private").await;
    let body = json!({"role": "editor", "max_uses": 3, "expires_in_s": 60});
    let made = site.post("/grants", body).await;
    let grant = made.expect(201);
    let id = text(&grant, "id");
    assert_eq!(made.header("location"), site.path(&format!("/grants/{id}")));
    assert_eq!((&grant["role"], &grant["state"]), (&json!("editor"), &json!("active")));
    assert_eq!((&grant["uses"], &grant["max_uses"]), (&json!(0), &json!(3)));
    assert_eq!(grant["expires_at"], json!(START.plus_seconds(60)));
    assert_eq!(grant["created_by"], json!({"kind": "agent", "id": world.agent.id}));
    let path = site.below(&text(&grant, "url"));
    let token = path.strip_prefix("/s/grant/").expect("the link's path");
    token_of(&site.open(&path).await);
    let list = site.get("/grants").await;
    let item = list.expect(200)["items"][0].clone();
    assert_eq!((&item["id"], &item["uses"]), (&json!(id), &json!(1)));
    assert!(!list.text.contains(token) && item.get("url").is_none(), "{}", list.text);
}

#[tokio::test]
async fn links_are_listed_newest_first_page_by_page_and_not_when_revoked() {
    let world = World::start().await;
    let site = world.site("private").await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        world.pass_seconds(1);
        ids.insert(0, site.grant(json!({"role": "editor"})).await.0);
    }
    assert_eq!(site.delete(&format!("/grants/{}", ids.remove(1))).await.status, 204);
    let first = site.get("/grants?limit=2").await.expect(200);
    let cursor = text(&first, "next_cursor");
    let second = site.get(&format!("/grants?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!(second["next_cursor"], Value::Null);
    let pages = [first, second];
    let items = pages.iter().flat_map(|page| page["items"].as_array().expect("items"));
    assert_eq!(items.map(|one| text(one, "id")).collect::<Vec<_>>(), ids);
}

#[tokio::test]
async fn what_is_wrong_with_a_new_link_is_named() {
    let world = World::start().await;
    let site = world.site("private").await;
    let year = 365 * 86_400;
    let wrong = [
        (json!({}), "role"),
        (json!({"role": "pilot"}), "role"),
        (json!({"role": "owner"}), "role"),
        (json!({"role": "editor", "max_uses": 0}), "max_uses"),
        (json!({"role": "editor", "max_uses": 1_000_001}), "max_uses"),
        (json!({"role": "editor", "max_uses": -1}), "max_uses"),
        (json!({"role": "editor", "expires_in_s": 0}), "expires_in_s"),
        (json!({"role": "editor", "expires_in_s": year + 1}), "expires_in_s"),
        (json!({"role": "editor", "expires_at": START}), "expires_at"),
        (json!({"role": "editor", "expires_at": "tomorrow"}), "expires_at"),
        (
            json!({"role": "editor", "expires_at": START.plus_seconds(9), "expires_in_s": 9}),
            "expires_in_s",
        ),
        (json!({"role": "editor", "uses": 1}), "uses"),
    ];
    for (body, name) in wrong {
        let error = site.post("/grants", body.clone()).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains(name), "{body}: {error}");
    }
    site.post("/grants", json!({"role": "editor", "expires_in_s": year})).await.expect(201);
    site.post("/grants", json!({"role": "editor", "max_uses": 1_000_000})).await.expect(201);
}

#[tokio::test]
async fn a_holder_has_the_role_and_what_anybody_may_and_nothing_more() {
    let world = World::start().await;
    let site = world.site("private").await;
    for collection in ["desk", "club", "safe"] {
        site.row(collection, "k").await;
    }
    let (_, token) = site.holder("editor").await;
    let me = site.see(&token, "/s/session").await.expect(200);
    assert_eq!((&me["kind"], &me["role"]), (&json!("grant"), &json!("anyone")));
    assert_eq!(me["custom_role"], "editor");
    site.see(&token, "/s/collections/desk/k").await.expect(200);
    site.see(&token, "/s/collections/desk/count").await.expect(200);
    let data = json!({"key": "mine", "data": {}});
    let made = site.send(&token, Method::POST, "/s/collections/desk", data.clone()).await;
    assert_eq!(made.expect(201)["creator"], json!({"kind": "grant", "id": me["id"]}));
    site.send(&token, Method::POST, "/s/collections/board", data.clone()).await.expect(201);
    let patch = json!({"data": {"x": 1}});
    site.send(&token, Method::PATCH, "/s/collections/desk/mine", patch.clone()).await.expect(200);
    let other = site.send(&token, Method::PATCH, "/s/collections/desk/k", patch).await;
    other.error(ErrorCode::CollectionWriteForbidden);
    for hidden in ["club", "safe"] {
        let list = site.see(&token, &format!("/s/collections/{hidden}")).await;
        list.error(ErrorCode::CollectionReadForbidden);
        let row = site.see(&token, &format!("/s/collections/{hidden}/k")).await;
        row.error(ErrorCode::RowNotFound);
        let path = format!("/s/collections/{hidden}");
        let made = site.send(&token, Method::POST, &path, json!({"data": {}})).await;
        made.error(ErrorCode::CollectionWriteForbidden);
    }
    let page = site.visit(Method::GET, "/").header("accept", "text/html");
    let cookie = format!("service_participant={token}");
    assert_eq!(Answer::of(page.header("cookie", cookie)).await.status, 200);
}

#[tokio::test]
async fn who_opens_the_link_again_stays_who_they_are() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, path) = site.grant(json!({"role": "editor", "max_uses": 1})).await;
    let token = token_of(&site.open(&path).await);
    let again =
        site.visit(Method::GET, &path).header("cookie", format!("service_participant={token}"));
    let again = Answer::of(again).await;
    assert_eq!(again.status, 303);
    assert!(!again.headers.contains_key("set-cookie"));
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    site.see(&token, "/s/session").await.expect(200);
    assert_eq!(site.get("/grants").await.expect(200)["items"][0]["state"], "used_up");
}

#[tokio::test]
async fn looking_uses_nothing_up_and_what_is_no_link_opens_nothing() {
    let world = World::start().await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    let (_, path) = site.grant(json!({"role": "editor", "max_uses": 1})).await;
    let head = Answer::of(site.visit(Method::HEAD, &path)).await;
    assert!(head.status < 300 && !head.headers.contains_key("set-cookie"));
    let looks = [
        ("sec-purpose", "prefetch"),
        ("user-agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"),
        // As another site's page would load it.
        ("sec-fetch-dest", "image"),
        ("sec-fetch-dest", "script"),
    ];
    for (name, value) in looks {
        let answer = Answer::of(site.visit(Method::GET, &path).header(name, value)).await;
        assert!(answer.status < 300 && !answer.headers.contains_key("set-cookie"), "{value}");
    }
    let forged = forged(&path);
    for wrong in ["/s/grant/nonsense", &forged, &path[..20]] {
        let refused = site.open(wrong).await;
        refused.error(ErrorCode::GrantInvalid);
        assert!(!refused.headers.contains_key("set-cookie"));
    }
    other.open(&path).await.error(ErrorCode::GrantInvalid);
    let page = site.visit(Method::GET, &forged).header("sec-fetch-mode", "navigate");
    let page = Answer::of(page.header("accept", "text/html")).await;
    assert!(page.status >= 400 && page.header("content-type").starts_with("text/html"));
    let opened = site.visit(Method::GET, &path).header("sec-fetch-dest", "document");
    let opened = Answer::of(opened).await;
    assert_eq!((opened.header("location"), opened.header("cache-control")), ("/", "no-store"));
    assert_eq!(opened.header("referrer-policy"), "no-referrer");
    token_of(&opened);
}

#[tokio::test]
async fn a_revoked_link_ends_for_everybody_who_came_by_it() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, path) = site.grant(json!({"role": "editor"})).await;
    let holders = [token_of(&site.open(&path).await), token_of(&site.open(&path).await)];
    let (_, spared) = site.holder("editor").await;
    for _ in 0..2 {
        assert_eq!(site.delete(&format!("/grants/{id}")).await.status, 204);
    }
    for token in &holders {
        let answer = site.see(token, "/s/collections/desk").await;
        answer.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    }
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    site.see(&spared, "/s/collections/desk").await.expect(200);
    let never = rookery_domain::id::GrantId::new().to_string();
    for id in [never.as_str(), "grl_x", &world.agent.id] {
        site.delete(&format!("/grants/{id}")).await.error(ErrorCode::NotFound);
    }
    let other = world.site("private").await;
    other.delete(&format!("/grants/{id}")).await.error(ErrorCode::NotFound);
}

#[tokio::test]
async fn a_role_that_is_not_declared_any_more_gives_nothing() {
    let world = World::start().await;
    for (visibility, left) in [("private", None), ("public", Some("anyone"))] {
        let site = world.site(visibility).await;
        let (_, path) = site.grant(json!({"role": "reviewer"})).await;
        let token = token_of(&site.open(&path).await);
        let mut without = manifest();
        without["roles"].as_object_mut().expect("roles").remove("reviewer");
        site.redeploy(without).await;
        let me = site.see(&token, "/s/session").await;
        match left {
            Some(role) => {
                let me = me.expect(200);
                assert_eq!((&me["role"], &me["custom_role"]), (&json!(role), &Value::Null));
            }
            None => {
                me.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
            }
        }
        site.open(&path).await.error(ErrorCode::GrantInvalid);
        site.redeploy(manifest()).await;
        assert_eq!(site.see(&token, "/s/session").await.expect(200)["custom_role"], "reviewer");
    }
}

#[tokio::test]
async fn links_of_a_deleted_app_open_nothing_until_it_is_back() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, path) = site.grant(json!({"role": "editor"})).await;
    let token = token_of(&site.open(&path).await);
    site.delete("").await;
    site.open(&path).await.error(ErrorCode::SoftDeleted);
    site.see(&token, "/s/collections/desk").await.error(ErrorCode::SoftDeleted);
    site.post("/grants", json!({"nonsense": 1})).await.error(ErrorCode::SoftDeleted);
    site.post("/restore", json!({})).await.expect(200);
    site.see(&token, "/s/collections/desk").await.expect(200);
}

//! Previews: a private app looked at, for reading only.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use super::world::{World, manifest, text, token_of};
use crate::harness::{Answer, START};

#[tokio::test]
async fn a_preview_reads_and_counts_what_anybody_may_and_writes_nothing() {
    let world = World::start().await;
    let site = world.site("private").await;
    for collection in ["board", "desk"] {
        site.row(collection, "k").await;
    }
    let made = site.post("/preview-tokens", json!({})).await;
    let preview = made.expect(201);
    let id = text(&preview, "id");
    assert_eq!(made.header("location"), site.path(&format!("/preview-tokens/{id}")));
    assert_eq!(preview["expires_at"], json!(START.plus_seconds(7 * 86_400)));
    let url = text(&preview, "url");
    assert!(url.ends_with(&text(&preview, "token")), "{url}");
    let path = site.below(&url);
    let opened = site.open(&path).await;
    assert_eq!((opened.header("location"), opened.header("referrer-policy")), ("/", "no-referrer"));
    let token = token_of(&opened);
    site.see(&token, "/s/collections/board/k").await.expect(200);
    site.see(&token, "/s/collections/board").await.expect(200);
    assert_eq!(site.see(&token, "/s/collections/board/count").await.expect(200)["count"], 1);
    site.see(&token, "/s/collections/desk/k").await.error(ErrorCode::RowNotFound);
    let board = "/s/collections/board";
    let send = async |method, path: &str, body| site.send(&token, method, path, body).await;
    let row = json!({"key": "n", "data": {}});
    let denied = send(Method::POST, board, row.clone()).await;
    let error = denied.error(ErrorCode::CollectionWriteForbidden);
    assert_eq!(error["required"], json!(["anyone"]));
    assert!(text(&error, "message").contains("for reading only"), "{error}");
    let existing = send(Method::POST, board, json!({"key": "k", "data": {}})).await;
    existing.error(ErrorCode::CollectionWriteForbidden);
    let patched = send(Method::PATCH, &format!("{board}/k"), json!({"data": {}})).await;
    patched.error(ErrorCode::CollectionWriteForbidden);
    let deleted = Answer::of(site.by(&token, Method::DELETE, &format!("{board}/k"))).await;
    deleted.error(ErrorCode::CollectionDeleteForbidden);
    let purged = Answer::of(site.by(&token, Method::DELETE, &format!("{board}/k/purge"))).await;
    purged.error(ErrorCode::PurgeForbidden);
    let batch = send(Method::POST, &format!("{board}/batch"), json!({"rows": [row]})).await;
    let batch = batch.expect(200);
    assert_eq!(batch["results"][0]["error"]["code"], "collection_write_forbidden");
    let event = send(Method::POST, "/s/events", json!({"type": "ping", "data": {}})).await;
    event.error(ErrorCode::Forbidden);
    // The same link again is the same visitor.
    let again = site.visit(Method::GET, &path);
    let again = Answer::of(again.header("cookie", format!("service_participant={token}"))).await;
    assert!(again.status == 303 && !again.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn only_a_private_app_is_previewed() {
    let world = World::start().await;
    for visibility in ["public", "link"] {
        let site = world.site(visibility).await;
        site.post("/preview-tokens", json!({})).await.error(ErrorCode::Conflict);
    }
    let site = world.site("private").await;
    let preview = site.post("/preview-tokens", json!({})).await.expect(201);
    let path = site.below(&text(&preview, "url"));
    let token = token_of(&site.open(&path).await);
    site.patch("", json!({"visibility": "public"})).await.expect(200);
    site.see(&token, "/s/session").await.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    // Published once, it is not shown by that link again.
    site.patch("", json!({"visibility": "private"})).await.expect(200);
    site.see(&token, "/s/session").await.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    assert_eq!(site.get("/preview-tokens").await.expect(200)["items"], json!([]));
    // The same by a deploy; another change of a private app ends none.
    let (_, token) = site.looker().await;
    site.patch("", json!({"timezone": "Asia/Tokyo"})).await.expect(200);
    site.redeploy(manifest()).await;
    site.see(&token, "/s/session").await.expect(200);
    let public = json!({"html": "<p>open", "manifest": manifest(), "visibility": "public"});
    site.post("/versions", public).await.expect(201);
    site.patch("", json!({"visibility": "private"})).await.expect(200);
    site.see(&token, "/s/session").await.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
}

#[tokio::test]
async fn previews_are_listed_newest_first_while_they_open_the_app() {
    let world = World::start().await;
    let site = world.site("private").await;
    let mut made = Vec::new();
    for seconds in [600, 3_600, 7_200, 9_000] {
        world.pass_seconds(1);
        let body = json!({"expires_in_s": seconds});
        let mut one = site.post("/preview-tokens", body).await.expect(201);
        let secret = text(&one, "token");
        for member in ["token", "url"] {
            one.as_object_mut().expect("a record").remove(member);
        }
        made.insert(0, (one, secret));
    }
    let list = site.get("/preview-tokens").await;
    let items = list.expect(200)["items"].clone();
    let expected: Vec<_> = made.iter().map(|(one, _)| one.clone()).collect();
    assert_eq!(items, json!(expected));
    assert!(made.iter().all(|(_, secret)| !list.text.contains(secret)), "{}", list.text);
    assert_eq!(items[0]["created_by"]["id"], world.agent.id);
    // Neither a revoked one nor one whose time is over; in pages.
    assert_eq!(
        site.delete(&format!("/preview-tokens/{}", text(&made[1].0, "id"))).await.status,
        204
    );
    world.pass_seconds(601);
    let (mut seen, mut path) = (Vec::new(), "/preview-tokens?limit=1".to_owned());
    loop {
        let page = site.get(&path).await.expect(200);
        seen.extend(page["items"].as_array().expect("items").iter().map(|one| text(one, "id")));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/preview-tokens?limit=1&cursor={cursor}");
    }
    assert_eq!(seen, [text(&made[0].0, "id"), text(&made[2].0, "id")]);
    // They are the owner's to see.
    let (member, _, _) = site.member("member@example.com", None).await;
    let path = site.path("/preview-tokens");
    Answer::of(world.server.by(&member, Method::GET, &path)).await.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn a_revoked_preview_shows_nothing_any_more() {
    let world = World::start().await;
    let site = world.site("private").await;
    let preview = site.post("/preview-tokens", json!({})).await.expect(201);
    let (id, path) = (text(&preview, "id"), site.below(&text(&preview, "url")));
    let token = token_of(&site.open(&path).await);
    for _ in 0..2 {
        assert_eq!(site.delete(&format!("/preview-tokens/{id}")).await.status, 204);
    }
    site.see(&token, "/s/collections/board")
        .await
        .error_of_its_own(ErrorCode::ParticipantTokenInvalid);
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    let never = rookery_domain::id::PreviewId::new().to_string();
    for id in [never.as_str(), "pvt_x"] {
        site.delete(&format!("/preview-tokens/{id}")).await.error(ErrorCode::NotFound);
    }
    let other = world.site("private").await;
    other.delete(&format!("/preview-tokens/{id}")).await.error(ErrorCode::NotFound);
    other.open(&path).await.error(ErrorCode::GrantInvalid);
}

#[tokio::test]
async fn what_is_wrong_with_a_new_preview_is_named() {
    let world = World::start().await;
    let site = world.site("private").await;
    for (body, name) in [
        (json!({"expires_in_s": 0}), "expires_in_s"),
        (json!({"expires_in_s": 90 * 86_400 + 1}), "expires_in_s"),
        (json!({"expires_at": START}), "expires_at"),
        (json!({"expires_at": START.plus_seconds(9), "expires_in_s": 9}), "expires_in_s"),
        (json!({"role": "editor"}), "role"),
    ] {
        let error = site.post("/preview-tokens", body).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().expect("text").contains(name), "{error}");
    }
    let bare = Answer::of(site.request(Method::POST, "/preview-tokens")).await;
    bare.expect(201);
}

#[tokio::test]
async fn a_preview_shows_an_empty_list_where_only_ones_own_rows_are_read() {
    let world = World::start().await;
    let mut own = manifest();
    own["collections"]["board"]["permissions"]["read"] = json!(["creator"]);
    let site = world.site_of("private", own).await;
    site.row("board", "k").await;
    let (_, token) = site.looker().await;
    let page = site.see(&token, "/s/collections/board").await.expect(200);
    assert_eq!(page["items"], json!([]));
    site.see(&token, "/s/collections/board/k").await.error(ErrorCode::RowNotFound);
}

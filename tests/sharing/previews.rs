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
    site.see(&token, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    site.open(&path).await.error(ErrorCode::GrantInvalid);
    site.patch("", json!({"visibility": "private"})).await.expect(200);
    site.see(&token, "/s/session").await.expect(200);
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
    site.see(&token, "/s/collections/board").await.error(ErrorCode::ParticipantTokenInvalid);
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

//! Entity tags: 304 for what the caller has, `If-Match` as `if_match`.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use super::rows::{OWNER, Rows, SIBLING};
use crate::harness::Answer;

#[tokio::test]
async fn a_row_that_has_not_changed_is_304() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let with = |tag: &str| {
        Answer::of(rows.request(OWNER, Method::GET, "entries/k").header("if-none-match", tag))
    };
    let first = rows.get("entries/k").await.header("etag").to_owned();
    assert!(first.starts_with("\"1-"), "{first}");
    for tag in [&*first, &format!("W/{first}"), &format!("\"7\", {first}"), "*"] {
        let answer = with(tag).await;
        assert_eq!((answer.status, answer.text.as_str()), (304, ""), "{tag}");
        assert_eq!(answer.header("etag"), first);
        assert!(answer.header("cache-control").contains("private"));
    }
    rows.patch("entries/k", json!({"data": {"n": 1}})).await.expect(200);
    let fresh = with(&first).await;
    fresh.expect(200);
    assert!(fresh.header("etag").starts_with("\"2-"), "{}", fresh.header("etag"));
    assert_eq!(fresh.header("content-length"), fresh.text.len().to_string());
}

#[tokio::test]
async fn a_list_that_has_not_changed_is_304_for_the_same_question_of_the_same_caller() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let list = rows.get("entries").await;
    let tag = list.header("etag").to_owned();
    let ask = |who: &'static str, path: &'static str| {
        Answer::of(rows.request(who, Method::GET, path).header("if-none-match", tag.clone()))
    };
    assert_eq!(ask(OWNER, "entries").await.status, 304);
    for other in ["entries?limit=2", "others", "entries?sort=-created_at"] {
        ask(OWNER, other).await.expect(200);
    }
    ask(SIBLING, "blind").await.error(ErrorCode::CollectionReadForbidden);
    rows.row("entries", "l", json!({})).await;
    ask(OWNER, "entries").await.expect(200);
    // Whatever there is, it is held; but there is nothing behind a question that makes no sense.
    let any =
        |path| Answer::of(rows.request(OWNER, Method::GET, path).header("if-none-match", "*"));
    assert_eq!(any("entries").await.status, 304);
    for wrong in ["entries?cursor=garbage", "entries?sort=n%20desc"] {
        any(wrong).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn if_match_in_the_header_is_if_match() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let send = |method: Method, tag: &'static str, query: &str, body: serde_json::Value| {
        let request = rows.request(OWNER, method, &format!("entries/k{query}"));
        Answer::of(request.header("if-match", tag).json(&body))
    };
    let data = json!({"data": {}});
    send(Method::PATCH, "\"1\"", "", data.clone()).await.expect(200);
    send(Method::PATCH, "\"1\"", "", data.clone()).await.error(ErrorCode::Conflict);
    send(Method::PATCH, "*", "", data.clone()).await.expect(200);
    for tag in ["x", ""] {
        send(Method::PATCH, tag, "", data.clone()).await.error(ErrorCode::InvalidRequest);
    }
    let both = json!({"data": {}, "if_match": 3});
    send(Method::PATCH, "\"2\"", "", both.clone()).await.error(ErrorCode::InvalidRequest);
    send(Method::PATCH, "\"3\"", "", both).await.expect(200);
    send(Method::DELETE, "\"1\"", "", json!({})).await.error(ErrorCode::Conflict);
    send(Method::DELETE, "\"4\"", "?if_match=4", json!({})).await.expect(200);
}

#[tokio::test]
async fn every_list_has_a_tag_and_is_304_until_it_changes() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    rows.delete("entries/k").await.expect(200);
    let app = format!("/v1/apps/{}", rows.app);
    for path in [
        "/v1/apps".to_owned(),
        "/v1/orgs".to_owned(),
        format!("{app}/collections/entries/deleted"),
        format!("{app}/members"),
        format!("{app}/grants"),
        format!("{app}/credentials"),
    ] {
        let ask = |tag: &str| {
            let request = rows.server.call(Method::GET, &path, rows.key(OWNER));
            Answer::of(request.header("if-none-match", tag))
        };
        let whole = ask("\"other\"").await;
        whole.expect(200);
        let tag = whole.header("etag").to_owned();
        assert!(tag.starts_with('"'), "{path}: {tag} is strong");
        let held = ask(&tag).await;
        assert_eq!((held.status, held.text.as_str()), (304, ""), "{path}");
        assert_eq!(held.header("etag"), tag);
    }
    let path = format!("{app}/collections/entries/deleted");
    let before = rows.server.get_as(rows.key(OWNER), &path).await;
    rows.delete("entries/k/purge").await.expect(200);
    let after = rows.server.call(Method::GET, &path, rows.key(OWNER));
    let after = Answer::of(after.header("if-none-match", before.header("etag"))).await;
    assert_eq!(after.expect(200)["items"], json!([]));
}

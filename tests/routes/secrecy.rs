//! What a caller may not see answers as what is not there.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, SIBLING};
use crate::harness::Answer;

fn without_request_id(answer: &Answer) -> Value {
    let mut body = answer.json();
    body["error"]["request_id"] = json!(null);
    body
}

#[tokio::test]
async fn a_hidden_an_absent_and_a_deleted_row_answer_alike() {
    let rows = Rows::start().await;
    rows.row("own", "hidden", json!({"slot": "s"})).await;
    rows.row("own", "trashed", json!({"slot": "t"})).await;
    rows.delete("own/trashed").await.expect(200);
    for (method, body) in [
        (Method::GET, json!({})),
        (Method::PATCH, json!({"data": {}})),
        (Method::PATCH, json!({"data": {}, "if_match": 9})),
        (Method::DELETE, json!({})),
    ] {
        let mut bodies = Vec::new();
        for key in ["hidden", "absent", "trashed"] {
            let path = format!("own/{key}");
            let answer = rows.send(SIBLING, method.clone(), &path, body.clone()).await;
            assert!(answer.error(ErrorCode::RowNotFound).get("details").is_none());
            bodies.push(without_request_id(&answer));
        }
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    }
    for create in
        [json!({"key": "hidden", "data": {}}), json!({"on": "slot", "data": {"slot": "S"}})]
    {
        let answer = rows.send(SIBLING, Method::POST, "own", create).await;
        answer.error(ErrorCode::RowNotFound);
    }
    assert_eq!(rows.get("own/hidden").await.expect(200)["version"], 1);
}

#[tokio::test]
async fn a_list_shows_readable_rows_whatever_it_filters_by() {
    let rows = Rows::start().await;
    rows.row("own", "mine", json!({"n": 1, "slot": "a"})).await;
    let theirs = json!({"key": "theirs", "data": {"n": 1, "slot": "b"}});
    rows.send(SIBLING, Method::POST, "own", theirs).await.expect(201);
    for query in ["own", "own?filter=%7B%22n%22%3A1%7D", "own?sort=-n", "own?sort=key&limit=1"] {
        let page = rows.get(query).await.expect(200);
        let keys: Vec<_> = page["items"].as_array().expect("items").iter().collect();
        assert_eq!(keys.len(), 1, "{page}");
        assert_eq!(keys[0]["key"], "mine");
        assert_eq!(page["next_cursor"], json!(null));
    }
}

#[tokio::test]
async fn each_list_refuses_with_its_own_code_and_names_who_may() {
    let rows = Rows::start().await;
    let refused = rows.get("blind").await.error(ErrorCode::CollectionReadForbidden);
    assert_eq!(refused["required"], json!([]));
    rows.get("blind/count").await.error(ErrorCode::CollectionCountForbidden);
    rows.row("blind", "k", json!({})).await;
    // No more than its own answer told: nobody reads it.
    rows.get("blind/k").await.error(ErrorCode::RowNotFound);
    rows.delete("blind/k").await.error(ErrorCode::RowNotFound);
    rows.row("frozen", "k", json!({})).await;
    rows.patch("frozen/k", json!({"data": {}})).await.error(ErrorCode::CollectionWriteForbidden);
    rows.row("authored", "k", json!({})).await;
    let change = json!({"data": {}});
    let refused = rows.send(SIBLING, Method::PATCH, "authored/k", change).await;
    assert_eq!(refused.error(ErrorCode::AuthorNotAllowed)["required"], json!(["author"]));
    let delete = Answer::of(rows.request(SIBLING, Method::DELETE, "authored/k"));
    delete.await.error(ErrorCode::AuthorNotAllowed);
    Answer::of(rows.request(OWNER, Method::DELETE, "authored/k")).await.expect(200);
}

#[tokio::test]
async fn the_feed_shows_only_what_may_be_read() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    rows.row("blind", "k", json!({"secret": "canary"})).await;
    let theirs = json!({"key": "theirs", "data": {"slot": "b", "secret": "canary"}});
    rows.send(SIBLING, Method::POST, "own", theirs).await.expect(201);
    let events = rows.events(&since).await;
    assert_eq!(events.len(), 2, "the owner's feed has no gap");
    assert!(events.iter().all(|event| event.get("data").is_none()), "{events:?}");
}

#[tokio::test]
async fn the_trash_restore_and_purge_do_not_depend_on_the_read_list() {
    let rows = Rows::start().await;
    rows.row("own", "k", json!({"slot": "a"})).await;
    rows.delete("own/k").await.expect(200);
    let trash = Answer::of(rows.request(SIBLING, Method::GET, "own/deleted")).await.expect(200);
    assert_eq!(trash["items"][0]["key"], "k");
    let restore = rows.send(SIBLING, Method::POST, "own/k/restore", json!({})).await;
    restore.expect(200);
    let purge = Answer::of(rows.request(SIBLING, Method::DELETE, "own/k/purge"));
    purge.await.expect(200);
}

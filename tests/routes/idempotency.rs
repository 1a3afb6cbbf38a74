//! `Idempotency-Key` on what creates: the first answer again, whoever is quicker and whatever
//! happened since.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, SIBLING};
use crate::harness::Answer;

async fn post(rows: &Rows, who: &str, path: &str, key: &str, body: &Value) -> Answer {
    let request = rows.request(who, Method::POST, path).header("idempotency-key", key);
    Answer::of(request.json(body)).await
}

#[tokio::test]
async fn the_same_key_and_body_answer_as_the_first_time() {
    let rows = Rows::start().await;
    let body = json!({"data": {"n": 1}});
    let first = post(&rows, OWNER, "entries", "a", &body).await;
    first.expect(201);
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let key = first.json()["key"].as_str().expect("a key").to_owned();
    rows.patch(&format!("entries/{key}"), json!({"data": {"n": 2}})).await.expect(200);
    let again = post(&rows, OWNER, "entries", "a", &body).await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!(again.header("idempotent-replayed"), "true");
    for name in ["location", "etag", "content-type"] {
        assert_eq!(again.header(name), first.header(name));
    }
    let rows = rows.restart().await;
    let later = post(&rows, OWNER, "entries", "a", &body).await;
    assert_eq!((later.status, &later.text), (201, &first.text));
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 1);
}

#[tokio::test]
async fn another_body_is_a_conflict_and_another_scope_another_request() {
    let rows = Rows::start().await;
    let body = json!({"data": {}});
    post(&rows, OWNER, "entries", "a", &body).await.expect(201);
    let other = json!({"data": {"n": 1}});
    post(&rows, OWNER, "entries", "a", &other).await.error(ErrorCode::Conflict);
    post(&rows, SIBLING, "entries", "a", &other).await.expect(201);
    post(&rows, OWNER, "others", "a", &other).await.expect(201);
    let batch = json!({"rows": [body.clone()]});
    post(&rows, OWNER, "entries/batch", "a", &batch).await.expect(200);
    for key in ["", &"k".repeat(256)] {
        post(&rows, OWNER, "entries", key, &body).await.error(ErrorCode::InvalidRequest);
    }
    post(&rows, OWNER, "entries", &"k".repeat(255), &body).await.expect(201);
}

#[tokio::test]
async fn an_answer_that_the_row_existed_is_replayed_as_such() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({"n": 1})).await;
    let body = json!({"key": "k", "data": {}});
    let first = post(&rows, OWNER, "entries", "a", &body).await;
    rows.patch("entries/k", json!({"data": {"n": 2}})).await.expect(200);
    let again = post(&rows, OWNER, "entries", "a", &body).await;
    assert_eq!(again.expect(200), first.expect(200));
    assert_eq!(again.header("row-existed"), "true");
    assert_eq!(again.header("idempotent-replayed"), "true");
}

#[tokio::test]
async fn a_refusal_is_not_kept() {
    let rows = Rows::start().await;
    let body = json!({"data": {"email": "a"}});
    rows.row("people", "k", json!({"email": "a"})).await;
    post(&rows, OWNER, "people", "a", &body).await.error(ErrorCode::UniqueConflict);
    rows.delete("people/k").await.expect(200);
    post(&rows, OWNER, "people", "a", &body).await.expect(201);
}

#[tokio::test]
async fn batches_and_events_are_replayed_too() {
    let rows = Rows::start().await;
    let batch = json!({"rows": [{"data": {}}, {"key": "k", "data": {}}]});
    let first = post(&rows, OWNER, "entries/batch", "a", &batch).await.expect(200);
    let again = post(&rows, OWNER, "entries/batch", "a", &batch).await;
    assert_eq!(again.expect(200), first);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 2);
    let send = || {
        let path = format!("/v1/apps/{}/events", rows.app);
        let request = rows.server.request(Method::POST, &path).bearer_auth(rows.key(OWNER));
        let request = request.header("idempotency-key", "e");
        Answer::of(request.json(&json!({"type": "free", "data": {"n": 1}})))
    };
    let first = send().await.expect(201);
    assert_eq!(send().await.expect(201), first);
}

#[tokio::test]
async fn after_24_hours_and_after_a_purge_the_key_is_free_again() {
    let rows = Rows::start().await;
    let body = json!({"key": "k", "data": {"secret": "canary"}});
    post(&rows, OWNER, "entries", "a", &body).await.expect(201);
    rows.delete("entries/k/purge").await.expect(200);
    let anew = post(&rows, OWNER, "entries", "a", &body).await;
    assert_eq!(anew.expect(201)["version"], 3);
    let rows = rows.restart().await;
    rows.pass_seconds(24 * 60 * 60 + 1);
    let late = post(&rows, OWNER, "entries", "a", &body).await;
    late.expect(200);
    assert!(!late.headers.contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn a_batch_is_replayed_until_a_row_that_it_quotes_is_purged() {
    let rows = Rows::start().await;
    rows.row("entries", "other", json!({})).await;
    rows.row("entries", "third", json!({})).await;
    let batch = json!({"rows": [{"key": "mine", "data": {"n": 1}}, {"data": {"n": 2}}]});
    let first = post(&rows, OWNER, "entries/batch", "a", &batch).await.expect(200);
    let one = json!({"rows": [{"data": {"n": 3}}]});
    let alone = post(&rows, OWNER, "entries/batch", "b", &one).await.expect(200);
    // The actor has the answers in mind still, then storage alone, then a new process.
    rows.delete("entries/other/purge").await.expect(200);
    let again = post(&rows, OWNER, "entries/batch", "a", &batch).await;
    assert_eq!(again.expect(200), first);
    rows.delete("entries/third").await.expect(200);
    rows.delete("entries/third/purge").await.expect(200);
    let rows = rows.restart().await;
    assert_eq!(post(&rows, OWNER, "entries/batch", "a", &batch).await.expect(200), first);
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 3);
    rows.delete("entries/mine/purge").await.expect(200);
    let anew = post(&rows, OWNER, "entries/batch", "a", &batch).await;
    assert!(!anew.headers.contains_key("idempotent-replayed"));
    assert_eq!(post(&rows, OWNER, "entries/batch", "b", &one).await.expect(200), alone);
    let key = alone["results"][0]["row"]["key"].as_str().expect("a key");
    rows.delete(&format!("entries/{key}/purge")).await.expect(200);
    let anew = post(&rows, OWNER, "entries/batch", "b", &one).await;
    assert!(!anew.headers.contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn of_64_at_once_with_one_key_one_creates() {
    let rows = Rows::start().await;
    let body = json!({"data": {}});
    let answers = join_all((0..64).map(|_| post(&rows, OWNER, "entries", "a", &body))).await;
    let first = answers[0].expect(201);
    assert!(answers.iter().all(|answer| answer.expect(201) == first));
    let replays = answers.iter().filter(|one| one.headers.contains_key("idempotent-replayed"));
    assert_eq!(replays.count(), 63);
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 1);
}

#[tokio::test]
async fn keyed_creations_at_once_are_all_done_however_long_their_answers() {
    let rows = Rows::start().await;
    let body = |n: usize| json!({"data": {"n": n, "text": "x".repeat(30_000)}});
    let keys: Vec<String> = (0..120).map(|n| format!("large-{n}")).collect();
    let send = async || {
        let sent = keys.iter().zip(0..);
        join_all(sent.map(async |(key, n)| post(&rows, OWNER, "entries", key, &body(n)).await))
            .await
    };
    let first = send().await;
    let made: Vec<Value> = first.iter().map(|answer| answer.expect(201)).collect();
    // Few of the answers are in the actor's mind by now.
    for (again, made) in send().await.iter().zip(&made) {
        assert_eq!(&again.expect(201), made);
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 120);
    let other = post(&rows, OWNER, "entries", &keys[0], &body(1)).await;
    other.error(ErrorCode::Conflict);
}

#[tokio::test]
async fn keyed_creations_beside_purges_are_all_done() {
    let rows = Rows::start().await;
    let create = async |who: usize| {
        for n in 0..40 {
            let key = format!("{who}-{n}");
            post(&rows, OWNER, "entries", &key, &json!({"data": {"n": n}})).await.expect(201);
        }
    };
    let purge = async |who: usize| {
        for n in 0..15 {
            let key = format!("p{who}-{n}");
            rows.row("others", &key, json!({})).await;
            rows.delete(&format!("others/{key}/purge")).await.expect(200);
        }
    };
    tokio::join!(join_all((0..8).map(create)), join_all((0..48).map(purge)));
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 320);
}

//! Batches: the single call's answer for each entry, or all of them or none.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows, SIBLING};
use crate::harness::Answer;

fn codes(results: &Value) -> Vec<Value> {
    let results = results["results"].as_array().expect("results");
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result["index"], index);
        if let Some(status) = result["error"].get("status") {
            assert_eq!(status, &result["status"]);
            let code = result["error"]["code"].as_str().expect("a code");
            let docs_url = result["error"]["docs_url"].as_str().expect("an address");
            assert!(docs_url.ends_with(&format!("/reference/errors#{code}")), "{docs_url}");
        }
    }
    let code = |result: &Value| result["error"].get("code").unwrap_or(&result["status"]).clone();
    results.iter().map(code).collect()
}

#[tokio::test]
async fn each_entry_has_the_answer_of_the_single_call() {
    let rows = Rows::start().await;
    let large = "x".repeat(65 << 10);
    let entries = json!({"rows": [
        {"key": "a", "data": {"email": "a"}},
        {"key": "b", "data": {"email": " A"}},
        {"key": "a", "data": {"email": "c"}},
        {"data": {"email": 7}},
        {"on": "email", "data": {"email": "A ", "age": 3}},
        {"on": "age", "data": {"email": "x", "age": 3}},
        {"data": {"email": large}},
        {"data": {"email": "d"}},
    ]});
    let answer = rows.post("people/batch", entries).await.expect(200);
    let expected = json!([
        201,
        "unique_conflict",
        200,
        "row_schema_violation",
        200,
        "invalid_request",
        "payload_too_large",
        201
    ]);
    assert_eq!(json!(codes(&answer)), expected);
    assert_eq!(answer["results"][2]["existed"], true);
    assert_eq!(answer["results"][2]["row"]["data"], json!({"email": "a"}));
    assert_eq!(answer["results"][4]["row"]["version"], 2);
    assert!(answer["results"][4].get("existed").is_none());
    assert_eq!(rows.get("people/count").await.expect(200)["count"], 2);

    let keys = json!({"keys": ["a", "none", {"key": "a"}, "count"]});
    let answer = rows.send(OWNER, Method::DELETE, "people/batch", keys).await.expect(200);
    let expected = json!([200, "row_not_found", "row_not_found", "row_not_found"]);
    assert_eq!(json!(codes(&answer)), expected);
    assert!(answer["results"][0]["row"]["deleted_at"].is_string());
}

#[tokio::test]
async fn an_atomic_batch_is_all_or_nothing_and_names_the_entry() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    let bad = json!({"atomic": true, "rows": [
        {"key": "a", "data": {"email": "a"}}, {"key": "b", "data": {}}]});
    let error = rows.post("people/batch", bad).await.error(ErrorCode::RowSchemaViolation);
    assert_eq!(error["details"]["index"], 1);
    rows.get("people/a").await.error(ErrorCode::RowNotFound);
    assert_eq!(rows.events(&since).await, Vec::<Value>::new());
    let good = json!({"atomic": true, "rows": [
        {"key": "a", "data": {"email": "a"}}, {"key": "b", "data": {"email": "b"}}]});
    rows.post("people/batch", good).await.expect(200);
    let stale = json!({"atomic": true, "keys": ["a", {"key": "b", "if_match": 9}]});
    let error = rows.send(OWNER, Method::DELETE, "people/batch", stale).await;
    assert_eq!(error.error(ErrorCode::Conflict)["details"]["current"]["key"], "b");
    rows.get("people/a").await.expect(200);
}

#[tokio::test]
async fn a_key_that_no_row_may_have_spoils_its_own_entry_alone() {
    let rows = Rows::start().await;
    let long = "k".repeat(129);
    let entries = json!([
        {"key": "count", "data": {}}, {"key": "", "data": {}}, {"key": long, "data": {}},
        {"key": "a\nb", "data": {}}, {"key": "a", "data": {}}]);
    let answer = rows.post("entries/batch", json!({"rows": entries})).await.expect(200);
    let bad = "invalid_request";
    assert_eq!(json!(codes(&answer)), json!([bad, bad, bad, bad, 201]));
    let atomic = json!({"rows": [{"key": "b", "data": {}}, {"key": "..", "data": {}}],
        "atomic": true});
    let error = rows.post("entries/batch", atomic).await.error(ErrorCode::InvalidRequest);
    assert_eq!(error["details"]["index"], 1);
    rows.get("entries/b").await.error(ErrorCode::RowNotFound);
}

#[tokio::test]
async fn a_batch_is_bounded_and_strict() {
    let rows = Rows::start().await;
    let many = |n: usize| json!({"rows": vec![json!({"data": {}}); n]});
    rows.post("entries/batch", many(501)).await.error(ErrorCode::InvalidRequest);
    // Of very many no more are kept than any server takes.
    let keys = vec![""; 100_001];
    let refused = rows.send(OWNER, Method::DELETE, "entries/batch", json!({"keys": keys})).await;
    let message = refused.error(ErrorCode::InvalidRequest)["message"].clone();
    assert!(message.as_str().unwrap().contains("has more than 100000 entries"), "{message}");
    assert_eq!(codes(&rows.post("entries/batch", many(500)).await.expect(200)).len(), 500);
    assert_eq!(codes(&rows.post("entries/batch", many(0)).await.expect(200)).len(), 0);
    let keys = json!({"keys": vec!["k"; 501]});
    let refused = rows.send(OWNER, Method::DELETE, "entries/batch", keys).await;
    refused.error(ErrorCode::InvalidRequest);
    let huge = rows.request(OWNER, Method::POST, "entries/batch");
    let huge = huge.header("content-type", "application/json").body(vec![b' '; (8 << 20) + 1]);
    Answer::of(huge).await.error(ErrorCode::PayloadTooLarge);
    for body in [
        json!({"rows": [{"data": {}}, {"data": {}, "typo": 1}]}),
        json!({"rows": [{"key": "k", "on": "n", "data": {}}]}),
        json!({"rows": {}}),
        json!({"rows": [["k", null, {}]]}),
        json!({}),
    ] {
        rows.post("entries/batch", body).await.error(ErrorCode::InvalidRequest);
    }
    for body in [json!({"keys": [1]}), json!({"keys": [{"key": "k", "version": 1}]})] {
        let refused = rows.send(OWNER, Method::DELETE, "entries/batch", body).await;
        refused.error(ErrorCode::InvalidRequest);
    }
    rows.post("none/batch", many(1)).await.error(ErrorCode::CollectionNotFound);
    rows.get("entries/batch").await.error(ErrorCode::MethodNotAllowed);
}

#[tokio::test]
async fn a_batch_tells_no_more_of_hidden_rows_than_the_single_call() {
    let rows = Rows::start().await;
    rows.row("own", "k", json!({"slot": "s"})).await;
    let write = json!({"rows": [
        {"key": "k", "data": {}}, {"on": "slot", "data": {"slot": "S"}}, {"data": {"slot": "t"}}]});
    let answer = rows.send(SIBLING, Method::POST, "own/batch", write).await.expect(200);
    assert_eq!(json!(codes(&answer)), json!(["row_not_found", "row_not_found", 201]));
    let keys = json!({"keys": ["k", "absent", {"key": "k", "if_match": 9}]});
    let answer = rows.send(SIBLING, Method::DELETE, "own/batch", keys).await.expect(200);
    let results = answer["results"].as_array().expect("results");
    assert!(results.iter().all(|result| result["error"] == results[0]["error"]), "{answer}");
    assert_eq!(results[0]["error"]["code"], "row_not_found");
}

#[tokio::test]
async fn an_entry_that_is_too_large_is_so_for_everybody() {
    let rows = Rows::start().await;
    let large = "x".repeat(65 << 10);
    let create = json!({"data": {"n": large}});
    let upsert = json!({"on": "n", "data": {"n": large}});
    for entry in [create, upsert] {
        // The challenge and the permission come behind the size.
        let batch = json!({"rows": [entry]});
        let alone = rows.post("guarded", entry).await;
        alone.error(ErrorCode::PayloadTooLarge);
        let answer = rows.post("guarded/batch", batch).await.expect(200);
        assert_eq!(json!(codes(&answer)), json!(["payload_too_large"]));
    }
}

#[tokio::test]
async fn a_batch_answers_little_more_than_it_brought() {
    let rows = Rows::start().await;
    let large = "x".repeat(60 << 10);
    rows.row("entries", "k", json!({"text": large})).await;
    let entry = json!({"key": "k", "data": {}});
    let many = json!({"rows": vec![&entry; 100]});
    let answer = rows.post("entries/batch", many).await.expect(200);
    let codes = codes(&answer);
    let found = codes.iter().filter(|code| **code == 200).count();
    assert!((17..=19).contains(&found), "{found} times 60 KiB is about 1 MiB");
    assert_eq!(codes[found..], vec!["payload_too_large"; 100 - found]);
    let hint = answer["results"][found]["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("in another batch"), "the same again would be told the same: {hint}");
    // Where none stands, there are no others.
    let atomic = json!({"rows": vec![&entry; 100], "atomic": true});
    rows.post("entries/batch", atomic).await.error(ErrorCode::PayloadTooLarge);
    // What is brought along is no gain.
    let row = |n: usize| json!({"key": format!("k{n}"), "data": {"text": large}});
    let rich = json!({"rows": (0..40).map(row).collect::<Vec<_>>(), "atomic": true});
    rows.post("entries/batch", rich).await.expect(200);
}

#[tokio::test]
async fn refusals_of_a_batch_quote_so_many_bytes_and_no_more() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({"text": "x".repeat(60_000)})).await;
    let stale: Vec<_> = (0..500).map(|_| json!({"key": "k", "if_match": 9})).collect();
    let answer = rows.send(OWNER, Method::DELETE, "entries/batch", json!({"keys": stale})).await;
    assert!(answer.text.len() < 2 << 20, "{} bytes", answer.text.len());
    let results = answer.expect(200);
    assert_eq!(codes(&results), vec!["conflict"; 500]);
    assert_eq!(results["results"][0]["error"]["details"]["current"]["version"], 1);
    assert!(results["results"][499]["error"].get("details").is_none());
    assert_eq!(
        results["results"][499]["error"]["message"],
        results["results"][0]["error"]["message"]
    );

    // What an entry names is quoted once, and in short.
    let strange: Vec<_> =
        (0..100).map(|_| json!({"on": "\u{7f}".repeat(15_000), "data": {"n": 1}})).collect();
    let answer = rows.post("entries/batch", json!({"rows": strange})).await;
    assert!(answer.text.len() < 200_000, "{} bytes", answer.text.len());
    assert_eq!(codes(&answer.expect(200)), vec!["invalid_request"; 100]);
}

#[tokio::test]
async fn a_long_answer_of_a_batch_leaves_in_pieces_and_is_the_same() {
    let rows = Rows::start().await;
    rows.row("entries", "big", json!({"text": "x".repeat(40_000)})).await;
    let entry = json!({"key": "big", "data": {}});
    let short = rows.post("entries/batch", json!({"rows": [entry.clone()]})).await;
    short.header("content-length");
    let long = rows.post("entries/batch", json!({"rows": vec![entry; 12]})).await;
    assert!(!long.headers.contains_key("content-length"), "made while it is read");
    let results = long.expect(200)["results"].as_array().cloned().expect("results");
    let once = &short.expect(200)["results"][0];
    assert_eq!(once["existed"], true);
    for (index, result) in results.iter().enumerate() {
        assert_eq!((&result["index"], &result["row"]), (&json!(index), &once["row"]));
    }
    assert_eq!(results.len(), 12);
}

//! The version that a write has seen may be named in the header, the query or the body.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};
use crate::harness::Answer;

async fn patch(rows: &Rows, query: &str, header: Option<&str>, mut body: Value) -> Answer {
    body["data"] = json!({"n": 1});
    let mut request = rows.request(OWNER, Method::PATCH, &format!("entries/k{query}")).json(&body);
    if let Some(header) = header {
        request = request.header("if-match", header);
    }
    Answer::of(request).await
}

#[tokio::test]
async fn an_update_is_held_to_the_version_wherever_it_is_named() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    for (query, header, body) in [
        ("?if_match=9", None, json!({})),
        ("", Some("\"9\""), json!({})),
        ("", None, json!({"if_match": 9})),
    ] {
        let error = patch(&rows, query, header, body).await.error(ErrorCode::Conflict);
        assert_eq!(error["details"]["current"]["version"], 1);
    }
    let (of_header, of_query, of_body) =
        ("the header If-Match", "the query's `if_match`", "the body's `if_match`");
    for (query, header, body, named) in [
        ("?if_match=1", Some("\"2\""), json!({}), [of_header, of_query]),
        ("?if_match=1", None, json!({"if_match": 2}), [of_query, of_body]),
        ("", Some("1"), json!({"if_match": 2}), [of_header, of_body]),
        ("?if_match=1", Some("1"), json!({"if_match": 2}), [of_header, of_body]),
    ] {
        let error = patch(&rows, query, header, body).await.error(ErrorCode::InvalidRequest);
        let message = format!("{} name different versions", named.join(" and "));
        assert_eq!(error["message"], message);
    }
    for query in ["?if_match=x", "?if_match=9223372036854775808", "?if_match=1&if_match=1"] {
        patch(&rows, query, None, json!({})).await.error(ErrorCode::InvalidRequest);
    }
    let beyond = json!({"if_match": 9_223_372_036_854_775_808_u64});
    patch(&rows, "", None, beyond).await.error(ErrorCode::InvalidRequest);
    let all = patch(&rows, "?if_match=1", Some("\"1\""), json!({"if_match": 1})).await;
    assert_eq!(all.expect(200)["version"], 2);
}

#[tokio::test]
async fn the_header_is_a_list_of_entity_tags() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let beyond = "9007199254740993";
    for header in ["\"2\", \"99\"", "W/\"1\"", "\"abc\"", "\"01\"", "\"a,1\"", beyond] {
        let error = patch(&rows, "", Some(header), json!({})).await.error(ErrorCode::Conflict);
        assert_eq!(error["details"]["current"]["version"], 1, "{header}");
    }
    for header in ["abc", "+1", "01", "\"1\" \"2\"", "\"1", "\"1\",", "", "*, \"1\""] {
        patch(&rows, "", Some(header), json!({})).await.error(ErrorCode::InvalidRequest);
    }
    for (version, header) in [(2, "\"1\", \"99\""), (3, "W/\"2\",\"2\""), (4, "*"), (5, "4")] {
        let done = patch(&rows, "", Some(header), json!({})).await.expect(200);
        assert_eq!(done["version"], version, "{header}");
    }
    let lines = rows.request(OWNER, Method::PATCH, "entries/k").json(&json!({"data": {}}));
    let lines = lines.header("if-match", "\"7\"").header("if-match", "\"5\"");
    Answer::of(lines).await.expect(200);
    let error = patch(&rows, &format!("?if_match={beyond}"), None, json!({})).await;
    let error = error.error(ErrorCode::Conflict);
    assert!(error["message"].as_str().expect("text").contains(beyond), "{error}");
}

#[tokio::test]
async fn a_delete_takes_the_version_in_its_body_too_and_no_other_member() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let delete = |query: &'static str, body: Value| {
        rows.send(
            OWNER,
            Method::DELETE,
            if query.is_empty() { "entries/k" } else { "entries/k?if_match=2" },
            body,
        )
    };
    delete("", json!({"if_match": 9})).await.error(ErrorCode::Conflict);
    delete("", json!({"version": 1})).await.error(ErrorCode::InvalidRequest);
    delete("", json!({"if_match": "1"})).await.error(ErrorCode::InvalidRequest);
    delete("2", json!({"if_match": 1})).await.error(ErrorCode::InvalidRequest);
    assert_eq!(delete("", json!({"if_match": 1})).await.expect(200)["version"], 2);
}

#[tokio::test]
async fn a_purge_is_held_to_the_version_wherever_the_row_is() {
    let rows = Rows::start().await;
    let purge = async |query: &str, header: Option<&str>, body: Value| {
        let path = format!("entries/k/purge{query}");
        let mut request = rows.request(OWNER, Method::DELETE, &path).json(&body);
        if let Some(header) = header {
            request = request.header("if-match", header);
        }
        Answer::of(request).await
    };
    rows.row("entries", "k", json!({})).await;
    for trashed in [false, true] {
        if trashed {
            rows.delete("entries/k").await.expect(200);
        }
        for (query, header, body) in [
            ("?if_match=9", None, json!({})),
            ("", Some("\"9\""), json!({})),
            ("", None, json!({"if_match": 9})),
        ] {
            let error = purge(query, header, body).await.error(ErrorCode::Conflict);
            let current = error["details"]["current"]["version"].as_u64();
            assert_eq!(current, (!trashed).then_some(1));
        }
        for (query, header, body) in [
            ("?if_match=1", Some("\"2\""), json!({})),
            ("", None, json!({"version": 1})),
            ("", None, json!({"if_match": "1"})),
        ] {
            purge(query, header, body).await.error(ErrorCode::InvalidRequest);
        }
    }
    let gone = purge("?if_match=2", Some("\"2\""), json!({"if_match": 2})).await;
    assert_eq!(gone.expect(200)["version"], 3);
}

#[tokio::test]
async fn a_restore_takes_no_member() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    rows.delete("entries/k").await.expect(200);
    let path = "entries/k/restore";
    rows.post(path, json!({"if_match": 2})).await.error(ErrorCode::InvalidRequest);
    rows.post(path, json!({})).await.expect(200);
}

#[tokio::test]
async fn where_no_condition_is_known_none_is_passed_over() {
    let rows = Rows::start().await;
    rows.row("people", "a", json!({"email": "a"})).await;
    let upsert = rows.request(OWNER, Method::POST, "people").header("if-match", "\"1\"");
    let upsert = upsert.json(&json!({"on": "email", "data": {"email": "a", "age": 1}}));
    let error = Answer::of(upsert).await.error(ErrorCode::InvalidRequest);
    assert!(error["message"].as_str().unwrap().contains("If-Match"), "{error}");
    assert_eq!(rows.get("people/a").await.expect(200)["version"], 1);
    // To read is to change nothing.
    let read = rows.request(OWNER, Method::GET, "people/a").header("if-match", "\"9\"");
    Answer::of(read).await.expect(200);
}

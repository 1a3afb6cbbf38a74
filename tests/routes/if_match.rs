//! The version that a write has seen may be named in the header, the query or the body.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};
use crate::harness::{Answer, START, TestServer, apps::open_collection};

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
    for header in ["abc", "+1", "01", "\"1\" \"2\"", "\"1", ",", " , ,", "", "*, \"1\""] {
        patch(&rows, "", Some(header), json!({})).await.error(ErrorCode::InvalidRequest);
    }
    for (version, header) in
        [(2, "\"1\", \"99\""), (3, "W/\"2\",\"2\""), (4, "*"), (5, "4"), (6, ", \"7\" ,,\"5\",")]
    {
        let done = patch(&rows, "", Some(header), json!({})).await.expect(200);
        assert_eq!(done["version"], version, "{header}");
    }
    let lines = rows.request(OWNER, Method::PATCH, "entries/k").json(&json!({"data": {}}));
    let lines = lines.header("if-match", "\"7\"").header("if-match", "\"6\"");
    Answer::of(lines).await.expect(200);
    let error = patch(&rows, &format!("?if_match={beyond}"), None, json!({})).await;
    let error = error.error(ErrorCode::Conflict);
    assert!(error["message"].as_str().expect("text").contains(beyond), "{error}");
}

#[tokio::test]
async fn a_header_that_nothing_meets_is_told_why() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let read = rows.get("entries/k").await;
    let tag = read.header("etag").to_owned();
    // As a proxy leaves it that compresses.
    let weak = format!("W/{tag}");
    for (header, said) in [
        (&*weak, "a weak tag (W/) is met by nothing"),
        (&*weak, "a proxy that compresses makes tags weak"),
        (&*weak, "as \"1\" or in `if_match`; the row's version is 1"),
        (
            "\"\"",
            "If-Match: \"\" is no version in quotes, and no row's ETag; the row's version is 1",
        ),
        ("W/\"1\", \"abc\"", "If-Match: \"abc\" is no version"),
        ("\"9\"", "If-Match is 9, but the row's version is 1"),
        ("\"1-0\"", "If-Match is version 1 of another row"),
    ] {
        let error = patch(&rows, "", Some(header), json!({})).await.error(ErrorCode::Conflict);
        let message = error["message"].as_str().expect("text");
        assert!(message.contains(said), "{header}: {message}");
    }
    for (query, body) in [("?if_match=9", json!({})), ("", json!({"if_match": 9}))] {
        let error = patch(&rows, query, None, body).await.error(ErrorCode::Conflict);
        assert_eq!(error["message"], "`if_match` is 9, but the row's version is 1");
    }
    let ask = |header: &str| {
        Answer::of(rows.request(OWNER, Method::GET, "entries/k").header("if-match", header))
    };
    for (header, said) in [(&*weak, "a weak tag (W/)"), ("\"abc\"", "does not name what is there")]
    {
        let error = ask(header).await.error(ErrorCode::Conflict);
        let message = error["message"].as_str().expect("text");
        assert!(message.contains(said) && message.ends_with(&tag), "{header}: {message}");
    }
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
            let refused = purge(query, header, body).await;
            let error = match trashed {
                true => refused.error_of_its_own(ErrorCode::Conflict),
                false => refused.error(ErrorCode::Conflict),
            };
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
    for (method, path, body) in [
        (Method::POST, "people", json!({"data": {"email": "b"}})),
        (Method::PATCH, "people/a", json!({"data": {}})),
        (Method::DELETE, "people/a", json!({})),
    ] {
        let request = rows.request(OWNER, method, path).header("if-none-match", "*").json(&body);
        let error = Answer::of(request).await.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains("If-None-Match"), "{error}");
    }
    assert_eq!(rows.get("people/count").await.expect(200)["count"], 1);
}

#[tokio::test]
async fn what_is_read_is_held_to_if_match_too() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let app = format!("/v1/apps/{}", rows.app);
    let row = rows.path("entries/k");
    for path in [row.clone(), rows.path("entries"), app.clone(), format!("{app}/members")] {
        let tag = rows.server.get_as(rows.key(OWNER), &path).await.header("etag").to_owned();
        for method in [Method::GET, Method::HEAD] {
            let ask = |tag: &str| {
                let request = rows.server.request(method.clone(), &path);
                Answer::of(request.bearer_auth(rows.key(OWNER)).header("if-match", tag))
            };
            for wrong in ["\"9\"", "\"0\"", &format!("W/{tag}")] {
                assert_eq!(ask(wrong).await.status, 409, "{method} {path} {wrong}");
            }
            for right in [&*tag, "*", &format!("\"9\", {tag}")] {
                assert_eq!(ask(right).await.status, 200, "{method} {path} {right}");
            }
        }
        let ask = || rows.server.call(Method::GET, &path, rows.key(OWNER));
        let both = ask().header("if-match", &tag).header("if-none-match", &tag);
        assert_eq!(Answer::of(both).await.status, 304, "{path}");
        let both = ask().header("if-match", "\"9\"").header("if-none-match", &tag);
        Answer::of(both).await.error(ErrorCode::Conflict);
        Answer::of(ask().header("if-match", "nine")).await.error(ErrorCode::InvalidRequest);
    }
    // As a write takes it, a bare version stands for the row.
    for version in ["1", "\"1\""] {
        let read = rows.request(OWNER, Method::GET, "entries/k").header("if-match", version);
        Answer::of(read).await.expect(200);
    }
}

#[tokio::test]
async fn a_tag_names_the_row_of_one_app_and_time() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let manifest = json!({"collections": {"c": open_collection()}});
    let (mut tags, mut lists, mut trashed) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..2 {
        server.state().clock.set(START.plus_seconds(round));
        let body = json!({"manifest": manifest, "slug": "twice",
            "input_data": {"c": [{"key": "k", "data": {}}, {"key": "t", "data": {}}]}});
        let app = server.deploy(&owner, body).await;
        let rows = "/v1/apps/twice/collections/c";
        let row = server.get_as(&owner, &format!("{rows}/k")).await;
        assert_eq!(row.expect(200)["version"], 1);
        tags.push(row.header("etag").to_owned());
        server.send(Method::DELETE, &owner, &format!("{rows}/t"), &json!({})).await.expect(200);
        let path = format!("{rows}/t?include_deleted=true");
        trashed.push(server.get_as(&owner, &path).await.header("etag").to_owned());
        lists.push(server.get_as(&owner, rows).await.header("etag").to_owned());
        if round == 0 {
            for (method, below) in [(Method::DELETE, ""), (Method::POST, "/purge")] {
                let answer = server.send(method, &owner, &app.path(below), &Value::Null).await;
                assert_eq!(answer.status, 204, "{}", answer.text);
            }
        }
    }
    let rows = "/v1/apps/twice/collections/c";
    let ask = |method: Method, path: String, name: &str, tag: &str| {
        let request = server.call(method, &path, &owner).header(name, tag);
        Answer::of(request.json(&json!({})))
    };
    for (path, tags) in [(format!("{rows}/k"), &tags), (rows.to_owned(), &lists)] {
        let asked = async |tag| ask(Method::GET, path.clone(), "if-none-match", tag).await.status;
        assert_eq!((asked(&tags[0]).await, asked(&tags[1]).await), (200, 304), "{path} {tags:?}");
    }
    let purge = format!("{rows}/t/purge");
    let refused = ask(Method::DELETE, purge.clone(), "if-match", &trashed[0]).await;
    let hint = refused.error_of_its_own(ErrorCode::Conflict)["hint"].to_string();
    assert!(hint.contains("include_deleted=true"), "{hint}");
    ask(Method::DELETE, purge, "if-match", &trashed[1]).await.expect(200);
    let path = format!("{rows}/k");
    ask(Method::DELETE, path.clone(), "if-match", &tags[0]).await.error(ErrorCode::Conflict);
    // Beside the same version as a number, the whole tag still counts.
    let both = format!("{path}?if_match=1");
    ask(Method::DELETE, both.clone(), "if-match", &tags[0]).await.error(ErrorCode::Conflict);
    let other = format!("{path}?if_match=2");
    ask(Method::DELETE, other, "if-match", &tags[1]).await.error(ErrorCode::InvalidRequest);
    ask(Method::DELETE, both, "if-match", &tags[1]).await.expect(200);
}

#[tokio::test]
async fn a_conflict_quotes_the_row_as_it_was_written() {
    let rows = Rows::start().await;
    let data = r#"{"z":123456789012345678901,"a":9007199254740993.0,"m":[-0,1E2,1e-400]}"#;
    let create = rows
        .request(OWNER, Method::POST, "entries")
        .body(format!(r#"{{"key":"k","data":{data}}}"#));
    Answer::of(create.header("content-type", "application/json")).await.expect(201);
    let quotes = |answer: &Answer, before: &str| {
        let current = format!(r#""details":{{{before}"current":{{"key":"k","version":1,"#);
        answer.text.contains(&current) && answer.text.contains(&format!(r#""data":{data}}}}}"#))
    };
    let body = json!({"data": {}, "if_match": 9});
    for (method, path, body) in [
        (Method::PATCH, "entries/k", body),
        (Method::DELETE, "entries/k", json!({"if_match": 9})),
        (Method::DELETE, "entries/batch", json!({"keys": [{"key": "k", "if_match": 9}]})),
    ] {
        let answer = rows.send(OWNER, method, path, body).await;
        assert!(quotes(&answer, ""), "{path}: {}", answer.text);
    }
    let whole = json!({"atomic": true, "keys": [{"key": "k", "if_match": 9}]});
    let refused = rows.send(OWNER, Method::DELETE, "entries/batch", whole).await;
    assert!(quotes(&refused, r#""index":0,"#), "{}", refused.text);
}

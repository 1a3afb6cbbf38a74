//! Rows one by one: create, upsert, read, list, update, delete, restore, purge, count.

use reqwest::Method;
use rookery_domain::{ErrorCode, if_match};
use serde_json::json;

use super::rows::{OWNER, Rows, SIBLING, STRANGER};
use crate::harness::{Answer, START, forged, keys, redact};

#[tokio::test]
async fn a_new_row_is_201_with_its_record_its_place_and_its_tag() {
    let rows = Rows::start().await;
    let answer = rows.post("entries", json!({"data": {"title": "a"}})).await;
    let record = answer.expect(201);
    let key = record["key"].as_str().expect("a key");
    assert!(key.starts_with("row_"), "{key}");
    assert_eq!(answer.header("location"), rows.path(&format!("entries/{key}")));
    assert_eq!(answer.header("etag"), if_match::etag(1, START));
    assert_eq!(answer.header("content-type"), "application/json");
    let expected = json!({
        "key": "[row]", "version": 1, "data": {"title": "a"},
        "creator": {"kind": "agent", "id": "[agt]"}, "editor": {"kind": "agent", "id": "[agt]"},
        "created_at": "[time]", "updated_at": "[time]",
    });
    assert_eq!(redact(record.clone()), expected);
    let found = Answer::of(
        rows.server.request(Method::GET, answer.header("location")).bearer_auth(rows.key(SIBLING)),
    );
    assert_eq!(found.await.expect(200), record);
}

#[tokio::test]
async fn data_keeps_its_members_in_order_and_its_numbers_as_written() {
    let rows = Rows::start().await;
    let body = "{\"key\":\"k\", \"data\": {\"z\": 1.50, \"a\" : [ 1e2, \"\\u00e9\" ]}}";
    let request = rows.request(OWNER, Method::POST, "entries");
    let request = request.header("content-type", "application/json").body(body);
    Answer::of(request).await.expect(201);
    let text = rows.get("entries/k").await.text;
    assert!(text.contains("\"data\":{\"z\":1.50,\"a\":[1e2,\"é\"]}"), "{text}");
}

#[tokio::test]
async fn a_keyed_create_answers_the_row_that_is_there() {
    let rows = Rows::start().await;
    let first = rows.row("entries", "k/1 é", json!({"n": 1})).await;
    let again = rows.post("entries", json!({"key": "k/1 é", "data": {"n": 2}})).await;
    assert_eq!(again.expect(200), first);
    assert_eq!(again.header("row-existed"), "true");
    assert!(!again.headers.contains_key("location"));
    assert_eq!(rows.get("entries/k%2F1%20%C3%A9").await.expect(200), first);
}

#[tokio::test]
async fn keys_follow_their_rules() {
    let rows = Rows::start().await;
    let long = "é".repeat(128);
    rows.row("entries", &long, json!({})).await;
    let longer = "é".repeat(129);
    for key in ["", "batch", "count", "deleted", "retention", ".", "..", "a\nb", "\u{7f}", &longer]
    {
        let error = rows.post("entries", json!({"key": key, "data": {}})).await;
        error.error(ErrorCode::InvalidRequest);
    }
    // The last is no text at all, so it names nothing.
    for path in
        ["entries/%00", "entries/%00?include_deleted=true", "entries/nothing", "entries/%ff"]
    {
        rows.get(path).await.error(ErrorCode::RowNotFound);
    }
    rows.get("nothing").await.error(ErrorCode::CollectionNotFound);
    rows.get("%00/k").await.error(ErrorCode::CollectionNotFound);
}

#[tokio::test]
async fn an_upsert_creates_and_then_merges() {
    let rows = Rows::start().await;
    let upsert = |data| json!({"on": "email", "data": data});
    let made = rows.post("people", upsert(json!({"email": "A@x.org", "age": 1}))).await;
    let record = made.expect(201);
    assert!(made.headers.contains_key("location"));
    let merged = rows.post("people", upsert(json!({"email": " a@X.org ", "age": 2}))).await;
    let after = merged.expect(200);
    assert_eq!((&after["key"], &after["version"]), (&record["key"], &json!(2)));
    assert_eq!(after["data"], json!({"email": " a@X.org ", "age": 2}));
    assert!(!merged.headers.contains_key("row-existed"));
    for wrong in [
        json!({"on": "age", "data": {"email": "b"}}),
        json!({"on": "email", "data": {"age": 3}}),
        json!({"on": "email", "key": "k", "data": {"email": "b"}}),
    ] {
        rows.post("people", wrong).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn bodies_are_strict() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({})).await;
    let deep = format!("{{\"data\":{{\"a\":{}{}}}}}", "[".repeat(64), "]".repeat(64));
    let bomb = format!("{{\"data\":{}", "[".repeat(200_000));
    let cases = [
        "",
        "[]",
        "[\"k\",null,{}]",
        "[{},null,false]",
        "{}",
        "{\"data\":1}",
        "{\"data\":null}",
        "{\"data\":{},\"kye\":1}",
        "{\"data\":{\"a\":1,\"a\":2}}",
        "{\"data\":{\"a\":\"\\u0000\"}}",
        "{\"data\":{\"a\":\"\\ud800\"}}",
        "{\"data\":{\"a\":1e400}}",
        "{\"data\":{}} x",
        deep.as_str(),
        bomb.as_str(),
    ];
    for body in cases {
        for (method, path) in [(Method::POST, "entries"), (Method::PATCH, "entries/k")] {
            let request = rows.request(OWNER, method, path);
            let request = request.header("content-type", "application/json");
            Answer::of(request.body(body.to_owned())).await.error(ErrorCode::InvalidRequest);
        }
    }
    let text = rows.request(OWNER, Method::POST, "entries").header("content-type", "text/plain");
    Answer::of(text.body("{\"data\":{}}")).await.error(ErrorCode::InvalidRequest);
    assert_eq!(rows.get("entries/count").await.expect(200), json!({"count": 1}));
}

#[tokio::test]
async fn a_row_over_its_cap_is_too_large_alone_and_after_a_merge() {
    let rows = Rows::start().await;
    let half = "x".repeat(40 << 10);
    let whole = "x".repeat((64 << 10) - r#"{"a":""}"#.len());
    rows.row("entries", "whole", json!({"a": whole})).await;
    let more = json!({"data": {"a": format!("{whole}x")}});
    rows.post("entries", more).await.error(ErrorCode::PayloadTooLarge);
    rows.row("entries", "k", json!({"a": half})).await;
    let merged = rows.patch("entries/k", json!({"data": {"b": half}})).await;
    merged.error(ErrorCode::PayloadTooLarge);
    rows.patch("entries/k", json!({"data": {"a": null, "b": half}})).await.expect(200);
}

#[tokio::test]
async fn an_update_merges_or_replaces_and_checks_the_version() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({"a": {"x": 1, "y": 2}, "b": 1})).await;
    let patch = json!({"data": {"a": {"x": null, "z": 3}}});
    let merged = rows.send(SIBLING, Method::PATCH, "entries/k", patch).await;
    let record = merged.expect(200);
    assert!(merged.header("etag").starts_with("\"2-"), "{}", merged.header("etag"));
    assert_eq!(record["data"], json!({"a": {"y": 2, "z": 3}, "b": 1}));
    assert_ne!(record["creator"], record["editor"]);
    let replace = json!({"data": {"c": 1}, "replace": true, "if_match": 2});
    let replaced = rows.patch("entries/k", replace).await.expect(200);
    assert_eq!((&replaced["data"], &replaced["version"]), (&json!({"c": 1}), &json!(3)));
    let stale = rows.patch("entries/k", json!({"data": {}, "if_match": 2})).await;
    assert_eq!(stale.error(ErrorCode::Conflict)["details"]["current"], replaced);
    for version in [json!(0), json!(4_294_967_296_u64 + 3)] {
        let body = json!({"data": {}, "if_match": version});
        rows.patch("entries/k", body).await.error(ErrorCode::Conflict);
    }
    rows.patch("entries/k", json!({"data": {}, "if_match": -1}))
        .await
        .error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn what_a_patch_does_not_name_stays_as_it_was_written() {
    let rows = Rows::start().await;
    let kept = r#""id":18446744073709551616,"pi":3.14159265358979323846264338,"z":1E2"#;
    let create = format!(r#"{{"key":"k","data":{{{kept},"in":{{{kept},"gone":1}},"n":1}}}}"#);
    let send = async |method, path: &str, body: String| {
        let request = rows.request(OWNER, method, path).header("content-type", "application/json");
        Answer::of(request.body(body)).await
    };
    send(Method::POST, "entries", create).await.expect(201);
    let patch = r#"{"data":{"n":2.50,"in":{"gone":null,"new":1.0e1},"a":{"x":null}}}"#.to_owned();
    let answer = send(Method::PATCH, "entries/k", patch).await;
    answer.expect(200);
    let data = format!(r#""data":{{{kept},"in":{{{kept},"new":1.0e1}},"n":2.50,"a":{{}}}}"#);
    assert!(answer.text.contains(&data), "{}", answer.text);
    assert_eq!(rows.get("entries/k").await.text, answer.text);
}

#[tokio::test]
async fn a_deleted_row_is_gone_restorable_and_made_anew_with_the_next_version() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({"n": 1})).await;
    rows.delete("entries/k?if_match=2").await.error(ErrorCode::Conflict);
    let deleted = rows.delete("entries/k?if_match=1").await.expect(200);
    assert_eq!(deleted["version"], 2);
    assert!(deleted["deleted_at"].is_string());
    rows.delete("entries/k").await.error(ErrorCode::RowNotFound);
    rows.get("entries/k").await.error(ErrorCode::RowNotFound);
    let trashed = rows.get("entries/k?include_deleted=true").await.expect(200);
    assert_eq!(trashed, deleted);
    let trash = rows.get("entries/deleted").await.expect(200);
    assert_eq!(trash, json!({"items": [deleted], "next_cursor": null}));

    let restored = rows.post("entries/k/restore", json!({})).await.expect(200);
    assert_eq!((&restored["version"], &restored["data"]), (&json!(3), &json!({"n": 1})));
    assert_eq!(rows.post("entries/k/restore", json!({})).await.expect(200), restored);
    rows.delete("entries/k").await.expect(200);
    assert_eq!(rows.row("entries", "k", json!({"n": 2})).await["version"], 5);
    assert_eq!(rows.get("entries/deleted").await.expect(200)["items"], json!([]));
    rows.post("entries/absent/restore", json!({})).await.error(ErrorCode::RowNotFound);
}

#[tokio::test]
async fn restore_answers_unique_conflict_once_the_value_is_taken_again() {
    let rows = Rows::start().await;
    rows.row("people", "old", json!({"email": "a"})).await;
    rows.delete("people/old").await.expect(200);
    rows.row("people", "new", json!({"email": " A "})).await;
    let refused = rows.post("people/old/restore", json!({})).await;
    let error = refused.error_of_its_own(ErrorCode::UniqueConflict);
    assert_eq!(error["details"], json!({"field": "email"}));
    assert!(error["hint"].as_str().is_some_and(|hint| hint.ends_with("then restore.")), "{error}");
    assert!(!refused.text.contains("new"), "{}", refused.text);
}

#[tokio::test]
async fn a_purge_leaves_a_tombstone_and_nothing_else() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    rows.row("log", "k", json!({"n": 1, "secret": "canary"})).await;
    let left = rows.delete("log/k/purge").await.expect(200);
    assert_eq!((&left["key"], &left["version"]), (&json!("k"), &json!(2)));
    assert_eq!(left.as_object().expect("a record").len(), 3);
    rows.delete("log/k/purge").await.error(ErrorCode::RowNotFound);
    rows.post("log/k/restore", json!({})).await.error(ErrorCode::RowNotFound);
    rows.get("log/k?include_deleted=true").await.error(ErrorCode::RowNotFound);
    let events = rows.events(&since).await;
    let kinds: Vec<_> = events.iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["row.created", "row.purged"]);
    assert!(!json!(events).to_string().contains("canary"));
    rows.row("entries", "t", json!({})).await;
    rows.delete("entries/t").await.expect(200);
    rows.delete("entries/t/purge").await.expect(200);
    assert_eq!(rows.get("entries/deleted").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn append_only_rows_can_be_created_and_nothing_else() {
    let rows = Rows::start().await;
    rows.row("log", "k", json!({"n": 1})).await;
    rows.patch("log/k", json!({"data": {}})).await.error(ErrorCode::AppendOnly);
    rows.delete("log/k").await.error(ErrorCode::AppendOnly);
    let upsert = json!({"on": "n", "data": {"n": 1}});
    rows.post("log", upsert.clone()).await.error(ErrorCode::AppendOnly);
    let batch = rows.post("log/batch", json!({"rows": [upsert]})).await.expect(200);
    assert_eq!(batch["results"][0]["error"]["code"], "append_only");
    let batch = rows.send(OWNER, Method::DELETE, "log/batch", json!({"keys": ["k"]})).await;
    assert_eq!(batch.expect(200)["results"][0]["error"]["code"], "append_only");
}

#[tokio::test]
async fn relations_set_by_the_writer_change_by_the_creator_only() {
    let rows = Rows::start().await;
    rows.row("linked", "k", json!({"parent": "a"})).await;
    let change = json!({"data": {"parent": "b"}});
    let refused = rows.send(SIBLING, Method::PATCH, "linked/k", change.clone()).await;
    refused.error(ErrorCode::RelationSetForbidden);
    let same = json!({"data": {"parent": "a", "note": 1}});
    rows.send(SIBLING, Method::PATCH, "linked/k", same).await.expect(200);
    rows.patch("linked/k", change).await.expect(200);
}

#[tokio::test]
async fn a_list_pages_filters_sorts_and_refuses_foreign_cursors() {
    let rows = Rows::start().await;
    for n in 0..5 {
        rows.row("entries", &format!("k{n}"), json!({"n": n, "even": n % 2 == 0})).await;
        rows.pass_seconds(1);
    }
    let first = rows.get("entries?limit=2").await.expect(200);
    assert_eq!(keys(&first), ["k0", "k1"]);
    let cursor = first["next_cursor"].as_str().expect("a cursor").to_owned();
    rows.row("entries", "k5", json!({"n": 5})).await;
    let second = rows.get(&format!("entries?limit=4&cursor={cursor}")).await.expect(200);
    assert_eq!(keys(&second), ["k2", "k3", "k4", "k5"]);
    assert_eq!(second["next_cursor"], json!(null));
    assert_eq!(second["feed_cursor"], first["feed_cursor"]);

    let filter = "entries?filter=%7B%22even%22%3Atrue%2C%22n%22%3A%7B%22gte%22%3A2%7D%7D&sort=-n";
    assert_eq!(keys(&rows.get(filter).await.expect(200)), ["k4", "k2"]);
    // `{"not": {"not": ...}}`, each object a level.
    let nested = |levels: usize| {
        let open = "%7B%22not%22%3A".repeat(levels - 1);
        format!("entries?filter={open}%7B%7D{}", "%7D".repeat(levels - 1))
    };
    rows.get(&nested(8)).await.expect(200);
    rows.get(&nested(9)).await.error(ErrorCode::InvalidRequest);
    let sorted = rows.get("entries?sort=-created_at&limit=2").await.expect(200);
    assert_eq!(keys(&sorted), ["k5", "k4"]);

    let edited = forged(&cursor);
    for wrong in [
        format!("others?cursor={cursor}"),
        format!("entries?sort=n&cursor={cursor}"),
        format!("entries?include_deleted=true&cursor={cursor}"),
        format!("entries?cursor={edited}"),
        "entries?cursor=x".to_owned(),
        "entries?limit=0".to_owned(),
        "entries?limit=201".to_owned(),
        "entries?filter=x".to_owned(),
        "entries?filter=%7B%22n%22%3A%7B%22like%22%3A1%7D%7D".to_owned(),
        "entries?include_deleted=maybe".to_owned(),
        "entries?fliter=%7B%7D".to_owned(),
        "entries/count?filter=%7B%7D".to_owned(),
    ] {
        rows.get(&wrong).await.error(ErrorCode::InvalidRequest);
    }
    let foreign = rows.request(SIBLING, Method::GET, &format!("entries?cursor={cursor}"));
    Answer::of(foreign).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn rows_of_one_moment_stand_in_the_order_of_their_keys() {
    let rows = Rows::start().await;
    for batch in [["z", "a", "m"], ["y", "b", "n"]] {
        let entries = batch.map(|key| json!({"key": key, "data": {}}));
        rows.post("entries/batch", json!({"rows": entries})).await.expect(200);
        rows.pass_seconds(1);
    }
    let (early, late) = (["a", "m", "z"], ["b", "n", "y"]);
    for (sort, expected) in [
        ("", [early, late]),
        ("sort=created_at&", [early, late]),
        ("sort=updated_at&", [early, late]),
        ("sort=-created_at&", [late, early]),
        ("sort=-updated_at&", [late, early]),
        ("include_deleted=true&", [early, late]),
    ] {
        for limit in 1..=7 {
            let seen = rows.pages(&format!("entries?{sort}limit={limit}")).await.concat();
            assert_eq!(seen, expected.concat(), "{sort} {limit}");
        }
    }
}

#[tokio::test]
async fn a_page_that_leaves_in_pieces_arrives_whole_and_is_cached_as_any_other() {
    let rows = Rows::start().await;
    let text = "é".repeat(5_000);
    let many: Vec<_> = (0..60)
        .map(|n| json!({"key": format!("k{n:02}"), "data": {"n": n, "text": text}}))
        .collect();
    rows.post("entries/batch", json!({"rows": many})).await.expect(200);
    let answer = rows.get("entries?limit=55").await;
    let page = answer.expect(200);
    assert!(!answer.headers.contains_key("content-length"), "one piece: {:?}", answer.headers);
    assert_eq!(answer.header("content-type"), "application/json");
    let items = page["items"].as_array().expect("items");
    assert_eq!(items.len(), 55);
    for (n, row) in items.iter().enumerate() {
        assert_eq!((&row["key"], &row["data"]["text"]), (&json!(format!("k{n:02}")), &json!(text)));
    }
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let rest = rows.get(&format!("entries?cursor={cursor}")).await;
    assert_eq!(rest.expect(200)["items"].as_array().map(Vec::len), Some(5));
    assert!(rest.headers.contains_key("content-length"), "{:?}", rest.headers);
    let request = rows.request(OWNER, Method::GET, "entries?limit=55");
    let cached = Answer::of(request.header("if-none-match", answer.header("etag"))).await;
    assert_eq!((cached.status, cached.text.as_str()), (304, ""));
}

#[tokio::test]
async fn deleted_rows_are_listed_newest_first_and_among_the_others_when_asked() {
    let rows = Rows::start().await;
    for key in ["a", "b", "c", "d"] {
        rows.row("entries", key, json!({})).await;
    }
    for key in ["c", "a", "b"] {
        rows.pass_seconds(1);
        rows.delete(&format!("entries/{key}")).await.expect(200);
    }
    let first = rows.get("entries/deleted?limit=2").await.expect(200);
    let keys: Vec<_> =
        first["items"].as_array().expect("items").iter().map(|r| &r["key"]).collect();
    assert_eq!(keys, ["b", "a"]);
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let second = rows.get(&format!("entries/deleted?cursor={cursor}")).await.expect(200);
    assert_eq!(second["items"][0]["key"], "c");
    assert_eq!(second["next_cursor"], json!(null));
    rows.get(&format!("others/deleted?cursor={cursor}")).await.error(ErrorCode::InvalidRequest);
    let all = rows.get("entries?include_deleted=true").await.expect(200);
    let keys: Vec<_> = all["items"].as_array().expect("items").iter().map(|r| &r["key"]).collect();
    assert_eq!(keys, ["a", "b", "c", "d"]);
    assert_eq!(rows.get("entries").await.expect(200)["items"][0]["key"], "d");
}

#[tokio::test]
async fn rows_are_for_agents_and_credentials_and_people_come_by_pages() {
    let rows = Rows::start().await;
    let session = |request: reqwest::RequestBuilder| request.header("cookie", rows.cookie());
    let path = rows.path("entries");
    let post = session(rows.server.request(Method::POST, &path)).json(&json!({"data": {}}));
    let post = post.header("origin", rows.server.public_url());
    Answer::of(post).await.error(ErrorCode::Forbidden);
    for path in [path, rows.path("entries/count"), format!("/v1/apps/{}/feed", rows.app)] {
        let read = session(rows.server.request(Method::GET, &path));
        Answer::of(read).await.error(ErrorCode::Forbidden);
    }
    rows.row("entries", "seen", json!({})).await;
    let page = format!("/apps/{}/data/entries", rows.app);
    let page = Answer::of(session(rows.server.request(Method::GET, &page))).await;
    assert!(page.status == 200 && page.text.contains("seen"), "{}", page.text);
}

#[tokio::test]
async fn to_a_stranger_the_app_is_not_there() {
    let rows = Rows::start().await;
    for app in [rows.app.to_string(), "rows".to_owned()] {
        for rest in ["collections/entries", "collections/none/k", "feed", "challenge"] {
            let path = format!("/v1/apps/{app}/{rest}");
            let answer =
                Answer::of(rows.server.request(Method::GET, &path).bearer_auth(rows.key(STRANGER)));
            answer.await.error(ErrorCode::AppNotFound);
        }
    }
    let by_slug = rows.server.request(Method::GET, "/v1/apps/rows/collections/entries");
    Answer::of(by_slug.bearer_auth(rows.key(OWNER))).await.expect(200);
}

#[tokio::test]
async fn a_restart_keeps_rows_versions_and_cursors() {
    let rows = Rows::start().await;
    for n in 0..5 {
        rows.row("entries", &format!("k{n}"), json!({"n": n})).await;
    }
    let since = rows.now().await;
    rows.patch("entries/k1", json!({"data": {"n": 10}})).await.expect(200);
    rows.delete("entries/k2").await.expect(200);
    let page = rows.get("entries?limit=2").await.expect(200);
    let before =
        (rows.get("entries").await.expect(200)["items"].clone(), rows.events(&since).await);
    let rows = rows.restart().await;
    let after = (rows.get("entries").await.expect(200)["items"].clone(), rows.events(&since).await);
    assert_eq!(before, after);
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let rest = rows.get(&format!("entries?cursor={cursor}")).await.expect(200);
    assert_eq!(rest["items"][0]["key"], "k3");
    let restored = rows.post("entries/k2/restore", json!({})).await.expect(200);
    assert_eq!(restored["version"], 3);
    let next = rows.events(&since).await;
    assert_eq!(next[2]["seq"].as_u64(), before.1[1]["seq"].as_u64().map(|seq| seq + 1));
}

#[tokio::test]
async fn a_page_ends_with_the_row_that_makes_it_a_megabyte() {
    let rows = Rows::start().await;
    let text = "x".repeat(60_000);
    let many: Vec<_> = (0..30)
        .map(|n| json!({"key": format!("k{n:02}"), "data": {"n": n, "text": text}}))
        .collect();
    rows.post("entries/batch", json!({"rows": many})).await.expect(200);
    let pages = async |list: &str| rows.pages(&format!("{list}limit=200")).await;
    let ascending: Vec<_> = (0..30).map(|n| format!("k{n:02}")).collect();
    let descending: Vec<_> = ascending.iter().rev().cloned().collect();
    let sorted = pages("entries?sort=-n&").await;
    let keys = json!({"keys": ascending.iter().step_by(2).collect::<Vec<_>>()});
    for (pages, all) in [
        (pages("entries?").await, &ascending),
        (pages("entries?sort=-created_at&").await, &ascending),
        (sorted, &descending),
    ] {
        let lengths: Vec<_> = pages.iter().map(Vec::len).collect();
        assert_eq!(lengths, [18, 12]);
        assert_eq!(pages.concat(), *all);
    }
    let request = rows.request(OWNER, Method::DELETE, "entries/batch").json(&keys);
    Answer::of(request).await.expect(200);
    assert_eq!(pages("entries/deleted?").await.concat().len(), 15);
    let both = pages("entries?include_deleted=true&").await;
    assert_eq!((both.len(), both.concat()), (2, ascending));
}

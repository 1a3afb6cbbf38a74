//! A clock that was wrong for a while and is right again: what was written meanwhile keeps its times,
//! holds nothing up, and destroys nothing.

use reqwest::Method;
use rookery::Hooks;
use rookery_actors::WorkerKind;
use rookery_domain::{
    ErrorCode, Timestamp,
    time::{Clock, DAY_S},
};
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};
use crate::harness::{Agent, Answer, START, TestServer, encoded, keys};

/// Seconds of ten years: how far the clock is ahead.
const AHEAD_S: i64 = 3_650 * DAY_S;
/// How far it is behind.
const BEHIND_S: i64 = 60 * DAY_S;

fn at(rows: &Rows, seconds: i64) {
    rows.server.state().clock.set(START.plus_seconds(seconds));
}

/// The keys of a list, read with so many rows on a page.
async fn list(rows: &Rows, sort: &str, limit: usize) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = format!("entries?sort={sort}&limit={limit}{cursor}");
        let page = rows.get(&page).await.expect(200);
        all.extend(keys(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next_cursor"].as_str() else { return all };
        cursor = format!("&cursor={}", encoded(next));
    }
}

fn within(value: &Value, seconds: i64) {
    let time: Timestamp = serde_json::from_value(value.clone()).expect("a time");
    let from = START.plus_seconds(seconds);
    assert!((from..from.plus_seconds(1)).contains(&time), "{time} is not {from}");
}

#[tokio::test]
async fn rows_that_are_written_after_a_clock_was_ahead_have_the_real_time() {
    let rows = Rows::start().await;
    rows.row("entries", "a-before", json!({})).await;
    at(&rows, AHEAD_S);
    for key in ["m-ahead", "c-ahead"] {
        within(&rows.row("entries", key, json!({})).await["created_at"], AHEAD_S);
    }
    let since = rows.now().await;
    at(&rows, 10);
    for key in ["z-after", "b-after", "k-after"] {
        within(&rows.row("entries", key, json!({})).await["created_at"], 10);
    }
    let updated = rows.patch("entries/m-ahead", json!({"data": {"n": 1}})).await.expect(200);
    within(&updated["created_at"], AHEAD_S);
    within(&updated["updated_at"], 10);
    for event in rows.events(&since).await {
        within(&event["at"], 10);
    }

    let rows = rows.restart().await;
    at(&rows, 20);
    within(&rows.row("entries", "d-later", json!({})).await["created_at"], 20);
    let order = ["a-before", "b-after", "k-after", "z-after", "d-later", "c-ahead", "m-ahead"];
    let newest_first =
        ["c-ahead", "m-ahead", "d-later", "b-after", "k-after", "z-after", "a-before"];
    for limit in [1, 2, 50] {
        assert_eq!(list(&rows, "created_at", limit).await, order, "{limit} on a page");
        assert_eq!(list(&rows, "-created_at", limit).await, newest_first, "{limit} on a page");
    }
    let rows = rows.restart().await;
    assert_eq!(list(&rows, "created_at", 3).await, order);
    assert_eq!(list(&rows, "-created_at", 3).await, newest_first);
}

#[tokio::test]
async fn rows_of_a_batch_after_a_clock_was_ahead_stand_in_order_however_many_came_before() {
    let rows = Rows::start().await;
    let batch = async |prefix: &str, count: usize| {
        let key = |n: usize| format!("{prefix}{:03}", n * 37 % count);
        let items: Vec<_> = (0..count).map(|n| json!({"key": key(n), "data": {}})).collect();
        rows.post("entries/batch", json!({"rows": items})).await.expect(200);
    };
    at(&rows, AHEAD_S);
    batch("ahead", 300).await;
    at(&rows, 0);
    batch("early", 200).await;
    at(&rows, 1);
    batch("late", 200).await;
    let of = |prefix: &str, count: usize| {
        (0..count).map(|n| format!("{prefix}{n:03}")).collect::<Vec<_>>()
    };
    let all = [of("early", 200), of("late", 200), of("ahead", 300)].concat();
    assert_eq!(list(&rows, "created_at", 70).await, all);
}

#[tokio::test]
async fn a_clock_that_is_set_back_a_little_never_makes_a_row_older_than_the_one_before() {
    let rows = Rows::start().await;
    at(&rows, 30);
    rows.row("entries", "b", json!({})).await;
    at(&rows, -30);
    within(&rows.row("entries", "a", json!({})).await["created_at"], 30);
    let rows = rows.restart().await;
    at(&rows, -20);
    within(&rows.row("entries", "c", json!({})).await["created_at"], 30);
    at(&rows, -31);
    within(&rows.row("entries", "d", json!({})).await["created_at"], -31);
}

#[tokio::test]
async fn retention_keeps_what_was_written_after_a_clock_was_ahead() {
    let rows = Rows::start().await;
    at(&rows, AHEAD_S);
    for key in ["ahead-1", "ahead-2"] {
        rows.row("kept", key, json!({})).await;
    }
    at(&rows, 0);
    for key in ["after-1", "after-2"] {
        rows.row("kept", key, json!({})).await;
    }
    let shown = rows.get("kept/retention").await.expect(200);
    assert_eq!(shown["prune"]["rows"], 2);
    rows.server.round(WorkerKind::RowRetention).await;
    assert_eq!(keys(&rows.get("kept").await.expect(200)), ["after-1", "after-2"]);
    // Their age is counted as that of any other.
    at(&rows, 90 * DAY_S + 1);
    rows.server.round(WorkerKind::RowRetention).await;
    assert_eq!(keys(&rows.get("kept").await.expect(200)), [""; 0]);
}

#[tokio::test]
async fn the_trash_is_emptied_in_time_after_a_clock_was_ahead() {
    let rows = Rows::start().await;
    rows.row("entries", "kept", json!({})).await;
    at(&rows, AHEAD_S);
    rows.row("entries", "ahead", json!({})).await;
    at(&rows, 0);
    rows.row("entries", "after", json!({})).await;
    for key in ["kept", "after"] {
        let deleted = rows.delete(&format!("entries/{key}")).await.expect(200);
        within(&deleted["deleted_at"], 0);
    }
    assert_eq!(keys(&rows.get("entries/deleted").await.expect(200)), ["after", "kept"]);
    at(&rows, 30 * DAY_S + 1);
    rows.server.round(WorkerKind::Sweeper).await;
    assert_eq!(rows.get("entries/deleted").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn what_is_deleted_while_the_clock_is_slow_is_not_destroyed_when_it_is_right_again() {
    let rows = Rows::start().await;
    rows.row("entries", "row", json!({})).await;
    rows.row("entries", "stays", json!({})).await;
    let app = format!("/v1/apps/{}", rows.app);
    let server = &rows.server;
    at(&rows, -BEHIND_S);
    within(&rows.delete("entries/row").await.expect(200)["deleted_at"], 0);
    let call = async |method: Method, below: &str| {
        let request = server.request(method, &format!("{app}{below}")).bearer_auth(rows.key(OWNER));
        Answer::of(request).await
    };
    assert_eq!(call(Method::DELETE, "").await.status, 204);
    let shown = call(Method::GET, "?include_deleted=true").await.expect(200);
    within(&shown["deleted_at"], 0);
    within(&shown["purge_at"], 30 * DAY_S);
    at(&rows, 60);
    server.round(WorkerKind::Sweeper).await;
    call(Method::POST, "/restore").await.expect(200);
    rows.post("entries/row/restore", json!({})).await.expect(200);
    assert_eq!(rows.get("entries/count").await.expect(200)["count"], 2);
}

#[tokio::test]
async fn a_session_that_is_used_while_the_clock_is_slow_lives_on_when_it_is_right_again() {
    let rows = Rows::start().await;
    let status = async |rows: &Rows| {
        let list =
            rows.server.request(Method::GET, "/v1/self/apps").header("cookie", rows.cookie());
        Answer::of(list).await.status
    };
    at(&rows, -40 * DAY_S);
    assert_eq!(status(&rows).await, 200);
    at(&rows, 60);
    assert_eq!(status(&rows).await, 200);
    let rows = rows.restart().await;
    at(&rows, 120);
    assert_eq!(status(&rows).await, 200);
}

#[tokio::test]
async fn from_its_end_on_nothing_brings_a_deleted_app_back_though_nobody_has_swept() {
    let rows = Rows::start().await;
    let server = &rows.server;
    let call = async |method: Method, below: &str| {
        let path = format!("/v1/apps/{}{below}", rows.app);
        Answer::of(server.request(method, &path).bearer_auth(rows.key(OWNER))).await
    };
    let listed = async |path: &str| {
        let list = server.request(Method::GET, path);
        let list = match path.starts_with("/v1/self") {
            true => list.header("cookie", rows.cookie()),
            false => list.bearer_auth(rows.key(OWNER)),
        };
        let list = Answer::of(list).await.expect(200);
        list["items"].as_array().expect("apps").len()
    };
    let lists =
        ["/v1/self/apps/deleted", "/v1/apps?include_deleted=true", "/v1/apps?status=deleted"];
    assert_eq!(call(Method::DELETE, "").await.status, 204);
    let shown = call(Method::GET, "?include_deleted=true").await.expect(200);
    let end: Timestamp = serde_json::from_value(shown["purge_at"].clone()).expect("a time");
    rows.server.state().clock.set(end.plus_seconds(-1));
    call(Method::GET, "").await.error(ErrorCode::SoftDeleted);
    for list in lists {
        assert_eq!(listed(list).await, 1, "{list}");
    }
    rows.server.state().clock.set(end.plus_seconds(1));
    for (method, below) in [
        (Method::GET, ""),
        (Method::GET, "?include_deleted=true"),
        (Method::POST, "/restore"),
        (Method::POST, "/purge"),
        (Method::DELETE, ""),
    ] {
        call(method, below).await.error(ErrorCode::AppNotFound);
    }
    for list in lists {
        assert_eq!(listed(list).await, 0, "{list}");
    }
    server.round(WorkerKind::Sweeper).await;
    call(Method::GET, "?include_deleted=true").await.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn a_row_whose_time_in_the_trash_is_over_is_gone_though_nobody_has_swept() {
    let rows = Rows::start().await;
    for (key, deleted_at) in [("old", 0), ("mid", 10), ("new", 20)] {
        rows.row("entries", key, json!({})).await;
        at(&rows, deleted_at);
        rows.delete(&format!("entries/{key}")).await.expect(200);
    }
    at(&rows, 30 * DAY_S + 15);
    assert_eq!(keys(&rows.get("entries/deleted").await.expect(200)), ["new"]);
    let page = rows.get("entries/deleted?limit=1").await.expect(200);
    assert_eq!(keys(&page), ["new"]);
    let all = rows.get("entries?include_deleted=true").await.expect(200);
    assert_eq!(keys(&all), ["new"]);
    for key in ["old", "mid"] {
        let one = rows.get(&format!("entries/{key}?include_deleted=true")).await;
        one.error(ErrorCode::RowNotFound);
        let restored = rows.post(&format!("entries/{key}/restore"), json!({})).await;
        restored.error(ErrorCode::RowNotFound);
    }
    rows.post("entries/new/restore", json!({})).await.expect(200);
    // A key is free again, as after the sweeper.
    assert!(rows.row("entries", "old", json!({})).await["version"].as_u64() > Some(1));
}

#[tokio::test]
async fn what_was_answered_in_the_future_is_done_once_all_the_same() {
    let rows = Rows::start().await;
    let row = async |n: i32| {
        let request = rows.request(OWNER, Method::POST, "entries").header("idempotency-key", "k");
        Answer::of(request.json(&json!({"data": {"n": n}}))).await
    };
    at(&rows, AHEAD_S);
    row(1).await.expect(201);
    at(&rows, 0);
    assert_eq!(row(1).await.header("idempotent-replayed"), "true");
    row(2).await.error(ErrorCode::Conflict);
}

#[tokio::test]
async fn what_was_used_in_the_future_is_used_now_all_the_same() {
    let rows = Rows::start().await;
    let get = async |rows: &Rows, path: &str| {
        let request = rows.server.request(Method::GET, path).header("cookie", rows.cookie());
        Answer::of(request).await.expect(200)
    };
    let view = async |rows: &Rows| {
        let path = format!("/v1/self/apps/{}/view", rows.app);
        let request = rows.server.request(Method::POST, &path).header("cookie", rows.cookie());
        let request = request.header("origin", rows.server.public_url());
        assert_eq!(Answer::of(request).await.status, 204);
    };
    let used = async |rows: &Rows| {
        let request = rows.server.request(Method::GET, "/v1/keys").bearer_auth(rows.key(OWNER));
        Answer::of(request).await.expect(200)["keys"][0]["last_used_at"].clone()
    };
    let flush = async |rows: &Rows| rows.server.state().rooms.directory.flush().await;
    at(&rows, AHEAD_S / 365);
    within(&used(&rows).await, AHEAD_S / 365);
    view(&rows).await;
    flush(&rows).await;
    let rows = rows.restart().await;
    at(&rows, 100);
    within(&used(&rows).await, 100);
    view(&rows).await;
    within(&get(&rows, "/v1/self/apps/recent").await["items"][0]["last_viewed_at"], 100);
    within(&get(&rows, "/v1/self/sessions").await["items"][0]["last_used_at"], 100);
    flush(&rows).await;
    let rows = rows.restart().await;
    at(&rows, 101);
    within(&used(&rows).await, 100);
    within(&get(&rows, "/v1/self/sessions").await["items"][0]["last_used_at"], 100);
}

#[tokio::test]
async fn wrong_codes_are_forgotten_after_a_minute_whatever_the_clock_says() {
    let server = TestServer::start().await;
    let human = server.human("ada@example.org").await;
    let agent: Agent = server.unclaimed_agent().await;
    for letter in ["B", "C", "D", "F", "G"] {
        server.claim(&agent, &letter.repeat(8)).await.error(ErrorCode::NotFound);
    }
    let clock = &server.state().clock;
    clock.set(START.plus_seconds(-3_600));
    let limited = server.claim(&agent, "HHHHHHHH").await;
    limited.error(ErrorCode::RateLimited);
    assert!(limited.header("retry-after").parse::<u64>().unwrap() <= 61);
    clock.set(START.plus_seconds(-3_600 + 61));
    let code = server.claim_code(&human).await;
    server.claim(&agent, &code).await.expect(200);
}

#[tokio::test]
async fn a_time_in_a_filter_is_compared_as_it_is_and_must_be_one() {
    let rows = Rows::start().await;
    rows.server.state().clock.set(Timestamp(START.0 + 176_999));
    rows.row("entries", "row", json!({})).await;
    let found = async |op: &str, time: &str| {
        let filter = json!({"created_at": {op: time}}).to_string();
        let path = format!("entries?filter={}", encoded(&filter));
        rows.get(&path).await
    };
    for (fraction, ops) in [
        (".176", ["eq", "gte", "lte"]),
        (".176000001", ["ne", "lt", "lte"]),
        (".176999", ["ne", "lt", "lte"]),
        (".175999", ["ne", "gt", "gte"]),
    ] {
        let time = format!("2026-01-31T12:00:00{fraction}Z");
        for op in ["eq", "ne", "lt", "lte", "gt", "gte"] {
            let page = found(op, &time).await.expect(200);
            let is_found = !keys(&page).is_empty();
            assert_eq!(is_found, ops.contains(&op), "{op} {time}");
        }
    }
    for time in ["20260131T120000Z", "2026-01-31T12:00Z", "2026-01-31T12:00:00Z[UTC]"] {
        found("gte", time).await.error(ErrorCode::InvalidRequest);
    }
}

#[tokio::test]
async fn an_end_is_given_as_rfc_3339_has_it() {
    let rows = Rows::start().await;
    let make = async |time: &str| {
        let path = format!("/v1/apps/{}/grants", rows.app);
        let request = rows.server.request(Method::POST, &path).bearer_auth(rows.key(OWNER));
        Answer::of(request.json(&json!({"role": "none", "expires_at": time}))).await
    };
    for time in [
        "20261231T235959Z",
        "2026-12-31T23:59Z",
        "+002026-12-31T23:59:59Z",
        "2026-12-31T23:59:59,5Z",
        "2026-12-31T23:59:59Z[UTC]",
        "2026-12-31T23:59:59+24:00",
    ] {
        let error = make(time).await.error(ErrorCode::InvalidRequest);
        let message = error["message"].as_str().expect("a message").to_owned();
        assert!(message.contains("RFC 3339"), "{time}: {message}");
    }
}

#[tokio::test]
async fn a_server_does_not_start_where_its_answers_could_not_say_when_they_were_made() {
    for (micros, said) in [
        (-1, "1969-12-31T23:59:59.999Z"),
        (i64::MIN / 1_000, "1677-09-21"),
        (253_370_764_800_000_000, "9999-01-01T00:00:00.000Z"),
    ] {
        let mut config = TestServer::builder().config();
        let data = tempfile::tempdir().expect("a temporary folder");
        config.data_dir = data.path().to_path_buf();
        let hooks = Hooks { clock: Clock::manual(Timestamp(micros)), ..Hooks::default() };
        let Err(error) = rookery::start(config, hooks).await else {
            panic!("it started at {said}")
        };
        let line = error.to_string();
        assert!(line.starts_with("the system's clock says ") && line.contains(said), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}

//! The feed: pages, waiting, streams, and what ends them.

use reqwest::Method;
use rookery_domain::{ErrorCode, Timestamp};
use rookery_storage::feed::{self, FeedRetention};
use serde_json::{Value, json};

use super::rows::{OWNER, Rows};
use crate::harness::{Answer, TestServer};

impl Rows {
    fn feed_request(&self, query: &str) -> reqwest::RequestBuilder {
        let path = format!("/v1/apps/{}/feed{query}", self.app);
        self.server.request(Method::GET, &path).bearer_auth(self.key(OWNER))
    }

    async fn stream(&self, query: &str, last_event_id: Option<&str>) -> Stream {
        let mut request = self.feed_request(query).header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.expect("the server answers");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, rest: String::new() }
    }
}

/// An open event stream.
struct Stream {
    response: reqwest::Response,
    rest: String,
}

impl Stream {
    /// The next frame; `None` when the stream has ended.
    async fn frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.rest.split_once("\n\n") {
                let frame = frame.to_owned();
                self.rest = rest.to_owned();
                return Some(frame);
            }
            let chunk = self.response.chunk().await.expect("the stream goes on")?;
            self.rest.push_str(std::str::from_utf8(&chunk).expect("whole characters"));
        }
    }

    /// The next event, with its id.
    async fn event(&mut self) -> (String, Value) {
        loop {
            let frame = self.frame().await.expect("another frame");
            let member = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
            if let (Some(id), Some(data)) = (member("id: "), member("data: ")) {
                return (id.to_owned(), serde_json::from_str(data).expect("JSON"));
            }
        }
    }
}

#[tokio::test]
async fn every_change_is_one_event_and_the_numbers_have_no_gap() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    rows.row("entries", "k", json!({"n": 1})).await;
    rows.patch("entries/k", json!({"data": {"n": 2}})).await.expect(200);
    rows.delete("entries/k").await.expect(200);
    rows.post("entries/k/restore", json!({})).await.expect(200);
    rows.post("entries", json!({"key": "k", "data": {}})).await.expect(200);
    rows.post("people", json!({"data": {}})).await.error(ErrorCode::RowSchemaViolation);
    rows.post("others/batch", json!({"rows": vec![json!({"data": {}}); 20]})).await.expect(200);
    let events = rows.events(&since).await;
    let kinds: Vec<_> = events.iter().take(5).map(|event| event["type"].clone()).collect();
    let expected = ["row.created", "row.updated", "row.deleted", "row.restored", "row.created"];
    assert_eq!(kinds, expected);
    assert_eq!(events.len(), 24);
    let first = events[0]["seq"].as_u64().expect("a number");
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"].as_u64(), Some(first + index as u64));
    }
    assert_eq!(events[0]["key"], "k");
    assert_eq!(events[0]["collection"], "entries");
    assert_eq!(events[1]["version"], 2);
    assert_eq!(events[3]["data"], json!({"n": 2}));
    let behind = events[20]["cursor"].as_str().expect("a cursor");
    assert_eq!(rows.events(behind).await, events[21..]);
    let one = rows.feed(&format!("?since={since}&collection=others&wait=0&limit=200")).await;
    assert_eq!(one.expect(200)["events"].as_array().map(Vec::len), Some(20));
}

#[tokio::test]
async fn a_row_at_the_key_of_a_deleted_one_does_not_bring_its_content_back() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    rows.row("entries", "k", json!({"iban": "secret"})).await;
    rows.patch("entries/k", json!({"data": {"iban": "secret too"}})).await.expect(200);
    rows.delete("entries/k").await.expect(200);
    let deleted = rows.events(&since).await;
    rows.row("entries", "k", json!({"hello": 1})).await;
    let events = rows.events(&since).await;
    assert_eq!(events[..3], deleted);
    assert!(deleted.iter().all(|event| event.get("data").is_none()), "{deleted:?}");
    assert_eq!(events[3]["data"], json!({"hello": 1}));
    // One that is restored is the same row.
    rows.delete("entries/k").await.expect(200);
    rows.post("entries/k/restore", json!({})).await.expect(200);
    let events = rows.events(&since).await;
    assert_eq!(events[..3], deleted);
    assert_eq!(events[3]["data"], json!({"hello": 1}));
}

#[tokio::test]
async fn a_cursor_of_another_app_is_no_cursor_of_this_feed() {
    let rows = Rows::start().await;
    let other = json!({"html": "<title>other</title>"});
    let other = rows.server.send(Method::POST, rows.key(OWNER), "/v1/apps", &other).await;
    let path = format!("/v1/apps/{}/feed", other.expect(201)["id"].as_str().expect("an id"));
    let page = rows.server.get_as(rows.key(OWNER), &path).await.expect(200);
    let foreign = page["cursor"].as_str().expect("a cursor");
    let refused = rows.feed(&format!("?since={foreign}&wait=0")).await;
    refused.error(ErrorCode::InvalidRequest);
    let stream = rows.feed_request(&format!("?since={foreign}"));
    let stream = || stream.try_clone().unwrap().header("accept", "text/event-stream");
    let refused = Answer::of(stream()).await.error(ErrorCode::InvalidRequest);
    assert_eq!(refused["message"], "`since` is not a cursor of this feed");
    let refused = Answer::of(stream().header("last-event-id", foreign)).await;
    let refused = refused.error(ErrorCode::InvalidRequest);
    assert_eq!(refused["message"], "Last-Event-ID: is not a cursor of this feed");
}

#[tokio::test]
async fn a_page_of_large_events_ends_early_and_says_that_there_is_more() {
    let rows = Rows::start().await;
    let mut since = rows.now().await;
    let text = "x".repeat(50_000);
    for n in 0..12 {
        rows.row("entries", &format!("k{n}"), json!({"text": text})).await;
    }
    let (mut pages, mut seen) = (0, Vec::new());
    loop {
        let answer = rows.feed(&format!("?since={since}&wait=0&limit=200")).await;
        assert!(answer.text.len() < 150_000, "{} bytes", answer.text.len());
        let page = answer.expect(200);
        let events = page["events"].as_array().expect("events");
        seen.extend(events.iter().map(|event| event["key"].as_str().expect("a key").to_owned()));
        pages += 1;
        since = page["cursor"].as_str().expect("a cursor").to_owned();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(seen, (0..12).map(|n| format!("k{n}")).collect::<Vec<_>>());
    assert_eq!(pages, 6);
}

#[tokio::test]
async fn a_look_through_large_events_that_are_not_for_the_caller_ends_and_goes_on() {
    let rows = Rows::start().await;
    let mut since = rows.now().await;
    let text = "x".repeat(60_000);
    for n in 0..80 {
        rows.row("entries", &format!("k{n}"), json!({"text": text})).await;
    }
    rows.row("own", "last", json!({})).await;
    let (mut looks, mut seen) = (0, Vec::new());
    loop {
        let query = format!("?since={since}&wait=0&collection=own");
        let page = rows.feed(&query).await.expect(200);
        seen.extend(page["events"].as_array().expect("events").iter().map(|it| it["key"].clone()));
        looks += 1;
        since = page["cursor"].as_str().expect("a cursor").to_owned();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(seen, ["last"]);
    assert_eq!(looks, 2, "one look reads some 4 MiB");
}

#[tokio::test]
async fn the_feed_is_a_stream_to_whoever_prefers_that() {
    let rows = Rows::start().await;
    for (accept, kind) in [
        ("text/event-stream", "text/event-stream"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("text/event-stream;q=0.5, */*;q=0.1", "text/event-stream"),
        ("application/json;q=0.2, Text/Event-Stream; Q=0.3", "text/event-stream"),
        ("text/event-stream;q=0", "application/json"),
        ("text/event-stream;q=0.000, */*", "application/json"),
        ("application/json, text/event-stream;q=0.1", "application/json"),
        ("text/event-stream;q=0.5, */*", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
    ] {
        let response = rows.feed_request("?wait=0").header("accept", accept).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], kind, "{accept}");
        assert_eq!(response.headers()["vary"], "accept", "{accept}");
    }
}

#[tokio::test]
async fn parameters_are_checked() {
    let rows = Rows::start().await;
    for query in ["?since=x", "?wait=61", "?wait=-1", "?limit=0", "?limit=201", "?sicne=x"] {
        rows.feed(query).await.error(ErrorCode::InvalidRequest);
    }
    let refusal = rows.feed("?wait=1.5").await.error(ErrorCode::InvalidRequest);
    assert_eq!(
        refusal["message"],
        "query parameter wait: must be a whole number of seconds, 0 to 60"
    );
    rows.feed("?collection=none").await.error(ErrorCode::CollectionNotFound);
}

#[tokio::test]
async fn a_waiting_poll_hears_the_next_write_and_only_that() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    let poll = tokio::spawn(rows.feed_request(&format!("?since={since}&wait=60")).send());
    rows.server.open_polls(1).await;
    let made = rows.row("entries", "k", json!({"n": 1})).await;
    let page: Value = poll.await.expect("no panic").expect("an answer").json().await.expect("JSON");
    assert_eq!(page["events"].as_array().map(Vec::len), Some(1));
    assert_eq!(page["events"][0]["data"], made["data"]);
    assert_eq!(page["more"], false);
    rows.server.open_polls(0).await;
    let empty = rows.feed(&format!("?since={}&wait=0", page["cursor"].as_str().unwrap())).await;
    assert_eq!(empty.expect(200)["events"], json!([]));
}

#[tokio::test]
async fn who_reads_from_the_trash_hears_that_the_app_was_put_there() {
    let rows = Rows::start().await;
    let app = format!("/v1/apps/{}", rows.app);
    let since = rows.now().await;
    let ask = |also: &str| rows.feed_request(&format!("?since={since}&wait=60{also}")).send();
    let (told, refused) = (ask("&include_deleted=true"), ask(""));
    let (told, refused) = (tokio::spawn(told), tokio::spawn(refused));
    rows.server.open_polls(2).await;
    Answer::of(rows.server.request(Method::DELETE, &app).bearer_auth(rows.key(OWNER))).await;
    let told = told.await.expect("no panic").expect("an answer");
    assert_eq!(told.status(), 200);
    let page: Value = told.json().await.expect("JSON");
    assert_eq!(page["events"][0]["type"], "app.deleted");
    assert_eq!(refused.await.expect("no panic").expect("an answer").status(), 410);
}

#[tokio::test]
async fn an_address_has_so_many_open_polls_and_others_are_told_when_one_ends() {
    let rows = Rows::on(TestServer::builder().set("ROOKERY__FEED__WAITERS_PER_IP_MAX", "3")).await;
    let query = format!("?since={}&wait=60", rows.now().await);
    let polls: Vec<_> = (0..2).map(|_| tokio::spawn(rows.feed_request(&query).send())).collect();
    let _stream = rows.stream("", None).await;
    rows.server.open_polls(3).await;
    rows.feed(&query).await.error(ErrorCode::RateLimited);
    rows.now().await;
    rows.row("entries", "k", json!({})).await;
    for poll in polls {
        assert_eq!(poll.await.expect("no panic").expect("an answer").status(), 200);
    }
    rows.server.open_polls(1).await;
    rows.feed(&query).await.expect(200);
}

#[tokio::test]
async fn however_many_addresses_poll_others_still_get_in() {
    let builder = TestServer::builder().set("ROOKERY__SERVER__CONNECTIONS_MAX", "8");
    let rows = Rows::on(builder).await;
    let query = format!("?since={}&wait=60", rows.now().await);
    let polls: Vec<_> = (0..6).map(|_| tokio::spawn(rows.feed_request(&query).send())).collect();
    rows.server.open_polls(6).await;
    rows.feed(&query).await.error(ErrorCode::Unavailable);
    rows.row("entries", "k", json!({})).await;
    for poll in polls {
        assert_eq!(poll.await.expect("no panic").expect("an answer").status(), 200);
    }
    rows.feed(&query).await.expect(200);
}

#[tokio::test]
async fn a_cursor_below_the_floor_is_resync_required() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    for n in 0..3 {
        rows.row("entries", &format!("k{n}"), json!({})).await;
    }
    let middle = rows.events(&since).await[1]["cursor"].as_str().expect("a cursor").to_owned();
    let db = &rows.server.state().rooms.db;
    let keep = FeedRetention {
        events: 2,
        not_before: Timestamp(0),
        not_after: Timestamp::LAST,
        bytes: 1 << 40,
    };
    feed::prune(db, rows.app, keep).await.expect("pruned");
    let rows = rows.restart().await;
    rows.feed(&format!("?since={since}")).await.error(ErrorCode::ResyncRequired);
    let page = rows.feed(&format!("?since={middle}&wait=0")).await.expect(200);
    assert_eq!(page["events"].as_array().map(Vec::len), Some(1));
    let stream =
        rows.feed_request(&format!("?since={since}")).header("accept", "text/event-stream");
    Answer::of(stream).await.error(ErrorCode::ResyncRequired);
}

#[tokio::test]
async fn what_retention_does_not_keep_is_gone_before_a_worker_takes_it() {
    let builder = TestServer::builder().set("ROOKERY__FEED__RETENTION_EVENTS", "3");
    let rows = Rows::on(builder.set("ROOKERY__FEED__RETENTION_DAYS", "2")).await;
    let mut cursors = vec![rows.now().await];
    for n in 0..4 {
        rows.row("entries", &format!("k{n}"), json!({})).await;
        cursors.push(rows.now().await);
    }
    rows.feed(&format!("?since={}", cursors[0])).await.error(ErrorCode::ResyncRequired);
    let events = rows.events(&cursors[1]).await;
    assert_eq!(events.len(), 3);
    rows.pass_seconds(2 * 86_400 + 1);
    rows.feed(&format!("?since={}", cursors[1])).await.error(ErrorCode::ResyncRequired);
    // Whoever has heard of everything has missed nothing.
    assert_eq!(rows.events(&cursors[4]).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_key_that_was_purged_goes_on_in_its_versions_when_the_feed_has_forgotten_it() {
    let rows = Rows::start().await;
    rows.row("entries", "k", json!({"text": "old"})).await;
    for path in ["entries/k", "entries/k/purge"] {
        rows.delete(path).await;
    }
    let db = &rows.server.state().rooms.db;
    let keep = FeedRetention {
        events: 0,
        not_before: Timestamp(i64::MAX),
        not_after: Timestamp(i64::MAX),
        bytes: 1 << 40,
    };
    feed::prune(db, rows.app, keep).await.expect("pruned");
    let rows = rows.restart().await;
    let anew = rows.row("entries", "k", json!({"text": "new"})).await;
    // The entity tag of the content that was purged is not this one's.
    assert_eq!(anew["version"], 4);
    let first = rows.row("entries", "other", json!({})).await;
    assert_eq!(first["version"], 4, "nobody can tell it from a key that was purged");
}

#[tokio::test]
async fn a_stream_says_where_it_is_brings_events_and_goes_on_where_it_broke_off() {
    let rows = Rows::start().await;
    let mut stream = rows.stream("", None).await;
    let begin = stream.frame().await.expect("a frame");
    let begin = begin.strip_prefix("id: ").expect("its position").to_owned();
    rows.row("entries", "a", json!({"text": "zwei\nZeilen"})).await;
    rows.row("entries", "b", json!({})).await;
    let (id, first) = stream.event().await;
    assert_eq!((first["key"].as_str(), &first["cursor"]), (Some("a"), &json!(id)));
    assert_eq!(first["data"]["text"], "zwei\nZeilen");
    assert_eq!(stream.event().await.1["key"], "b");
    drop(stream);
    let mut again = rows.stream(&format!("?since={begin}"), Some(&id)).await;
    assert_eq!(again.event().await.1["key"], "b");
    let mut whole = rows.stream(&format!("?since={begin}&limit=1"), None).await;
    assert_eq!(whole.event().await.1["key"], "a");
    let (last, b) = whole.event().await;
    assert_eq!(b["key"], "b");
    // All that was missed has been told: a place without an event says so.
    assert_eq!(whole.frame().await.expect("a frame"), format!("id: {last}"));
    rows.row("entries", "c", json!({})).await;
    assert_eq!(whole.event().await.1["key"], "c");
}

#[tokio::test]
async fn a_drain_ends_polls_empty_and_streams_in_peace() {
    let rows = Rows::start().await;
    let since = rows.now().await;
    let poll = tokio::spawn(rows.feed_request(&format!("?since={since}&wait=60")).send());
    let mut stream = rows.stream("", None).await;
    rows.server.open_polls(2).await;
    let (ended, _) = tokio::join!(
        async {
            while stream.frame().await.is_some() {}
            let page = poll.await.expect("no panic").expect("an answer");
            page.json::<Value>().await.expect("JSON")
        },
        rows.server.stop(),
    );
    assert_eq!(ended["events"], json!([]));
    assert_eq!(ended["cursor"], json!(since));
}

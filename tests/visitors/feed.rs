//! The feed of an app for its visitors, as JSON and as a stream.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::{Method, Response};
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::{Value, json};

use super::{
    authorize::{callback, grant},
    world::{Guest, HTML, Site, World},
};
use crate::harness::{Answer, kinds};

/// What does not wait for its own time is over by then.
const AT_ONCE: Duration = Duration::from_secs(10);

fn board() -> Value {
    json!({
        "collections": {
            "entries": {"permissions": {"read": ["anyone"], "write": ["anyone"],
                "update": ["creator"], "delete": ["creator"]}},
            "notes": {"permissions": {"read": ["editor", "owner"], "write": ["anyone"],
                "update": ["anyone"], "delete": ["creator"]}},
        },
        "events": {"cheer": {"schema": {"$ref": "#/$defs/Cheer"}}},
        "$defs": {"Cheer": {"type": "object", "properties": {"loud": {"type": "boolean"}}}},
    })
}

async fn create(site: &Site<'_>, guest: &Guest, collection: &str, key: &str) {
    let path = format!("/s/collections/{collection}");
    let request = site.by(guest, Method::POST, &path).json(&json!({"key": key, "data": {}}));
    Answer::of(request).await.expect(201);
}

async fn cursor(site: &Site<'_>, guest: &Guest) -> String {
    let now = Answer::of(site.by(guest, Method::GET, "/s/feed?wait=0")).await.expect(200);
    assert_eq!(now["events"], json!([]));
    now["cursor"].as_str().expect("a cursor").to_owned()
}

async fn poll(site: &Site<'_>, guest: &Guest, since: &str) -> Value {
    let path = format!("/s/feed?wait=0&since={since}");
    Answer::of(site.by(guest, Method::GET, &path)).await.expect(200)
}

/// An open event stream, read frame by frame.
struct Stream {
    response: std::pin::Pin<Box<dyn futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    rest: String,
}

impl Stream {
    fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response: Box::pin(response.bytes_stream()), rest: String::new() }
    }

    /// The next frame that says something.
    async fn next(&mut self) -> String {
        loop {
            if let Some((frame, rest)) = self.rest.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.rest = rest;
                if frame.contains("data:") {
                    return frame;
                }
                continue;
            }
            let chunk = self.response.next().await.expect("more").expect("the stream goes on");
            self.rest.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        }
    }
}

#[tokio::test]
async fn a_visitor_hears_what_another_wrote_and_of_custom_events_its_own() {
    let world = World::start().await;
    let site = world.public("board", board()).await;
    let (ada, bob) = (site.guest().await, site.guest().await);
    let (since_ada, since) = (cursor(&site, &ada).await, cursor(&site, &bob).await);
    create(&site, &ada, "entries", "a").await;
    let cheer = json!({"type": "cheer", "data": {"loud": true}});
    let sent = site.by(&ada, Method::POST, "/s/events").json(&cheer);
    Answer::of(sent).await.expect(201);
    let page = poll(&site, &bob, &since).await;
    assert_eq!(kinds(&page), ["row.created"]);
    let own = poll(&site, &ada, &since_ada).await;
    assert_eq!(kinds(&own), ["row.created", "event.cheer"]);
    assert_eq!(page["events"][0]["by"], json!({"kind": "anonymous", "id": ada.id}));
    let unknown = site.by(&ada, Method::POST, "/s/events").json(&json!({"type": "x", "data": {}}));
    Answer::of(unknown).await.error(ErrorCode::UnknownEventType);
}

#[tokio::test]
async fn a_row_that_leaves_a_visitors_sight_is_hidden_from_it() {
    let world = World::start().await;
    let site = world.public("board", board()).await;
    let (ada, bob) = (site.guest().await, site.guest().await);
    let (a, b) = (cursor(&site, &ada).await, cursor(&site, &bob).await);
    create(&site, &ada, "notes", "n").await;
    // Whoever edits becomes the editor, and the creator reads no more.
    let cookie = callback(&site, &grant(&world, &world.owner, "board").await).await.cookie();
    let edit = site.request(Method::PATCH, "/s/collections/notes/n").header("cookie", cookie);
    let edit = edit.header("origin", site.origin()).json(&json!({"data": {"secret": 1}}));
    Answer::of(edit).await.expect(200);
    let page = poll(&site, &ada, &a).await;
    let last = page["events"].as_array().expect("events").last().expect("an event");
    assert_eq!((&last["type"], &last["key"]), (&json!("row.hidden"), &json!("n")));
    assert!(last.get("data").is_none() && !page.to_string().contains("secret"), "{page}");
    assert_eq!(kinds(&poll(&site, &bob, &b).await), Vec::<&str>::new());
}

#[tokio::test]
async fn a_stream_brings_events_with_cursors_and_goes_on_behind_one() {
    let world = World::start().await;
    let site = world.public("board", board()).await;
    let guest = site.guest().await;
    let since = cursor(&site, &guest).await;
    let open = |last: Option<String>| {
        let request = site.by(&guest, Method::GET, &format!("/s/feed?since={since}"));
        let request = request.header("accept", "text/event-stream");
        match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    };
    let mut stream = Stream::of(open(None).send().await.expect("an answer"));
    create(&site, &guest, "entries", "a").await;
    let frame = stream.next().await;
    assert!(frame.contains("\"type\":\"row.created\""), "{frame}");
    let id = frame.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
    drop(stream);
    create(&site, &guest, "entries", "b").await;
    let mut stream = Stream::of(open(Some(id)).send().await.expect("an answer"));
    let frame = stream.next().await;
    assert!(frame.contains("\"key\":\"b\""), "{frame}");
    // What is wrong is said before a stream begins.
    let wrong = site.by(&guest, Method::GET, "/s/feed?since=nonsense");
    Answer::of(wrong.header("accept", "text/event-stream")).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn signing_out_ends_what_waits_at_that_moment() {
    let world = World::start().await;
    let site = world.public("board", board()).await;
    let (guest, other) = (site.guest().await, site.guest().await);
    let path = |since| format!("/s/feed?since={since}&wait=60");
    let stays = path(cursor(&site, &other).await);
    let stays = tokio::spawn(Answer::of(site.by(&other, Method::GET, &stays)));
    let path = path(cursor(&site, &guest).await);
    let poll = tokio::spawn(Answer::of(site.by(&guest, Method::GET, &path)));
    let stream = site.by(&guest, Method::GET, &path).header("accept", "text/event-stream");
    let mut stream = Stream::of(stream.send().await.expect("an answer"));
    world.server.open_polls(3).await;
    assert_eq!(Answer::of(site.by(&guest, Method::DELETE, "/s/session")).await.status, 204);
    let ended = tokio::time::timeout(AT_ONCE, async {
        let frame = stream.next().await;
        assert!(frame.contains("participant_token_invalid"), "{frame}");
        poll.await.expect("no panic").error(ErrorCode::ParticipantTokenInvalid);
    });
    ended.await.expect("neither waits for its time");
    create(&site, &other, "entries", "a").await;
    assert_eq!(stays.await.expect("no panic").expect(200)["events"][0]["key"], "a");
}

#[tokio::test]
async fn whoever_leaves_or_signs_out_hears_nothing_more() {
    let world = World::start().await;
    let site = world.deploy("secret", Visibility::Private, board(), HTML, &[]).await;
    let cookie = callback(&site, &grant(&world, &world.owner, "secret").await).await.cookie();
    let now = site.get_with("/s/feed?wait=0", &cookie).await.expect(200);
    let since = now["cursor"].as_str().expect("a cursor");
    let request = site.request(Method::GET, &format!("/s/feed?since={since}"));
    let request = request.header("accept", "text/event-stream").header("cookie", &cookie);
    let mut stream = Stream::of(request.send().await.expect("an answer"));
    let out = Answer::of(world.server.by(&world.owner, Method::POST, "/v1/auth/logout")).await;
    assert!(out.status < 400);
    site.set_visibility(Visibility::Public).await;
    let frame = stream.next().await;
    assert!(frame.starts_with("event: error"), "{frame}");
    assert!(frame.contains("participant_token_invalid"), "{frame}");
}

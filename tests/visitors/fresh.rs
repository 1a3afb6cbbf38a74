//! Visitors that have left nothing yet: how many of them an app has, for how long, and that whoever has
//! left something is not among them.

use reqwest::Method;
use rookery_domain::{ErrorCode, time::DAY_S};
use rookery_storage::{
    expiry,
    participants::{self, GRACE_S, ParticipantKind},
};
use serde_json::{Value, json};

use super::world::{Guest, Site, World};
use crate::harness::{Answer, START, TestServer};

/// Visitors without a trace that the servers here keep.
const KEPT: usize = 4;

fn manifest() -> Value {
    json!({
        "collections": {"entries": {"permissions": {"read": ["anyone"], "write": ["anyone"],
            "update": ["creator"], "delete": ["creator"]}},
            "closed": {"permissions": {"read": ["anyone"], "write": ["owner"], "update": ["owner"],
            "delete": ["owner"]}}},
        "events": {"waved": {"schema": {"$ref": "#/$defs/Waved"}}},
        "$defs": {"Waved": {"type": "object"}},
    })
}

async fn crowded() -> World {
    let kept = KEPT.to_string();
    let server = TestServer::builder();
    World::start_with(server.set("ROOKERY__LIMITS__MAX_FRESH_VISITORS_PER_APP", &kept)).await
}

async fn write(site: &Site<'_>, guest: &Guest, collection: &str) -> Answer {
    let path = format!("/s/collections/{collection}");
    let row = json!({"key": guest.id, "data": {}});
    Answer::of(site.by(guest, Method::POST, &path).json(&row)).await
}

async fn me(site: &Site<'_>, guest: &Guest) -> Answer {
    Answer::of(site.by(guest, Method::GET, "/s/session")).await
}

/// As many new visitors as leave no room for those before.
async fn a_crowd_comes(site: &Site<'_>) {
    for _ in 0..KEPT {
        site.guest().await;
    }
}

/// How many visitors of the app have left nothing.
async fn fresh(site: &Site<'_>) -> usize {
    let db = &site.server.state().rooms.db;
    let found = participants::fresh_beyond(db, site.app.id(), ParticipantKind::Anonymous, 0).await;
    found.expect("storage answers").len()
}

#[tokio::test]
async fn whoever_left_nothing_makes_room_and_whoever_left_something_stays() {
    let world = crowded().await;
    let site = world.public("book", manifest()).await;
    let other = world.public("other", manifest()).await;
    let elsewhere = other.guest().await;
    let (writes, waves, looks, fails) =
        (site.guest().await, site.guest().await, site.guest().await, site.guest().await);
    // All are known to memory before the crowd comes.
    for guest in [&looks, &fails] {
        me(&site, guest).await.expect(200);
    }
    write(&site, &fails, "closed").await.error(ErrorCode::CollectionWriteForbidden);
    // A visitor that is refused is as any other once its request is long over.
    world.server.state().clock.set(START.plus_seconds(GRACE_S));
    write(&site, &writes, "entries").await.expect(201);
    let wave =
        site.by(&waves, Method::POST, "/s/events").json(&json!({"type": "waved", "data": {}}));
    Answer::of(wave).await.expect(201);
    world.server.state().clock.set(START.plus_seconds(2 * GRACE_S));
    for _ in 0..4 {
        a_crowd_comes(&site).await;
        assert_eq!(fresh(&site).await, KEPT);
    }
    for guest in [&looks, &fails] {
        me(&site, guest).await.error(ErrorCode::ParticipantTokenInvalid);
        write(&site, guest, "entries").await.error(ErrorCode::ParticipantTokenInvalid);
    }
    for guest in [&writes, &waves] {
        assert_eq!(me(&site, guest).await.expect(200)["id"], guest.id);
    }
    let path = format!("/s/collections/entries/{}", writes.id);
    let change = site.by(&writes, Method::PATCH, &path).json(&json!({"data": {"x": 1}}));
    Answer::of(change).await.expect(200);
    // The crowd of one app takes nobody's room in another.
    me(&other, &elsewhere).await.expect(200);
}

#[tokio::test]
async fn whoever_is_about_to_leave_something_makes_no_room() {
    let world = crowded().await;
    let site = world.public("book", manifest()).await;
    let (guest, idle) = (site.guest().await, site.guest().await);
    let directory = &world.server.state().rooms.directory;
    let found = directory.participant(site.app.id(), &guest.token).await.expect("storage answers");
    let visitor = found.expect("the guest");
    assert_eq!(directory.hold_visitor(&visitor).await, Ok(true));
    a_crowd_comes(&site).await;
    me(&site, &idle).await.error(ErrorCode::ParticipantTokenInvalid);
    me(&site, &guest).await.expect(200);
    // Once its request must be over, it is as any other.
    world.server.state().clock.set(START.plus_seconds(GRACE_S));
    a_crowd_comes(&site).await;
    me(&site, &guest).await.error(ErrorCode::ParticipantTokenInvalid);
    assert_eq!(directory.hold_visitor(&visitor).await, Ok(false));
    assert_eq!(fresh(&site).await, KEPT);
}

#[tokio::test]
async fn a_token_is_good_for_a_week_and_once_it_has_left_something_for_a_year() {
    let world = World::start().await;
    let site = world.public("book", manifest()).await;
    let (writes, idle, late) = (site.guest().await, site.guest().await, site.guest().await);
    let at = |seconds: i64| world.server.state().clock.set(START.plus_seconds(seconds));
    let week = 7 * DAY_S;
    let ends = async |guest: &Guest| me(&site, guest).await.expect(200)["expires_at"].clone();
    let in_a_week = ends(&idle).await;
    at(week - 1);
    assert_eq!(ends(&writes).await, in_a_week);
    // A refused request keeps nobody.
    write(&site, &idle, "closed").await.error(ErrorCode::CollectionWriteForbidden);
    write(&site, &writes, "entries").await.expect(201);
    assert_eq!(ends(&writes).await, json!("2027-02-07T11:59:59.000Z"));
    at(week);
    let db = &world.server.state().rooms.db;
    let sweep = async |seconds: i64| {
        at(seconds);
        let now = world.server.state().clock.now();
        while expiry::sweep(db, now).await.expect("swept") {}
    };
    me(&site, &idle).await.error(ErrorCode::ParticipantTokenInvalid);
    write(&site, &late, "entries").await.error(ErrorCode::ParticipantTokenInvalid);
    assert_eq!(fresh(&site).await, 2);
    sweep(week + GRACE_S + 1).await;
    assert_eq!(fresh(&site).await, 0);
    sweep(week - 2 + 365 * DAY_S).await;
    assert_eq!(me(&site, &writes).await.expect(200)["id"], writes.id);
    sweep(week - 1 + 365 * DAY_S).await;
    me(&site, &writes).await.error(ErrorCode::ParticipantTokenInvalid);
}

#[tokio::test]
async fn the_cookie_outlives_the_first_week() {
    let world = World::start().await;
    let site = world.public("book", manifest()).await;
    let enter = site.request(Method::POST, "/s/session").json(&json!({}));
    let cookie = Answer::of(enter).await.header("set-cookie").to_owned();
    let kept = format!("Max-Age={}", 372 * DAY_S);
    assert!(cookie.split("; ").any(|part| part == kept), "{cookie}");
}

//! Rows of an app for its visitors: who may do what, and what nobody is told.

use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::{Value, json};

use super::{
    authorize::{callback, grant},
    world::{Guest, HTML, Site, World},
};
use crate::harness::Answer;

/// A guestbook: anyone reads and writes, whoever wrote may change it, the owner may delete.
fn guestbook() -> Value {
    json!({"collections": {"entries": {"permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["creator"],
        "delete": ["owner", "creator"], "countRead": ["anyone"],
    }}}})
}

/// Notes that only their creator sees.
fn diary() -> Value {
    json!({"collections": {"notes": {
        "schema": {"$ref": "#/$defs/Note"}, "unique": ["title"],
        "permissions": {"read": ["creator"], "write": ["anyone"], "update": ["creator"],
            "delete": ["creator"], "countRead": ["anyone"]},
    }}, "$defs": {"Note": {"type": "object", "properties": {"title": {"type": "string"}}}}})
}

async fn create(site: &Site<'_>, guest: &Guest, collection: &str, body: Value) -> Answer {
    let path = format!("/s/collections/{collection}");
    Answer::of(site.by(guest, Method::POST, &path).json(&body)).await
}

#[tokio::test]
async fn anybody_reads_a_public_app_and_only_a_participant_writes() {
    let world = World::start().await;
    let site = world.public("guestbook", guestbook()).await;
    let list = site.get("/s/collections/entries").await;
    assert_eq!(list.expect(200)["items"], json!([]));
    let nobody = site.request(Method::POST, "/s/collections/entries");
    let nobody = Answer::of(nobody.json(&json!({"data": {}}))).await;
    let error = nobody.error(ErrorCode::Unauthorized);
    assert!(error["message"].as_str().expect("text").contains("/s/session"));

    let guest = site.guest().await;
    let made = create(&site, &guest, "entries", json!({"key": "a b", "data": {"x": 1}})).await;
    let row = made.expect(201);
    assert_eq!(row["creator"], json!({"kind": "anonymous", "id": guest.id}));
    assert_eq!(made.header("location"), "/s/collections/entries/a%20b");
    let read = site.get("/s/collections/entries/a%20b").await;
    assert_eq!(read.expect(200), row);
    assert_eq!(site.get("/s/collections/entries/count").await.expect(200)["count"], 1);
    site.get("/s/collections/nothing").await.error(ErrorCode::CollectionNotFound);
}

#[tokio::test]
async fn a_guests_request_is_answered_as_the_first_time_where_that_has_written() {
    let world = World::start().await;
    let site = world.public("guestbook", guestbook()).await;
    let guest = site.guest().await;
    let keyed = async |method, path: &str, key: &str, body: Value| {
        let request = site.by(&guest, method, path).header("idempotency-key", key);
        Answer::of(request.json(&body)).await
    };
    let (rows, row) = ("/s/collections/entries", json!({"key": "k", "data": {"n": 1}}));
    let made = keyed(Method::POST, rows, "made", row.clone()).await.expect(201);
    let found = keyed(Method::POST, rows, "found", row.clone()).await.expect(200);
    assert_eq!((&found, &made["version"]), (&made, &json!(1)));
    let changed = json!({"data": {"n": 2}});
    let path = "/s/collections/entries/k";
    let changed = Answer::of(site.by(&guest, Method::PATCH, path).json(&changed)).await.expect(200);

    assert_eq!(keyed(Method::POST, rows, "made", row.clone()).await.expect(201), made);
    assert_eq!(keyed(Method::POST, rows, "found", row).await.expect(200), changed);
}

#[tokio::test]
async fn guests_are_told_apart_and_each_owns_what_it_wrote() {
    let world = World::start().await;
    let site = world.public("guestbook", guestbook()).await;
    let (ada, bob) = (site.guest().await, site.guest().await);
    create(&site, &ada, "entries", json!({"key": "a", "data": {"x": 1}})).await.expect(201);
    let path = "/s/collections/entries/a";
    let patch = json!({"data": {"x": 2}});
    let stranger = site.by(&bob, Method::PATCH, path).json(&patch);
    let error = Answer::of(stranger).await.error(ErrorCode::CollectionWriteForbidden);
    assert_eq!(error["required"], json!(["creator"]));
    let stranger = Answer::of(site.by(&bob, Method::DELETE, path)).await;
    stranger.error(ErrorCode::CollectionDeleteForbidden);
    let own = Answer::of(site.by(&ada, Method::PATCH, path).json(&patch)).await.expect(200);
    assert_eq!((&own["version"], &own["data"]["x"]), (&json!(2), &json!(2)));
    // By the cookie too, from the app's own page and from no other.
    let cookie = format!("service_participant={}", ada.token);
    let by_cookie = |origin: String| {
        let request = site.request(Method::PATCH, path).header("cookie", &cookie);
        Answer::of(request.header("origin", origin).json(&patch))
    };
    by_cookie("null".to_owned()).await.error(ErrorCode::CsrfOriginMismatch);
    by_cookie(site.origin()).await.expect(200);
    // Trash, restore and purge are the owner's.
    for (method, path, code) in [
        (Method::GET, "/s/collections/entries/deleted".to_owned(), ErrorCode::Forbidden),
        (Method::DELETE, format!("{path}/purge"), ErrorCode::PurgeForbidden),
        (Method::POST, format!("{path}/restore"), ErrorCode::Forbidden),
    ] {
        Answer::of(site.by(&ada, method, &path)).await.error(code);
    }
}

#[tokio::test]
async fn the_owner_deletes_restores_and_purges_on_the_apps_own_origin() {
    let world = World::start().await;
    let site = world.public("guestbook", guestbook()).await;
    let guest = site.guest().await;
    create(&site, &guest, "entries", json!({"key": "a", "data": {"x": 1}})).await.expect(201);
    let cookie = callback(&site, &grant(&world, &world.owner, "guestbook").await).await.cookie();
    let owner = |method, path: &str| {
        let request = site.request(method, path).header("cookie", &cookie);
        Answer::of(request.header("origin", site.origin()))
    };
    owner(Method::DELETE, "/s/collections/entries/a").await.expect(200);
    let trash = owner(Method::GET, "/s/collections/entries/deleted").await.expect(200);
    assert_eq!(trash["items"][0]["key"], "a");
    owner(Method::POST, "/s/collections/entries/a/restore").await.expect(200);
    owner(Method::DELETE, "/s/collections/entries/a").await.expect(200);
    let left = owner(Method::DELETE, "/s/collections/entries/a/purge").await.expect(200);
    assert!(left.get("data").is_none());
}

#[tokio::test]
async fn a_hidden_row_an_absent_one_and_a_deleted_one_answer_alike() {
    let world = World::start().await;
    let site = world.public("diary", diary()).await;
    let (ada, bob) = (site.guest().await, site.guest().await);
    for key in ["hidden", "gone"] {
        let body = json!({"key": key, "data": {"title": key}});
        create(&site, &ada, "notes", body).await.expect(201);
    }
    Answer::of(site.by(&ada, Method::DELETE, "/s/collections/notes/gone")).await.expect(200);
    let mut bodies = Vec::new();
    for key in ["hidden", "absent", "gone"] {
        let path = format!("/s/collections/notes/{key}");
        for method in [Method::GET, Method::PATCH, Method::DELETE] {
            let request = site.by(&bob, method.clone(), &path);
            let request = match method {
                Method::PATCH => request.json(&json!({"data": {"title": "x"}, "if_match": 7})),
                _ => request,
            };
            let mut error = Answer::of(request).await.error(ErrorCode::RowNotFound);
            assert!(error.get("details").is_none(), "{error}");
            error["request_id"] = json!("");
            bodies.push(error);
        }
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{bodies:#?}");
    let keyed = json!({"key": "hidden", "data": {"title": "mine"}});
    create(&site, &bob, "notes", keyed.clone()).await.error(ErrorCode::RowNotFound);
    let upsert = json!({"on": "title", "data": {"title": " HIDDEN "}});
    create(&site, &bob, "notes", upsert.clone()).await.error(ErrorCode::RowNotFound);
    let batch = site.by(&bob, Method::POST, "/s/collections/notes/batch");
    let batch = Answer::of(batch.json(&json!({"rows": [keyed, upsert]}))).await.expect(200);
    for result in batch["results"].as_array().expect("results") {
        assert_eq!(result["error"]["code"], "row_not_found", "{batch}");
    }
    // Filter, sort and count see no more than a list does.
    let filtered = site
        .by(&bob, Method::GET, "/s/collections/notes")
        .query(&[("filter", r#"{"title": {"prefix": "h"}}"#), ("sort", "-title")]);
    assert_eq!(Answer::of(filtered).await.expect(200)["items"], json!([]));
    let count = site.by(&bob, Method::GET, "/s/collections/notes/count");
    let filtered = count.query(&[("filter", r#"{"title": "hidden"}"#)]);
    Answer::of(filtered).await.error(ErrorCode::InvalidRequest);
    let unique = json!({"data": {"title": "Hidden "}});
    let error = create(&site, &bob, "notes", unique).await.error(ErrorCode::UniqueConflict);
    assert!(!error.to_string().contains("\"hidden\""), "no key of a hidden row: {error}");
}

#[tokio::test]
async fn a_cursor_is_good_for_the_visitor_and_the_app_it_was_made_for() {
    let world = World::start().await;
    let site = world.public("guestbook", guestbook()).await;
    let other = world.public("forest", guestbook()).await;
    let (ada, bob) = (site.guest().await, site.guest().await);
    for key in ["a", "b", "c"] {
        create(&site, &ada, "entries", json!({"key": key, "data": {}})).await.expect(201);
    }
    let page = site.by(&ada, Method::GET, "/s/collections/entries?limit=1");
    let page = Answer::of(page).await.expect(200);
    let cursor = page["next_cursor"].as_str().expect("a cursor").to_owned();
    let next = format!("/s/collections/entries?limit=1&cursor={cursor}");
    assert_eq!(
        Answer::of(site.by(&ada, Method::GET, &next)).await.expect(200)["items"][0]["key"],
        "b"
    );
    Answer::of(site.by(&bob, Method::GET, &next)).await.error(ErrorCode::InvalidRequest);
    other.get(&next).await.error(ErrorCode::InvalidRequest);
    let edited = format!("{next}x");
    Answer::of(site.by(&ada, Method::GET, &edited)).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn rows_of_an_app_that_is_not_open_are_for_nobody_outside() {
    let world = World::start().await;
    let site = world.public("guestbook", guestbook()).await;
    let guest = site.guest().await;
    site.set_visibility(Visibility::Private).await;
    site.get("/s/collections/entries").await.error_of_its_own(ErrorCode::Unauthorized);
    create(&site, &guest, "entries", json!({"data": {}}))
        .await
        .error_of_its_own(ErrorCode::Unauthorized);
    site.get("/s/feed").await.error_of_its_own(ErrorCode::Unauthorized);
    let token = site.set_visibility(Visibility::Link).await.expect("a token");
    create(&site, &guest, "entries", json!({"data": {}}))
        .await
        .error_of_its_own(ErrorCode::Unauthorized);
    let cookie = site.get(&format!("/s/share/{token}")).await.cookie();
    let write = site.request(Method::POST, "/s/collections/entries").header("cookie", cookie);
    let write = write.header("origin", site.origin()).json(&json!({"data": {}}));
    Answer::of(write).await.expect(201);
    let private = world.deploy("secret", Visibility::Private, guestbook(), HTML, &[]).await;
    private.get("/s/collections/entries").await.error_of_its_own(ErrorCode::Unauthorized);
}

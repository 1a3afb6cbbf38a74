//! Rows that a forced deploy sets aside: they are kept, counted and told of, and come back with a
//! manifest that they fit, if it reaches no further than the one that declared them last.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::versions::{private_notes, redeploy, with, with_notes};
use crate::harness::{Answer, TestServer, apps::guestbook};

#[tokio::test]
async fn detached_rows_are_kept_and_come_back() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let force = |manifest: Value| json!({"manifest": manifest, "force": true});
    let count = |record: &Value| {
        let notes = &record["collections"][0];
        assert_eq!(notes["name"], "notes", "{record}");
        (notes["row_count"].as_u64().unwrap(), notes["detached"].as_u64().unwrap())
    };
    let listed = async || {
        let all = server.get_as(&owner, &app.path("/collections/notes")).await.expect(200);
        let rows = all["items"].as_array().unwrap().iter();
        rows.map(|row| row["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let keys = listed().await;
    // A narrowed collection keeps what fits.
    let small = json!({"type": "object", "properties": {"n": {"maximum": 1}}});
    let narrowed = redeploy(&server, &owner, &app, force(private_notes(Some(small)))).await;
    let narrowed = narrowed.expect(201);
    assert_eq!(count(&narrowed), (1, 2));
    assert_eq!(narrowed["rows_detached"], 2);
    assert_eq!(narrowed["usage"]["rows"], 3, "detached rows count");
    // Nobody reads them or takes their keys, and the feed has told that they left.
    let rows = app.path("/collections/notes");
    let feed = server.get_as(&owner, &app.path("/feed")).await.expect(200);
    let since = feed["cursor"].as_str().unwrap();
    let trash = server.get_as(&owner, &rows).await.expect(200);
    let served = trash["items"][0]["key"].as_str().unwrap().to_owned();
    for key in keys.iter().filter(|key| **key != served) {
        let path = format!("{rows}/{key}");
        let absent = server.get_as(&owner, &path).await;
        let hint = absent.error_of_its_own(ErrorCode::RowNotFound)["hint"].to_string();
        assert!(hint.contains("detached rows"), "{hint}");
        let row = json!({"key": key, "data": {"n": 1}});
        server.send(Method::POST, &owner, &rows, &row).await.error_of_its_own(ErrorCode::Conflict);
    }
    let wide = redeploy(&server, &owner, &app, json!({"manifest": private_notes(None)})).await;
    assert_eq!(count(&wide.expect(201)), (3, 0));
    assert_eq!(listed().await, keys, "each in its place among those that stayed");
    let path = app.path(&format!("/feed?wait=0&since={since}"));
    let events = server.get_as(&owner, &path).await.expect(200)["events"].clone();
    let back: Vec<_> = events.as_array().unwrap().iter().filter(|e| e["version"] == 3).collect();
    assert!(back.len() == 2 && back.iter().all(|e| e["type"] == "row.restored"), "{events}");
    // A removed one keeps all of it.
    let removed = redeploy(&server, &owner, &app, force(json!({}))).await.expect(201);
    assert_eq!(count(&removed), (0, 3));
    // Declared again, they are back, and so they are after a restart of the app.
    let again = redeploy(&server, &owner, &app, json!({"manifest": private_notes(None)})).await;
    let again = again.expect(201);
    assert_eq!(count(&again), (3, 0));
    assert_eq!(again["rows_reattached"], 3);
    assert_eq!(listed().await, keys);
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!(count(&shown), (3, 0));
}

#[tokio::test]
async fn whoever_may_not_see_a_detached_row_is_told_no_more_of_it_than_of_a_live_one() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let diary = |schema: Value| {
        let permissions = json!({"read": ["creator"], "write": ["anyone"], "update": ["creator"],
            "delete": ["creator"]});
        json!({"collections": {"notes": {"schema": {"$ref": "#/$defs/Note"},
            "permissions": permissions}}, "$defs": {"Note": schema}})
    };
    let any = diary(json!({"type": "object"}));
    let app = server.deploy(&owner, json!({"visibility": "public", "manifest": any})).await;
    let send = async |token: Option<&str>, path: &str, body: Value| {
        let host = format!("{}.localhost", app.slug);
        let mut request = server.request(Method::POST, path).header("host", host).json(&body);
        if let Some(token) = token {
            request = request.header("x-service-participant-token", token);
        }
        Answer::of(request).await
    };
    let come = async || send(None, "/s/session", json!({})).await.expect(201)["token"].clone();
    let (one, other) = (come().await, come().await);
    let create = async |token: &Value, key: &str| {
        let body = json!({"key": key, "data": {"n": 1}});
        send(token.as_str(), "/s/collections/notes", body).await
    };
    create(&one, "k").await.expect(201);
    let live = create(&other, "k").await;
    live.error(ErrorCode::RowNotFound);
    let strict = diary(json!({"type": "object", "properties": {"n": {"minimum": 2}}}));
    let forced = json!({"manifest": strict, "force": true});
    redeploy(&server, &owner, &app, forced).await.expect(201);
    let body = json!({"key": "k", "data": {"n": 3}});
    let detached = send(other.as_str(), "/s/collections/notes", body).await;
    assert_eq!(
        detached.error(ErrorCode::RowNotFound)["message"],
        live.error(ErrorCode::RowNotFound)["message"]
    );
}

#[tokio::test]
async fn the_owner_alone_is_told_that_detached_rows_take_room_and_are_there() {
    let server = TestServer::builder().set("MAX_ROWS_PER_APP", "3").start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let mut open = guestbook();
    open["visibility"] = json!("public");
    let open = json!({"manifest": open, "force": true});
    redeploy(&server, &owner, &app, open).await.expect(201);
    let (entries, row) = (app.path("/collections/entries"), json!({"data": {}}));
    let full = server.send(Method::POST, &owner, &entries, &row).await;
    let error = full.error_of_its_own(ErrorCode::AppQuotaExceeded);
    assert!(error["message"].as_str().unwrap().contains("detached rows, 3 of them"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("declares their collection again"), "{error}");
    let slug = app.record["slug"].as_str().unwrap();
    let origin = server.state().origins.app_origin(slug);
    let host = origin.split_once("://").unwrap().1;
    let visitor = |method, path: &str| server.request(method, path).header("host", host);
    let guest = Answer::of(visitor(Method::POST, "/s/session").json(&json!({}))).await.expect(201);
    let header = ("x-service-participant-token", guest["token"].as_str().unwrap());
    let stranger = |method, path: &str| visitor(method, path).header(header.0, header.1);
    let full = stranger(Method::POST, "/s/collections/entries").json(&row);
    let error = Answer::of(full).await.error(ErrorCode::AppQuotaExceeded);
    assert_eq!(error["message"], "the app is at its limit of 3 rows");

    // What the hint says gives the room back.
    let (mut both, notes) = (guestbook(), private_notes(None)["collections"]["notes"].clone());
    both["collections"]["notes"] = notes;
    redeploy(&server, &owner, &app, json!({"manifest": both})).await.expect(201);
    let key = app.path("/collections/notes/k1");
    server.send(Method::DELETE, &owner, &key, &Value::Null).await.expect(200);
    server.send(Method::POST, &owner, &entries, &row).await.expect(201);
    // Nothing of the collection is detached any more.
    let full = server.send(Method::POST, &owner, &entries, &row).await;
    full.error(ErrorCode::AppQuotaExceeded);

    // Of a row that the schema shuts out, the owner hears in each of these ways, and nobody else.
    let mut narrow = both.clone();
    narrow["$defs"] = json!({"Entry": {"type": "object", "required": ["text"]}});
    narrow["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
    let narrow = json!({"manifest": narrow, "force": true});
    redeploy(&server, &owner, &app, narrow).await.expect(201);
    for (method, below) in [
        (Method::GET, ""),
        (Method::GET, "?include_deleted=true"),
        (Method::PATCH, ""),
        (Method::DELETE, ""),
        (Method::POST, "/restore"),
    ] {
        let body = if method == Method::PATCH { row.clone() } else { Value::Null };
        let path = format!("{entries}/none{below}");
        let absent = server.send(method.clone(), &owner, &path, &body).await;
        let error = absent.error_of_its_own(ErrorCode::RowNotFound);
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("also has detached rows"), "{method} {path}: {error}");
        if below.is_empty() {
            let path = "/s/collections/entries/none";
            let request = stranger(method, path);
            let request = if body.is_null() { request } else { request.json(&body) };
            Answer::of(request).await.error(ErrorCode::RowNotFound);
        }
    }
}

#[tokio::test]
async fn a_detached_row_that_is_purged_counts_no_more_and_never_comes_back() {
    let server = TestServer::builder().set("MAX_ROWS_PER_ACCOUNT", "3").start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let small = json!({"type": "object", "properties": {"n": {"maximum": 1}}});
    let narrow = json!({"manifest": private_notes(Some(small)), "force": true});
    redeploy(&server, &owner, &app, narrow).await.expect(201);
    let (rows, small) = (app.path("/collections/notes"), json!({"data": {"n": 1}}));
    server.send(Method::POST, &owner, &rows, &small).await.error(ErrorCode::AccountQuotaExceeded);
    let row = format!("{rows}/k3");
    let purge = format!("{row}/purge");
    let stale = format!("{purge}?if_match=9");
    let stale = server.send(Method::DELETE, &owner, &stale, &Value::Null).await;
    let stale = stale.error_of_its_own(ErrorCode::Conflict);
    assert!(stale["hint"].to_string().contains("nothing shows it"), "{stale}");
    server.send(Method::DELETE, &owner, &purge, &Value::Null).await.expect(200);
    server.send(Method::DELETE, &owner, &purge, &Value::Null).await.error(ErrorCode::RowNotFound);
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!(
        (&shown["usage"]["rows"], &shown["collections"][0]["detached"]),
        (&json!(2), &json!(1))
    );
    server.send(Method::POST, &owner, &rows, &small).await.expect(201);
    let wide = redeploy(&server, &owner, &app, json!({"manifest": private_notes(None)})).await;
    assert_eq!(wide.expect(201)["rows_reattached"], 1);
    server.get_as(&owner, &row).await.error(ErrorCode::RowNotFound);
}

#[tokio::test]
async fn a_collection_that_comes_back_with_rows_is_held_against_what_it_was() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let open = with(private_notes(None), "/collections/notes/permissions/read", json!(["anyone"]));
    let force = |manifest: &Value| json!({"manifest": manifest, "force": true});
    let breaks = |answer: Answer| {
        let error = answer.error(ErrorCode::ManifestIncompatibleRedeploy);
        let list = error["details"]["breaks"].as_array().unwrap().clone();
        list.into_iter()
            .map(|one| (one["kind"].clone(), one["rows_affected"].clone()))
            .collect::<Vec<_>>()
    };
    let widened = |rows: u64| [(json!("disclosure_widened"), json!(rows))];
    redeploy(&server, &owner, &app, force(&json!({}))).await.expect(201);
    for _ in 0..2 {
        let refused = redeploy(&server, &owner, &app, json!({"manifest": open})).await;
        assert_eq!(breaks(refused), widened(3));
        redeploy(&server, &owner, &app, json!({"manifest": {}})).await.expect(201);
    }
    let once = with(open.clone(), "/collections/notes/appendOnly", json!(true));
    let once = redeploy(&server, &owner, &app, json!({"manifest": once})).await;
    assert_eq!(breaks(once)[0].0, "append_only_added");
    // As it was, it may come back; and what its owner has opened since counts.
    redeploy(&server, &owner, &app, json!({"manifest": private_notes(None)})).await.expect(201);
    redeploy(&server, &owner, &app, force(&open)).await.expect(201);
    redeploy(&server, &owner, &app, force(&json!({}))).await.expect(201);
    redeploy(&server, &owner, &app, json!({"manifest": open})).await.expect(201);
    // Of one that no kept version declared, nobody knows how far it reached.
    redeploy(&server, &owner, &app, force(&json!({}))).await.expect(201);
    for _ in 0..20 {
        redeploy(&server, &owner, &app, json!({"manifest": {}})).await.expect(201);
    }
    let refused = redeploy(&server, &owner, &app, json!({"manifest": open})).await;
    assert_eq!(breaks(refused), widened(3));
    redeploy(&server, &owner, &app, json!({"manifest": private_notes(None)})).await.expect(201);
}

#[tokio::test]
async fn rows_that_are_set_aside_count_when_a_list_widens() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let small = json!({"type": "object", "properties": {"n": {"maximum": 1}}});
    let narrow = private_notes(Some(small));
    let set_aside =
        redeploy(&server, &owner, &app, json!({"manifest": narrow, "force": true})).await;
    assert_eq!(set_aside.expect(201)["rows_detached"], 2);
    // They come back under these lists with any manifest that they fit.
    let open = with(narrow, "/collections/notes/permissions/read", json!(["anyone"]));
    let refused = redeploy(&server, &owner, &app, json!({"manifest": open})).await;
    let error = refused.error(ErrorCode::ManifestIncompatibleRedeploy);
    assert_eq!(error["details"]["breaks"][0]["kind"], "disclosure_widened");
    assert_eq!(error["details"]["breaks"][0]["rows_affected"], 3);
}

#[tokio::test]
async fn the_trash_of_a_removed_collection_is_still_told_of() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let rows = server.get_as(&owner, &app.path("/collections/notes")).await.expect(200);
    for row in rows["items"].as_array().unwrap() {
        let path = app.path(&format!("/collections/notes/{}", row["key"].as_str().unwrap()));
        Answer::of(server.call(Method::DELETE, &path, &owner)).await.expect(200);
    }
    let removed = redeploy(&server, &owner, &app, json!({"manifest": {}, "force": true})).await;
    let trash = json!([{"name": "notes", "row_count": 0, "deleted_count": 3, "detached": 0}]);
    let removed = removed.expect(201);
    assert_eq!((&removed["collections"], &removed["usage"]["rows"]), (&trash, &json!(0)));
    let server = server.restart().await;
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!((&shown["collections"], &shown["dormant"]), (&trash, &json!(true)));
    let open = with(private_notes(None), "/collections/notes/permissions/read", json!(["anyone"]));
    let refused = redeploy(&server, &owner, &app, json!({"manifest": open})).await;
    refused.error(ErrorCode::ManifestIncompatibleRedeploy);
    let again = redeploy(&server, &owner, &app, json!({"manifest": private_notes(None)})).await;
    assert_eq!(again.expect(201)["collections"], trash);
}

#[tokio::test]
async fn of_two_rows_with_one_unique_value_the_one_that_was_served_last_comes_back() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let unique = |manifest| with(manifest, "/collections/notes/unique", json!(["tag"]));
    let small = json!({"type": "object", "properties": {"n": {"maximum": 1}}});
    let (wide, narrow) = (unique(private_notes(None)), unique(private_notes(Some(small))));
    let app = server.deploy(&owner, json!({"manifest": wide})).await;
    let rows = app.path("/collections/notes");
    let create = async |key: &str, n: u32| {
        let row = json!({"key": key, "data": {"n": n, "tag": "one"}});
        server.send(Method::POST, &owner, &rows, &row).await.expect(201);
    };
    create("a-first", 2).await;
    redeploy(&server, &owner, &app, json!({"manifest": narrow, "force": true})).await.expect(201);
    create("b-last", 1).await;
    redeploy(&server, &owner, &app, json!({"manifest": {}, "force": true})).await.expect(201);
    let again = redeploy(&server, &owner, &app, json!({"manifest": wide})).await.expect(201);
    assert_eq!(again["rows_reattached"], 1);
    let served = server.get_as(&owner, &rows).await.expect(200);
    assert_eq!(served["items"][0]["key"], "b-last", "{served}");
    assert_eq!(again["collections"][0]["detached"], 1, "the other one is kept: {again}");
    let warning = &again["warnings"][0];
    assert_eq!(warning["path"], "/collections/notes/unique", "{again}");
    assert!(warning["message"].as_str().unwrap().ends_with("values: 1 (\"a-first\")"), "{warning}");
}

//! Redeploying: what carries over, the compatibility gate, and what force does. What becomes of
//! rows that the new manifest does not fit is in `detached`.

use reqwest::{Method, multipart::Form};
use rookery_domain::ErrorCode;
use rookery_storage::versions;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, HTML, Owner, guestbook, open_collection},
};

/// A manifest with one collection, `notes`, which is the owner's alone, and its schema.
pub(super) fn private_notes(schema: Option<Value>) -> Value {
    let mut collection = json!({"permissions": {
        "read": ["owner"], "write": ["owner"], "update": ["owner"], "delete": ["owner"]}});
    let mut manifest = json!({});
    if let Some(schema) = schema {
        collection["schema"] = json!({"$ref": "#/$defs/Note"});
        manifest["$defs"] = json!({"Note": schema});
    }
    manifest["collections"] = json!({"notes": collection});
    manifest
}

pub(super) fn with(mut manifest: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    manifest.pointer_mut(parent).expect("the parent is there")[name] = value;
    manifest
}

pub(super) async fn redeploy(server: &TestServer, owner: &Owner, app: &App, body: Value) -> Answer {
    versioned(server, owner, app, "", body).await
}

pub(super) async fn versioned(
    server: &TestServer,
    owner: &Owner,
    app: &App,
    query: &str,
    mut body: Value,
) -> Answer {
    if body.get("html").is_none() {
        body["html"] = HTML.into();
    }
    server.send(Method::POST, owner, &app.path(&format!("/versions{query}")), &body).await
}

/// An app with three notes.
pub(super) async fn with_notes(server: &TestServer, owner: &Owner, manifest: Value) -> App {
    let rows: Vec<Value> =
        (1..=3).map(|n| json!({"key": format!("k{n}"), "data": {"n": n, "tag": "same"}})).collect();
    server.deploy(owner, json!({"manifest": manifest, "input_data": {"notes": rows}})).await
}

#[tokio::test]
async fn what_a_redeploy_leaves_out_carries_over() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let body = json!({"manifest": guestbook(), "visibility": "public", "timezone": "Asia/Tokyo",
        "assets": [{"path": "a.txt", "text": "a"}]});
    let app = server.deploy(&owner, body).await;
    let answer = redeploy(&server, &owner, &app, json!({"html": "<p>two"})).await;
    assert_eq!(answer.header("location"), app.path(""));
    let second = answer.expect(201);
    assert_eq!(second["version"], 2);
    for member in ["visibility", "timezone", "slug", "id", "created_at"] {
        assert_eq!(second[member], app.record[member], "{member}");
    }
    assert_eq!(second["collections"][0]["name"], "entries");
    assert_eq!((&second["breaks"], &second["warnings"]), (&json!([]), &json!([])));
    let (db, id) = (&server.state().rooms.db, app.id.parse().unwrap());
    assert_eq!(versions::assets(db, id, 2).await.unwrap()[0].path, "a.txt");
    let document = server.get_as(&owner, &app.path("/document")).await;
    assert_eq!(document.text, "<p>two");

    redeploy(&server, &owner, &app, json!({"assets": []})).await.expect(201);
    assert!(versions::assets(db, id, 3).await.unwrap().is_empty(), "none is not left out");
}

#[tokio::test]
async fn a_carried_manifest_does_not_undo_what_the_owner_set() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let public = with(guestbook(), "/visibility", json!("public"));
    let app = server.deploy(&owner, json!({"manifest": public})).await;
    assert_eq!(app.record["visibility"], "public");
    let private = json!({"visibility": "private"});
    server.send(Method::PATCH, &owner, &app.path(""), &private).await.expect(200);
    let second = redeploy(&server, &owner, &app, json!({})).await.expect(201);
    assert_eq!(second["visibility"], "private");
    let third = redeploy(&server, &owner, &app, json!({"manifest": public})).await.expect(201);
    assert_eq!(third["visibility"], "public", "a manifest that is sent is obeyed");
    let body = json!({"manifest": public, "visibility": "link"});
    redeploy(&server, &owner, &app, body).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_redeploy_takes_neither_slug_nor_first_rows() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"manifest": guestbook()})).await;
    for (member, value) in [("slug", json!("other")), ("input_data", json!({"entries": []}))] {
        let answer = redeploy(&server, &owner, &app, json!({member: value})).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains(member), "{error}");
    }
    let answer = server.send(Method::POST, &owner, &app.path("/versions"), &json!({})).await;
    answer.error(ErrorCode::InvalidRequest);
    // The owner's session reads and sets, but deploys through an agent.
    let request = server.request(Method::POST, &app.path("/versions")).json(&json!({"html": HTML}));
    let request = request.header("cookie", format!("service_session={}", owner.session));
    Answer::of(request.header("origin", server.public_url())).await.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn every_kind_of_break_is_named_and_needs_force() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let note = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let before = private_notes(Some(note.clone()));
    let small = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 1}}});
    let cases = [
        (json!({"collections": {}}), "collection_removed", "/collections/notes", 3),
        (private_notes(Some(small)), "schema_tightened", "/collections/notes/schema", 2),
        (
            with(before.clone(), "/collections/notes/appendOnly", json!(true)),
            "append_only_added",
            "/collections/notes/appendOnly",
            3,
        ),
        (
            with(before.clone(), "/collections/notes/permissions/read", json!(["member"])),
            "disclosure_widened",
            "/collections/notes/permissions/read",
            3,
        ),
        (
            with(before.clone(), "/collections/notes/permissions/countRead", json!(["anyone"])),
            "disclosure_widened",
            "/collections/notes/permissions/countRead",
            3,
        ),
        (
            with(before.clone(), "/capabilities", json!(["camera"])),
            "disclosure_widened",
            "/capabilities/0",
            0,
        ),
        (with(before.clone(), "/cdn", json!(true)), "disclosure_widened", "/cdn", 0),
        (
            with(before.clone(), "/externalHosts", json!(["https://a.example.com"])),
            "disclosure_widened",
            "/externalHosts/0",
            0,
        ),
        (
            with(before.clone(), "/embeds", json!(["https://a.example.com"])),
            "disclosure_widened",
            "/embeds/0",
            0,
        ),
        (
            with(
                before.clone(),
                "/webhooks",
                json!([{"on": "create", "collection": "notes",
            "url": "https://a.example.com/secret"}]),
            ),
            "disclosure_widened",
            "/webhooks/0/url",
            0,
        ),
    ];
    for (after, kind, path, rows) in cases {
        let app = with_notes(&server, &owner, before.clone()).await;
        let body = json!({"manifest": after});
        let error = redeploy(&server, &owner, &app, body.clone()).await;
        let error = error.error(ErrorCode::ManifestIncompatibleRedeploy);
        let broken = &error["details"]["breaks"][0];
        assert_eq!(broken["kind"], kind, "{error}");
        assert_eq!(broken["path"], path, "{error}");
        assert_eq!(broken["rows_affected"], rows, "{error}");
        let examples = broken["examples"].as_array().into_iter().flatten();
        let examples: Vec<_> = examples.map(|row| (&row["key"], &row["path"])).collect();
        match kind {
            "schema_tightened" => {
                assert_eq!(examples, [(&json!("k2"), &json!("/n")), (&json!("k3"), &json!("/n"))]);
            }
            _ => assert!(examples.is_empty(), "{error}"),
        }
        assert!(!error.to_string().contains("secret"), "a target's path is nobody's business");
        let would =
            versioned(&server, &owner, &app, "?dry_run=true", body.clone()).await.expect(200);
        assert_eq!(&would["breaks"][0], broken);
        let shown = server.get_as(&owner, &app.path("")).await.expect(200);
        assert_eq!(shown["version"], 1, "nothing was applied");

        let forced = with(body, "/force", json!(true));
        let forced = redeploy(&server, &owner, &app, forced).await.expect(201);
        assert_eq!(forced["version"], 2);
        assert_eq!(&forced["breaks"][0], broken);
        Answer::of(server.call(Method::DELETE, &app.path(""), &owner)).await;
    }
}

#[tokio::test]
async fn a_push_rule_carries_over_into_an_app_that_is_private_now() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let rule = json!({"collection": "notes", "on": "create", "to": ["owner"],
        "channels": ["push"], "subject": "New", "body": "New"});
    let manifest = with(private_notes(None), "/notify", json!([rule]));
    let body = json!({"manifest": manifest, "visibility": "public"});
    let app = server.deploy(&owner, body).await;
    let hide = server.call(Method::PATCH, &app.path(""), &owner);
    Answer::of(hide.json(&json!({"visibility": "private"}))).await.expect(200);
    redeploy(&server, &owner, &app, json!({})).await.expect(201);
    // Where the deploy itself names a visibility, it is held against that.
    let public = redeploy(&server, &owner, &app, json!({"visibility": "public"})).await;
    public.expect(201);
    let hidden = redeploy(&server, &owner, &app, json!({"visibility": "private"})).await;
    let error = hidden.error(ErrorCode::NotifyPushRequiresPublic);
    assert_eq!(error["details"]["path"], "/notify/0/channels/0");
    assert_eq!(
        server.get_as(&owner, &app.path("")).await.expect(200)["visibility"],
        "public",
        "nothing was changed"
    );
    let hide = server.call(Method::PATCH, &app.path(""), &owner);
    Answer::of(hide.json(&json!({"visibility": "private"}))).await.expect(200);
    let anew = redeploy(&server, &owner, &app, json!({"manifest": manifest})).await;
    anew.error(ErrorCode::NotifyPushRequiresPublic);
}

#[tokio::test]
async fn a_unique_field_that_live_rows_break_is_refused_even_with_force() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = with_notes(&server, &owner, private_notes(None)).await;
    let unique = with(private_notes(None), "/collections/notes/unique", json!(["tag"]));
    for query in ["", "?dry_run=true"] {
        let body = json!({"manifest": unique, "force": true});
        let answer = versioned(&server, &owner, &app, query, body).await;
        let error = answer.error(ErrorCode::UniqueBackfillConflict);
        let told = &error["details"];
        assert_eq!((&told["collection"], &told["field"]), (&json!("notes"), &json!("tag")));
        assert_eq!(told["rows_affected"], 3);
        assert_eq!(told["keys"], json!(["k1", "k2", "k3"]));
    }
    // What a rehearsal would have told of is not hidden by it.
    let more = with(unique, "/collections/notes/permissions/read", json!(["anyone"]));
    let answer = versioned(&server, &owner, &app, "?dry_run=true", json!({"manifest": more})).await;
    let error = answer.error(ErrorCode::UniqueBackfillConflict);
    assert_eq!(error["details"]["breaks"][0]["kind"], "disclosure_widened");
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!((&shown["version"], &shown["collections"][0]["row_count"]), (&json!(1), &json!(3)));
    let fits = with(private_notes(None), "/collections/notes/unique", json!(["n"]));
    redeploy(&server, &owner, &app, json!({"manifest": fits})).await.expect(201);
}

#[tokio::test]
async fn a_dry_run_tells_the_difference_in_exposure_and_changes_nothing() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let rows = json!([{"data": {"contact": "someone@example.org"}}]);
    let body = json!({"manifest": private_notes(None), "visibility": "public",
        "input_data": {"notes": rows}});
    let app = server.deploy(&owner, body).await;
    let before = server.get_as(&owner, &app.path("")).await;
    let open = with(private_notes(None), "/collections/notes/permissions/read", json!(["anyone"]));
    let body = json!({"manifest": open, "timezone": "Asia/Tokyo"});
    let would = versioned(&server, &owner, &app, "?dry_run=true", body).await.expect(200);
    assert_eq!((&would["version"], &would["dry_run"]), (&json!(2), &json!(true)));
    let added = &would["exposure"]["added"][0];
    assert_eq!((&added["collection"], &added["exposure"]), (&json!("notes"), &json!("read")));
    assert_eq!(added["fields"][0]["looks_like"], "email_address", "{would}");
    assert_eq!((&would["exposure"]["removed"]), &json!([]));
    let mut after = server.get_as(&owner, &app.path("")).await.expect(200);
    // Looking at the rows has woken it; nothing else is different.
    (after["status"], after["dormant"]) = (json!("dormant"), json!(true));
    assert_eq!(after, before.json());
}

#[tokio::test]
async fn a_dry_run_judges_exposure_by_the_rows_that_would_be_served() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let rows: Vec<Value> =
        (1..=3).map(|n| json!({"data": {"n": n, "contact": "someone@example.org"}})).collect();
    let body = json!({"manifest": private_notes(None), "visibility": "public",
        "input_data": {"notes": rows}});
    let app = server.deploy(&owner, body).await;
    let would = async |manifest: &Value| {
        let answer =
            versioned(&server, &owner, &app, "?dry_run=true", json!({"manifest": manifest}));
        answer.await.expect(200)
    };
    let open = |schema: Option<Value>| {
        with(private_notes(schema), "/collections/notes/permissions/read", json!(["anyone"]))
    };
    let small = json!({"type": "object", "properties": {"n": {"maximum": 1}}});
    let narrowed = would(&open(Some(small.clone()))).await;
    assert_eq!(narrowed["rows_detached"], 2);
    assert_eq!(narrowed["exposure"]["added"][0]["rows"], 1, "{narrowed}");

    let removed = json!({"manifest": {}, "force": true});
    redeploy(&server, &owner, &app, removed).await.expect(201);
    let again = would(&open(None)).await;
    assert_eq!(again["rows_reattached"], 3);
    assert_eq!(again["breaks"][0]["path"], "/collections/notes/permissions/read", "{again}");
    let finding = &again["exposure"]["added"][0];
    assert_eq!((&finding["rows"], &finding["severity"]), (&json!(3), &json!("high")), "{again}");
    assert_eq!(finding["fields"][0]["looks_like"], "email_address");
    let opened = json!({"manifest": open(None), "force": true});
    redeploy(&server, &owner, &app, opened).await.expect(201);
    let report = server.get_as(&owner, "/v1/apps/advisories").await.expect(200);
    for member in ["rows", "severity", "message", "fields"] {
        assert_eq!(report["items"][0][member], finding[member], "{member}");
    }
}

#[tokio::test]
async fn twenty_versions_are_kept() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    for number in 2..=23 {
        let html = format!("<p>{number}");
        let answer = redeploy(&server, &owner, &app, json!({"html": html})).await;
        assert_eq!(answer.expect(201)["version"], number);
    }
    let kept = versions::list(&server.state().rooms.db, app.id.parse().unwrap()).await.unwrap();
    let numbers: Vec<u32> = kept.iter().map(|version| version.number).collect();
    assert_eq!(numbers, (4..=23).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn an_idempotency_key_deploys_one_version() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({"visibility": "link"})).await;
    let post = |html: &str| {
        let request = server.call(Method::POST, &app.path("/versions"), &owner);
        let request = request.json(&json!({"html": html, "manifest": guestbook()}));
        Answer::of(request.header("idempotency-key", "k"))
    };
    let first = post("<p>two").await.expect(201);
    assert_eq!(first["version"], 2);
    let again = post("<p>two").await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    let again = again.expect(201);
    assert_eq!(again["share_url"], Value::Null, "secrets are left out");
    for member in ["id", "version", "collections", "warnings", "breaks", "updated_at"] {
        assert_eq!(again[member], first[member], "{member}");
    }
    post("<p>three").await.error(ErrorCode::Conflict);
    assert_eq!(server.get_as(&owner, &app.path("")).await.expect(200)["version"], 2);
}

#[tokio::test]
async fn versions_deployed_at_once_follow_each_other_and_none_is_lost() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    let deploys = (0..16).map(|_| redeploy(&server, &owner, &app, json!({})));
    let answers = futures::future::join_all(deploys).await;
    let mut versions: Vec<_> =
        answers.iter().map(|answer| answer.expect(201)["version"].as_u64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..=17).map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_the_owner_set_for_a_collection_goes_with_it() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let logs =
        || json!({"html": "<p>hi", "manifest": {"collections": {"logs": open_collection()}}});
    let none = || json!({"html": "<p>hi", "manifest": {"collections": {}}, "force": true});
    let app = server.deploy(&owner, logs()).await;
    let retention = app.path("/collections/logs/retention");
    let deploy = async |body: Value| {
        server.send(Method::POST, &owner, &app.path("/versions"), &body).await.expect(201)
    };
    let kept = async || {
        server.get_as(&owner, &retention).await.expect(200)["override"]["max_rows"].clone()
    };
    let most = json!({"max_rows": 1});
    server.send(Method::PATCH, &owner, &retention, &most).await.expect(200);
    let row = json!({"key": "k", "data": {"n": 1}});
    server.send(Method::POST, &owner, &app.path("/collections/logs"), &row).await.expect(201);
    // A row of it waits to come back, and so does what was set.
    deploy(none()).await;
    deploy(logs()).await;
    assert_eq!(kept().await, 1);
    let row = app.path("/collections/logs/k/purge");
    server.send(Method::DELETE, &owner, &row, &Value::Null).await.expect(200);
    deploy(none()).await;
    deploy(logs()).await;
    assert_eq!(kept().await, Value::Null);
}

#[tokio::test]
async fn a_byte_order_mark_is_no_part_of_a_manifest_and_a_pointer_is_whole() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let form = Form::new().text("html", "<p>hi").text("manifest", "\u{feff}{\"collections\": {}}");
    let made = server.request(Method::POST, "/v1/apps").bearer_auth(&owner.key).multipart(form);
    let made = Answer::of(made).await.expect(201);
    let path = format!("/v1/apps/{}/manifest", made["id"].as_str().unwrap());
    assert_eq!(server.get_as(&owner, &path).await.text, "{\"collections\": {}}");

    let mut schema = json!({"type": "objekt"});
    for n in 0..12 {
        let name = format!("some_rather_long_property_{n:02}");
        schema = json!({"type": "object", "properties": {name: schema}});
    }
    let manifest = json!({"$defs": {"X": schema},
        "collections": {"a": {"schema": {"$ref": "#/$defs/X"}, "permissions": {}}}});
    let body = json!({"html": "<p>hi", "manifest": manifest});
    let refused = server.send(Method::POST, &owner, "/v1/apps", &body).await;
    let path = refused.json()["error"]["details"]["path"].as_str().expect("a path").to_owned();
    assert!(path.len() > 400 && path.ends_with("_00/type"), "{path}");
}

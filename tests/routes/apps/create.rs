//! Creating an app: its record, its slug, its first rows, and once per idempotency key.

use std::collections::BTreeSet;

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Map, Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{HTML, guestbook, open_collection},
};

#[tokio::test]
async fn a_new_app_is_described_whole() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let body = json!({"html": HTML, "slug": "my-guestbook", "manifest": guestbook(),
        "input_data": {"entries": [{"key": "first", "data": {"text": "hi"}}]}});
    let answer = server.send(Method::POST, &owner, "/v1/apps", &body).await;
    let record = answer.expect(201);
    let id = record["id"].as_str().unwrap();
    assert!(id.starts_with("app_"), "{id}");
    assert_eq!(answer.header("location"), format!("/v1/apps/{id}"));
    let url = server.public_url().replace("localhost", "my-guestbook.localhost");
    assert_eq!(record["url"], format!("{url}/"));
    let expected = json!({
        "id": id, "slug": "my-guestbook", "url": record["url"], "share_url": null,
        "status": "dormant", "dormant": true, "version": 1, "visibility": "private",
        "timezone": "UTC", "migration_mode": {"on": false, "until": null},
        "unrestricted": false, "domain": null, "domain_aliases": [], "template": null,
        "owner": {"id": owner.human, "name": "ann"}, "org_id": null,
        "collections": [{"name": "entries", "row_count": 1, "deleted_count": 0, "detached": 0}],
        "usage": {"rows": 1, "rows_limit": 1000, "storage_bytes": record["usage"]["storage_bytes"],
                  "storage_bytes_limit": 33_554_432},
        "created_at": "2026-01-31T12:00:00.000Z", "updated_at": "2026-01-31T12:00:00.000Z",
        "deleted_at": null, "purge_at": null, "warnings": [],
    });
    assert_eq!(record, expected);
    assert!(record["usage"]["storage_bytes"].as_u64().unwrap() > 0);

    for name in [id, "my-guestbook"] {
        let mut shown = server.get_as(&owner, &format!("/v1/apps/{name}")).await.expect(200);
        shown["warnings"] = json!([]);
        assert_eq!(shown, expected);
    }
}

#[tokio::test]
async fn an_app_detail_is_not_sent_twice_while_it_is_the_same() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let app = server.deploy(&owner, json!({})).await;
    let first = server.get_as(&owner, &app.path("")).await;
    let etag = first.header("etag").to_owned();
    assert!(etag.starts_with('"'), "{etag} is strong");
    let ask = || server.call(Method::GET, &app.path(""), &owner).header("if-none-match", &etag);
    let again = Answer::of(ask()).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    assert_eq!(again.header("etag"), etag);
    let patch = json!({"timezone": "Europe/Berlin"});
    server.send(Method::PATCH, &owner, &app.path(""), &patch).await.expect(200);
    assert_eq!(Answer::of(ask()).await.expect(200)["timezone"], "Europe/Berlin");
}

#[tokio::test]
async fn only_an_agent_with_a_human_deploys() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let unclaimed = server.unclaimed_agent().await.key;
    let body = json!({"html": HTML});
    let answer = server.send(Method::POST, &unclaimed, "/v1/apps", &body).await;
    answer.error(ErrorCode::AgentNotClaimed);
    server.send(Method::POST, "nobody", "/v1/apps", &body).await.error(ErrorCode::Unauthorized);
    let request = server.request(Method::POST, "/v1/apps").json(&body);
    let request = request.header("cookie", format!("service_session={}", owner.session));
    Answer::of(request.header("origin", server.public_url())).await.error(ErrorCode::Forbidden);
}

#[tokio::test]
async fn a_slug_is_checked_and_belongs_to_one_app() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.owner("ann").await, server.owner("bob").await);
    for slug in ["ab", "-abc", "abc-", "Abc", "a_b", "a b", "www", "advisories", "", "ab--cd"] {
        let body = json!({"html": HTML, "slug": slug});
        let answer = server.send(Method::POST, &ann, "/v1/apps", &body).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains("slug"), "{error}");
    }
    let long = "a".repeat(64);
    let body = json!({"html": HTML, "slug": long});
    let answer = server.send(Method::POST, &ann, "/v1/apps", &body).await;
    answer.error(ErrorCode::InvalidRequest);

    let app = server.deploy(&ann, json!({"slug": "only-one"})).await;
    let body = json!({"html": HTML, "slug": "only-one"});
    server.send(Method::POST, &bob, "/v1/apps", &body).await.error(ErrorCode::SlugTaken);
    let answer = server.send(Method::POST, &bob, "/v1/apps?dry_run=true", &body).await;
    answer.error(ErrorCode::SlugTaken);
    let named = json!({"app": {"id": app.id, "slug": "only-one"}});
    let own = server.send(Method::POST, &ann, "/v1/apps", &body).await;
    let own = own.error_of_its_own(ErrorCode::SlugTaken);
    assert_eq!(own["details"], named);
    assert!(own["hint"].to_string().contains("/versions"), "{own}");
    // A deleted app keeps its slug: it may come back.
    Answer::of(server.call(Method::DELETE, &app.path(""), &ann)).await;
    let own = server.send(Method::POST, &ann, "/v1/apps", &body).await;
    let own = own.error_of_its_own(ErrorCode::SlugTaken);
    assert_eq!(own["details"], named);
    assert!(own["hint"].to_string().contains("/restore"), "{own}");
    let theirs = server.send(Method::POST, &bob, "/v1/apps", &body).await;
    assert_eq!(theirs.error(ErrorCode::SlugTaken)["details"], Value::Null, "nobody else is told");
    let drawn = server.deploy(&bob, json!({})).await;
    assert_eq!(drawn.slug.split('-').count(), 3, "{}", drawn.slug);
}

#[tokio::test]
async fn a_link_app_gets_its_slug_and_its_token_from_the_server() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let by_request = json!({"html": HTML, "slug": "chosen", "visibility": "link"});
    let by_manifest = json!({"html": HTML, "slug": "chosen", "manifest": {"visibility": "link"}});
    for body in [by_request, by_manifest] {
        let answer = server.send(Method::POST, &owner, "/v1/apps", &body).await;
        answer.error(ErrorCode::SlugNotAllowedForLink);
    }
    let app = server.deploy(&owner, json!({"visibility": "link"})).await;
    let share = app.record["share_url"].as_str().expect("a share link");
    let url = app.record["url"].as_str().unwrap();
    assert!(share.starts_with(&format!("{url}s/share/rk_share_")), "{share}");
    let shown = server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!(shown["share_url"], share);
}

#[tokio::test]
async fn unknown_and_misplaced_members_are_refused_by_name() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let cases = [
        (json!({}), "html"),
        (json!({"html": ""}), "html"),
        (json!({"html": HTML, "sulg": "abc"}), "sulg"),
        (json!({"html": HTML, "force": true}), "force"),
        (json!({"html": HTML, "visibility": "secret"}), "`visibility`: must be private, link"),
        (json!({"html": HTML, "visibility": "secret"}), "not \"secret\""),
        (json!({"html": HTML, "timezone": "Mars/Base"}), "`timezone`"),
        (json!({"html": HTML, "timezone": "Mars/Base"}), "not \"Mars/Base\""),
        (json!({"html": HTML, "org_id": "org_x"}), "org_id"),
        (
            json!({"html": HTML, "manifest": {"visibility": "public"}, "visibility": "private"}),
            "visibility",
        ),
        (json!({"html": HTML, "visibility": {"public": null}}), "visibility"),
        (json!({"html": HTML, "assets": [["a.css", null, "p{}", null]]}), "assets[0]"),
        (json!({"html": HTML, "input_data": {"entries": [["k", {}]]}}), "input_data.entries[0]"),
        (json!({"html": HTML, "assets": [{"path": "a.js"}]}), "a.js"),
        (json!({"html": HTML, "assets": [{"path": "a.js", "text": "", "base64": ""}]}), "a.js"),
        (json!({"html": HTML, "assets": [{"path": "a.js", "base64": "%%"}]}), "a.js"),
        (json!({"html": HTML, "assets": [{"path": "../a.js", "text": ""}]}), "../a.js"),
        (json!({"html": HTML, "assets": [{"path": "s/sdk.js", "text": ""}]}), "s/sdk.js"),
        (json!({"html": HTML, "assets": [{"path": "index.html", "text": ""}]}), "index.html"),
        (
            json!({"html": HTML, "assets": [{"path": "a", "text": ""}, {"path": "/a", "text": ""}]}),
            "twice",
        ),
    ];
    for (body, named) in cases {
        let answer = server.send(Method::POST, &owner, "/v1/apps", &body).await;
        let error = answer.error(ErrorCode::InvalidRequest);
        assert!(error["message"].as_str().unwrap().contains(named), "{error} names {named}");
    }
    let body = json!({"html": HTML});
    let answer = server.send(Method::POST, &owner, "/v1/apps?dryrun=1", &body).await;
    answer.error(ErrorCode::InvalidRequest);
    let list = server.get_as(&owner, "/v1/apps").await.expect(200);
    assert_eq!(list["items"], json!([]), "nothing was made");
}

#[tokio::test]
async fn a_row_is_told_how_many_violations_are_left_out() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
    manifest["$defs"] = json!({"Entry": {"additionalProperties": {"type": "string"}}});
    let body = json!({"html": HTML, "manifest": manifest, "slug": "strict"});
    server.send(Method::POST, &owner, "/v1/apps", &body).await.expect(201);
    let create = async |fields: usize| {
        let data: Map<String, Value> = (0..fields).map(|n| (format!("f{n}"), json!(n))).collect();
        let path = "/v1/apps/strict/collections/entries";
        server.send(Method::POST, &owner, path, &json!({"data": data})).await
    };
    for (fields, left_out) in [(20, json!(null)), (21, json!(1)), (520, json!(500))] {
        let error = create(fields).await.error(ErrorCode::RowSchemaViolation);
        let details = &error["details"];
        assert_eq!(details["violations"].as_array().map(Vec::len), Some(20), "{fields}");
        assert_eq!(details["left_out"], left_out, "{fields}");
    }
}

#[tokio::test]
async fn first_rows_are_checked_like_any_row() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
    manifest["collections"]["entries"]["unique"] = json!(["email"]);
    manifest["$defs"] = json!({"Entry": {"type": "object", "required": ["email"],
        "properties": {"email": {"type": "string", "maxLength": 100}}}});
    let create = |input: Value| {
        let body = json!({"html": HTML, "manifest": manifest, "input_data": input});
        let (server, owner) = (&server, &owner);
        async move { server.send(Method::POST, owner, "/v1/apps", &body).await }
    };
    let error = create(json!({"entries": [{"data": {"email": 7}}]})).await;
    let error = error.error(ErrorCode::InputSchemaViolation);
    assert_eq!(error["details"]["violations"][0]["path"], "/input_data/entries/0/data/email");
    // Of all rows at once, up to a bound.
    let rows: Vec<_> = (0..30).map(|n| json!({"data": {"email": n}})).collect();
    let error = create(json!({"entries": rows})).await.error(ErrorCode::InputSchemaViolation);
    assert!(error["message"].as_str().unwrap().starts_with("`input_data.entries[0]`"), "{error}");
    let told = error["details"]["violations"].as_array().unwrap();
    assert_eq!(told.len(), 20);
    assert_eq!(told[19]["path"], "/input_data/entries/19/data/email");
    assert_eq!(error["details"]["left_out"], Value::Null, "the others were not looked at");
    let missing = create(json!({"nowhere": []})).await;
    let missing = missing.error_of_its_own(ErrorCode::CollectionNotFound);
    assert!(missing["hint"].to_string().contains("`input_data`"), "{missing}");
    let twins = json!({"entries": [{"data": {"email": "A@x"}}, {"data": {"email": " a@X "}}]});
    let error = create(twins).await.error(ErrorCode::UniqueConflict);
    assert_eq!(error["details"]["field"], "email");
    let big = "x".repeat(70_000);
    let error = create(json!({"entries": [{"data": {"email": "a", "big": big}}]})).await;
    error.error(ErrorCode::PayloadTooLarge);
    for key in ["batch", "", "a\nb"] {
        let answer = create(json!({"entries": [{"key": key, "data": {"email": "a"}}]})).await;
        answer.error(ErrorCode::InvalidRequest);
    }
    let same = json!({"entries": [{"key": "a", "data": {"email": "a"}},
        {"key": "a", "data": {"email": "b"}}]});
    create(same).await.error(ErrorCode::InvalidRequest);
    create(json!({"entries": [{"data": []}]})).await.error(ErrorCode::InvalidRequest);
    // What is wrong with any row at an earlier step is told before what is with another at a later.
    let (fits, misfit) = (json!({"data": {"email": "a"}}), json!({"data": {}}));
    let input = json!({"entries": [misfit, {"key": "batch", "data": {}}], "nowhere": []});
    create(input).await.error(ErrorCode::InvalidRequest);
    let input = json!({"entries": [misfit], "nowhere": []});
    create(input).await.error_of_its_own(ErrorCode::CollectionNotFound);
    let input = json!({"entries": [fits, fits, misfit]});
    create(input).await.error(ErrorCode::InputSchemaViolation);
    let list = server.get_as(&owner, "/v1/apps").await.expect(200);
    assert_eq!(list["items"], json!([]), "nothing was made");
}

#[tokio::test]
async fn quotas_of_apps_and_rows_hold() {
    let builder = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "2");
    let builder = builder.set("MAX_ROWS_PER_APP", "3").set("MAX_ROWS_PER_ACCOUNT", "4");
    let server = builder.start().await;
    let owner = server.owner("ann").await;
    let rows = |n: usize| {
        let rows: Vec<Value> = (0..n).map(|_| json!({"data": {}})).collect();
        json!({"html": HTML, "manifest": {"collections": {"entries": open_collection()}},
            "input_data": {"entries": rows}})
    };
    for path in ["/v1/apps?dry_run=true", "/v1/apps"] {
        let answer = server.send(Method::POST, &owner, path, &rows(4)).await;
        let error = answer.error_of_its_own(ErrorCode::AppQuotaExceeded);
        assert_eq!(error["details"]["dimension"], "rows");
        // There is no row to delete yet.
        assert!(error["hint"].as_str().unwrap().starts_with("Send fewer"), "{error}");
    }
    let first = server.deploy(&owner, rows(3)).await;
    for path in ["/v1/apps?dry_run=true", "/v1/apps"] {
        let answer = server.send(Method::POST, &owner, path, &rows(2)).await;
        let error = answer.error(ErrorCode::AccountQuotaExceeded);
        assert_eq!(error["details"]["dimension"], "rows");
    }
    server.deploy(&owner, rows(1)).await;
    for path in ["/v1/apps?dry_run=true", "/v1/apps"] {
        let answer = server.send(Method::POST, &owner, path, &rows(0)).await;
        let error = answer.error(ErrorCode::AccountQuotaExceeded);
        assert_eq!(error["details"], json!({"dimension": "apps", "limit": 2}));
    }
    // What is in the trash does not count: neither the app nor its rows.
    Answer::of(server.call(Method::DELETE, &first.path(""), &owner)).await;
    server.deploy(&owner, rows(3)).await;
    // A slug that is taken is told before any quota.
    let mut taken = rows(4);
    let list = server.get_as(&owner, "/v1/apps").await.expect(200);
    taken["slug"] = list["items"][0]["slug"].clone();
    for path in ["/v1/apps", "/v1/apps?dry_run=true"] {
        let answer = server.send(Method::POST, &owner, path, &taken).await;
        answer.error_of_its_own(ErrorCode::SlugTaken);
    }
}

#[tokio::test]
async fn an_idempotency_key_makes_one_app() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let post = |body: &Value, key: &str| {
        let request = server.call(Method::POST, "/v1/apps", &owner).json(body);
        Answer::of(request.header("idempotency-key", key))
    };
    let body = json!({"html": HTML, "visibility": "link"});
    let first = post(&body, "k1").await;
    let mut made = first.expect(201);
    assert!(made["share_url"].is_string());
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let again = post(&body, "k1").await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.header("location"), first.header("location"));
    made["share_url"] = Value::Null;
    assert_eq!(again.expect(201), made, "the same answer, without its secret");
    post(&json!({"html": "<p>other"}), "k1").await.error(ErrorCode::Conflict);

    // A slug that is taken now, by the first one's app, is not in the way of its own replay.
    let named = json!({"html": HTML, "slug": "named-one"});
    let first = post(&named, "k2").await.expect(201);
    assert_eq!(post(&named, "k2").await.expect(201)["id"], first["id"]);
    // Also when it comes many times at once.
    let named = json!({"html": HTML, "slug": "named-two"});
    let all = join_all((0..8).map(|_| post(&named, "k3"))).await;
    let ids: BTreeSet<_> = all.iter().map(|one| one.expect(201)["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);

    // A client need not send the members of a manifest in one order.
    let request = |manifest: &str| {
        let request = server.call(Method::POST, "/v1/apps", &owner);
        let request = request.header("content-type", "application/json");
        Answer::of(
            request
                .header("idempotency-key", "k4")
                .body(format!(r#"{{"html": "<p>one", "manifest": {manifest}}}"#)),
        )
    };
    let first = request(r#"{"cdn": true, "visibility": "public"}"#).await.expect(201);
    let again = request(r#"{"visibility": "public", "cdn": true}"#).await.expect(201);
    assert_eq!(again["id"], first["id"]);
    request(r#"{"visibility": "public", "cdn": false}"#).await.error(ErrorCode::Conflict);
    let list = server.get_as(&owner, "/v1/apps").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 4);

    // Another account's key of the same name is another key.
    let bob = server.owner("bob").await;
    let request = server.call(Method::POST, "/v1/apps", &bob).json(&body);
    let other = Answer::of(request.header("idempotency-key", "k1")).await.expect(201);
    assert_ne!(other["id"], made["id"]);
}

#[tokio::test]
async fn a_creation_that_comes_twice_at_once_does_not_take_its_own_room() {
    let server = TestServer::builder().set("MAX_ROWS_PER_ACCOUNT", "60").start().await;
    let owner = server.owner("ann").await;
    let rows = vec![json!({"data": {}}); 40];
    let body = json!({"html": HTML, "manifest": guestbook(), "input_data": {"entries": rows}});
    let post = || {
        let request = server.call(Method::POST, "/v1/apps", &owner).json(&body);
        Answer::of(request.header("idempotency-key", "k1"))
    };
    let all = join_all((0..8).map(|_| post())).await;
    let ids: BTreeSet<_> = all.iter().map(|one| one.expect(201)["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn a_dry_run_judges_by_the_rows_that_will_be_the_newest() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let row = |n: usize| match n {
        ..100 => json!({"data": {"password": "hunter2"}}),
        100..250 => json!({"data": {"n": n}}),
        _ => json!({"data": {"contact": format!("person{n}@example.org")}}),
    };
    let rows: Vec<_> = (0..300).map(row).collect();
    let body = json!({"html": HTML, "visibility": "public", "manifest": guestbook(),
        "input_data": {"entries": rows}});
    let answer = server.send(Method::POST, &owner, "/v1/apps?dry_run=true", &body).await;
    let would = answer.expect(200)["exposure"]["added"].clone();
    server.deploy(&owner, body).await;
    let report = server.get_as(&owner, "/v1/apps/advisories").await.expect(200);
    let told = |finding: &Value| finding["message"].to_string();
    let is: Vec<_> = report["items"].as_array().expect("items").iter().map(told).collect();
    assert_eq!(would.as_array().expect("findings").iter().map(told).collect::<Vec<_>>(), is);
    assert!(is[0].contains("e-mail"), "{is:?}");
}

#[tokio::test]
async fn a_dry_run_makes_nothing() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let body = json!({"html": HTML, "slug": "not-yet", "visibility": "public",
        "manifest": guestbook(),
        "input_data": {"entries": [{"data": {"email": "someone@example.org"}}]}});
    let answer = server.send(Method::POST, &owner, "/v1/apps?dry_run=true", &body).await;
    let would = answer.expect(200);
    assert_eq!((&would["dry_run"], &would["version"]), (&json!(true), &json!(1)));
    assert_eq!(would["breaks"], json!([]));
    let worst = &would["exposure"]["added"][0];
    assert_eq!((&worst["collection"], &worst["rows"]), (&json!("entries"), &json!(1)), "{would}");
    server.get_as(&owner, "/v1/apps/not-yet").await.error(ErrorCode::AppNotFound);
    assert_eq!(server.get_as(&owner, "/v1/apps").await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn rules_of_features_to_come_are_accepted_with_a_warning() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["webhooks"] = json!([{"on": "create", "collection": "entries",
        "url": "https://hooks.example.com/in"}]);
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    let expected = json!([{"path": "/webhooks/0", "message": "not active yet"}]);
    assert_eq!(app.record["warnings"], expected);
}

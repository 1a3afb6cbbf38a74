//! Each code is really answered: a request for each, sent through HTTP, and the whole envelope
//! looked at. What a code means in every place where it may come is said by the tests of its part.

use reqwest::Method;
use rookery_domain::{
    ErrorCode::{self, *},
    principal::Caller,
};
use serde_json::{Value, json};

use crate::{
    harness::{Answer, TestServer, forged},
    sharing::world::{Site, World, text},
};

/// What was expected, and what came.
pub type Said = (ErrorCode, Answer);

/// A collection for each refusal of rows.
fn manifest() -> Value {
    let of = |read: Value, write: Value, update: Value, delete: Value| json!({"permissions": {"read": read, "write": write, "update": update, "delete": delete}});
    let (owner, anyone) = (json!(["owner"]), json!(["anyone"]));
    let mut open = of(anyone.clone(), anyone.clone(), anyone.clone(), anyone.clone());
    open["unique"] = json!(["u"]);
    open["schema"] = json!({"$ref": "#/$defs/Thing"});
    let mut log = of(anyone.clone(), anyone.clone(), json!([]), anyone.clone());
    log["appendOnly"] = json!(true);
    let mut guarded = of(anyone.clone(), anyone.clone(), json!([]), owner.clone());
    guarded["antiAbuse"] = json!("challenge");
    let mut budget = of(anyone.clone(), anyone.clone(), json!([]), owner.clone());
    budget["anonWriteBudget"] = json!({"perAppDay": 1});
    let mut linked = of(anyone.clone(), anyone.clone(), anyone.clone(), owner.clone());
    linked["relations"] = json!({"parent": {"collection": "open", "set": "writer"}});
    let authors = of(anyone.clone(), anyone.clone(), json!(["author"]), owner.clone());
    let safe = of(owner.clone(), owner.clone(), owner.clone(), owner.clone());
    let board = of(anyone.clone(), owner.clone(), owner.clone(), owner);
    json!({
        "$defs": {"Thing": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "events": {"ping": {"schema": {"$ref": "#/$defs/Thing"}}},
        "collections": {"open": open, "log": log, "guarded": guarded, "budget": budget,
            "linked": linked, "authors": authors, "safe": safe, "board": board},
    })
}

/// Refusals of rows, events and the feed.
pub async fn of_rows() -> Vec<Said> {
    let world = World::start().await;
    let site = world.site_of("public", manifest()).await;
    let guest = site.guest().await;
    for name in ["open", "log", "linked", "authors", "board"] {
        let data = json!({"u": "a", "parent": "k"});
        let row = json!({"key": "row", "data": data});
        site.post(&format!("/collections/{name}"), row).await.expect(201);
    }
    let body = json!({"collections": ["board"], "operations": ["read"]});
    let (_, credential) = site.credential(body).await;
    let path = |rest: &str| format!("/s/collections/{rest}");
    let create = async |name: &str, data: Value| {
        site.send(&guest, Method::POST, &path(name), json!({"data": data})).await
    };
    let change = async |row: &str| {
        let body = json!({"data": {"parent": "other"}});
        site.send(&guest, Method::PATCH, &path(row), body).await
    };
    let delete = async |row: &str| Answer::of(site.by(&guest, Method::DELETE, &path(row))).await;
    create("budget", json!({})).await.expect(201);
    let challenged = site.by(&guest, Method::POST, &path("guarded")).json(&json!({"data": {}}));
    let challenged = challenged.header("x-service-challenge-token", "nonsense");
    let event = async |kind: &str, data: Value| {
        site.send(&guest, Method::POST, "/s/events", json!({"type": kind, "data": data})).await
    };
    let scope = Answer::of(site.with(&credential, Method::GET, "/collections/open"));
    let mismatch = json!({"data": {}, "if_match": 9});
    let mismatch = site.send(&guest, Method::PATCH, &path("open/row"), mismatch).await;
    let cursor = text(&site.see(&guest, "/s/feed").await.expect(200), "cursor");
    let mut said = vec![
        (AppendOnly, delete("log/row").await),
        (AuthorNotAllowed, change("authors/row").await),
        (ChallengeRequired, create("guarded", json!({})).await),
        (ChallengeVerificationFailed, Answer::of(challenged).await),
        (CollectionCountForbidden, site.see(&guest, &path("open/count")).await),
        (CollectionDeleteForbidden, delete("board/row").await),
        (CollectionNotFound, site.see(&guest, &path("nowhere")).await),
        (CollectionReadForbidden, site.see(&guest, &path("safe")).await),
        (CollectionWriteBudgetExceeded, create("budget", json!({})).await),
        (CollectionWriteForbidden, create("board", json!({})).await),
        (Conflict, mismatch),
        (CredentialScopeForbidden, scope.await),
        (ParticipantTokenInvalid, site.see(&forged(&guest), &path("open")).await),
        (PayloadTooLarge, event("ping", json!({"t": "x".repeat(17 << 10)})).await),
        (PurgeForbidden, delete("open/row/purge").await),
        (RelationSetForbidden, change("linked/row").await),
        (RowNotFound, site.see(&guest, &path("open/none")).await),
        (RowSchemaViolation, create("open", json!({"n": "one"})).await),
        (SchemaViolation, event("ping", json!({"n": "one"})).await),
        (UniqueConflict, create("open", json!({"u": "A "})).await),
        (UnknownEventType, event("pong", json!({})).await),
    ];
    // Other rights than those that the cursor was given for.
    let mut narrower = manifest();
    narrower["collections"]["open"]["permissions"]["read"] = json!(["owner"]);
    site.redeploy(narrower).await;
    let feed = format!("/s/feed?wait=0&since={cursor}");
    said.push((ResyncRequired, site.see(&guest, &feed).await));
    said
}

/// Refusals of deploys and of what becomes of an app. Those of a manifest's rules have a table of
/// their own, in `routes::apps::manifest`.
pub async fn of_apps() -> Vec<Said> {
    let world = World::start().await;
    let site = world.site_of("private", manifest()).await;
    let key = &world.agent.key;
    let deploy = async |body: Value| world.server.send(Method::POST, key, "/v1/apps", &body).await;
    let html = "<p>app</p>";
    for row in ["a", "b"] {
        let row = json!({"key": row, "data": {"n": 1}});
        site.post("/collections/open", row).await.expect(201);
    }
    let version = async |manifest: Value| {
        site.post("/versions", json!({"html": html, "manifest": manifest})).await
    };
    let mut narrower = manifest();
    narrower["collections"].as_object_mut().expect("collections").remove("open");
    let mut unique = manifest();
    unique["collections"]["open"]["unique"] = json!(["n"]);
    let seeds = json!({"open": [{"data": {"n": "one"}}]});
    let large = json!({"html": html, "manifest": {"roles": {}, "$defs":
        {"A": {"type": "object", "description": "x".repeat(300 << 10)}}}});
    let mut said = vec![
        (AppNotFound, world.server.get_as(key, "/v1/apps/none-such").await),
        (
            InputSchemaViolation,
            deploy(json!({"html": html, "manifest": manifest(), "input_data": seeds})).await,
        ),
        (InvalidRequest, deploy(json!({"html": html, "odd": 1})).await),
        (ManifestIncompatibleRedeploy, version(narrower).await),
        (ManifestTooLarge, deploy(large).await),
        (
            SlugNotAllowedForLink,
            deploy(json!({"html": html, "visibility": "link", "slug": "my-own"})).await,
        ),
        (SlugTaken, deploy(json!({"html": html, "slug": site.app.slug})).await),
        (UniqueBackfillConflict, version(unique).await),
    ];
    site.delete("").await;
    said.push((SoftDeleted, site.patch("", json!({"timezone": "UTC"})).await));
    site.post("/restore", json!({})).await.expect(200);
    close(&site).await;
    said.push((AppClosed, site.patch("", json!({"timezone": "UTC"})).await));
    said
}

/// Closes an app, as an operator does.
async fn close(site: &Site<'_>) {
    use rookery_actors::app::message::{AppOp, Op};
    let handle = site.handle().await;
    let owner = Caller::human(handle.record().owner);
    handle.apply(owner, Op::App(AppOp::Close)).await.expect("closed");
}

/// Refusals of who asks and of how it asks.
pub async fn of_callers() -> Vec<Said> {
    let world = World::start().await;
    let site = world.site_of("private", manifest()).await;
    let server = &world.server;
    let unclaimed = server.unclaimed_agent().await;
    let deploy = json!({"html": "<p>app</p>"});
    let by_session = server.by(&world.owner, Method::GET, "/v1/apps");
    let elsewhere = server.request(Method::POST, "/v1/self/claim-codes");
    let elsewhere = elsewhere.header("cookie", &world.owner.cookie);
    let body = json!({"token": "nonsense"});
    let session = site.visit(Method::POST, "/s/session").json(&body);
    vec![
        (AgentNotClaimed, server.send(Method::POST, &unclaimed.key, "/v1/apps", &deploy).await),
        (CsrfOriginMismatch, Answer::of(elsewhere.header("origin", "https://evil.example")).await),
        (Forbidden, Answer::of(by_session).await),
        (GrantInvalid, Answer::of(session).await),
        (MethodNotAllowed, Answer::of(server.request(Method::PUT, "/v1/apps")).await),
        (NotFound, server.get("/v1/nowhere").await),
        (NotImplemented, server.get("/v1/auth/idp").await),
        (Unauthorized, server.get("/v1/apps").await),
    ]
}

/// Refusals that need a server with other settings.
pub async fn of_limits() -> Vec<Said> {
    let builder = TestServer::builder()
        .set("MAX_ROWS_PER_APP", "1")
        .set("MAX_APPS_PER_ACCOUNT", "1")
        .set("ROOKERY__SERVER__MIN_CLI_VERSION", "1.4.0");
    let world = World::start_with(builder).await;
    let site = world.site_of("private", manifest()).await;
    let row = async || site.post("/collections/log", json!({"data": {}})).await;
    row().await.expect(201);
    let body = json!({"html": "<p>more</p>"});
    let another = world.server.send(Method::POST, &world.agent.key, "/v1/apps", &body).await;
    let old = world.server.request(Method::GET, "/v1/auth/status");
    let old = Answer::of(old.header("x-service-cli-version", "1.3.9")).await;
    let mut said = vec![
        (AppQuotaExceeded, row().await),
        (AccountQuotaExceeded, another),
        (CliUpgradeRequired, old),
    ];
    let busy = TestServer::builder()
        .set("ROOKERY__RATE_LIMIT__BURST", "1")
        .set("ROOKERY__RATE_LIMIT__PER_MINUTE", "1")
        .start()
        .await;
    busy.get("/v1/auth/status").await;
    said.push((RateLimited, busy.get("/v1/auth/status").await));
    said
}

/// Refusals that only routes made for tests answer, so far.
pub async fn of_probes() -> Vec<Said> {
    let builder = TestServer::builder().with_probes();
    let server = builder.set("COMMUNITY_REVIEW_OPERATOR_EMAILS", "ops@example.org").start().await;
    let human = server.directory.human("cookie");
    server.directory.agent("key", Some(human));
    vec![
        (EmailNotVerified, server.get_as("key", "/v1/probe/operator").await),
        (Internal, server.get("/v1/probe/panic").await),
    ]
}

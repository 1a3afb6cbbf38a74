//! What a service credential reaches: the intersection of its allowlist and what the owner may.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::world::{Site, World, manifest, text};
use crate::harness::Answer;

/// One credential at work.
struct Service<'a> {
    site: &'a Site<'a>,
    token: String,
}

impl<'a> Service<'a> {
    async fn of(site: &'a Site<'a>, body: Value) -> Self {
        Self { site, token: site.credential(body).await.1 }
    }

    async fn ask(&self, method: Method, rest: &str) -> Answer {
        Answer::of(self.site.with(&self.token, method, &format!("/collections/{rest}"))).await
    }

    async fn send(&self, method: Method, rest: &str, body: Value) -> Answer {
        let path = format!("/collections/{rest}");
        Answer::of(self.site.with(&self.token, method, &path).json(&body)).await
    }
}

#[tokio::test]
async fn each_operation_is_allowed_by_its_name_only() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.row("safe", "k").await;
    for allowed in ["read", "create", "update", "delete", "count"] {
        let service =
            Service::of(&site, json!({"collections": ["safe"], "operations": [allowed]})).await;
        let (data, feed) = (json!({"data": {}}), "/feed?collection=safe&wait=0");
        let asked = [
            ("read", service.ask(Method::GET, "safe").await),
            ("read", service.ask(Method::GET, "safe/k").await),
            ("create", service.send(Method::POST, "safe", data.clone()).await),
            ("update", service.send(Method::PATCH, "safe/k", data).await),
            ("count", service.ask(Method::GET, "safe/count").await),
            // It would wait for nothing.
            ("read", Answer::of(site.with(&service.token, Method::GET, feed)).await),
        ];
        for (operation, answer) in asked {
            if operation == allowed {
                assert!(answer.status < 300, "{operation}: {}", answer.text);
            } else {
                answer.error(ErrorCode::CredentialScopeForbidden);
            }
        }
        let deleted = service.ask(Method::DELETE, "safe/k").await;
        if allowed == "delete" {
            deleted.expect(200);
            site.row("safe", "k").await;
        } else {
            deleted.error(ErrorCode::CredentialScopeForbidden);
        }
    }
}

#[tokio::test]
async fn beyond_its_collections_it_has_nothing_whatever_is_there() {
    let world = World::start().await;
    let site = world.site("public").await;
    site.row("board", "k").await;
    let all = json!(["read", "create", "update", "delete", "count"]);
    let service = Service::of(&site, json!({"collections": ["safe"], "operations": all})).await;
    for rest in ["board", "board/k", "board/none", "board/count"] {
        service.ask(Method::GET, rest).await.error(ErrorCode::CredentialScopeForbidden);
    }
    service.ask(Method::GET, "nowhere").await.error(ErrorCode::CollectionNotFound);
    // The trash, restore and purge are no operations of a collection.
    site.row("safe", "s").await;
    let trash = [
        (Method::GET, "board/deleted"),
        (Method::GET, "safe/deleted"),
        (Method::POST, "safe/s/restore"),
        (Method::DELETE, "safe/s/purge"),
        (Method::GET, "safe?include_deleted=true"),
    ];
    for (method, rest) in trash {
        let refused = service.ask(method, rest).await;
        let error = refused.error_of_its_own(ErrorCode::CredentialScopeForbidden);
        assert!(error["hint"].as_str().unwrap().contains("only the owner may"), "{error}");
    }
    let batch = json!({"rows": [{"key": "a", "data": {}}]});
    let refused = service.send(Method::POST, "board/batch", batch.clone()).await.expect(200);
    assert_eq!(refused["results"][0]["error"]["code"], "credential_scope_forbidden");
    let written = service.send(Method::POST, "safe/batch", batch).await.expect(200);
    assert_eq!(written["results"][0]["status"], 201);
    let event = site.with(&service.token, Method::POST, "/events");
    let event = Answer::of(event.json(&json!({"type": "ping", "data": {}}))).await;
    let error = event.error_of_its_own(ErrorCode::CredentialScopeForbidden);
    assert!(error["hint"].as_str().unwrap().contains("another credential does not"), "{error}");
}

#[tokio::test]
async fn beyond_what_the_owner_may_it_gets_the_collections_own_refusal() {
    let world = World::start().await;
    let site = world.site("private").await;
    let all = json!(["read", "create", "update", "delete", "count"]);
    let service = Service::of(&site, json!({"mode": "following", "operations": all})).await;
    let made = service.send(Method::POST, "blind", json!({"key": "b", "data": {}})).await;
    let id = made.expect(201)["creator"].clone();
    assert_eq!(id["kind"], "credential");
    service.ask(Method::GET, "blind").await.error(ErrorCode::CollectionReadForbidden);
    service.ask(Method::GET, "blind/b").await.error(ErrorCode::RowNotFound);
    service.ask(Method::GET, "blind/count").await.error(ErrorCode::CollectionCountForbidden);
    service.ask(Method::DELETE, "blind/b").await.error(ErrorCode::RowNotFound);
    // `press` is the editors': the owner is none, and neither is its credential.
    let denied = service.send(Method::POST, "press", json!({"data": {}})).await;
    let error = denied.error(ErrorCode::CollectionWriteForbidden);
    assert_eq!(error["required"], json!(["editor"]));
}

#[tokio::test]
async fn explicit_stays_with_what_it_names_and_following_goes_along() {
    let world = World::start().await;
    let site = world.site("private").await;
    let explicit =
        Service::of(&site, json!({"collections": ["safe"], "operations": ["read"]})).await;
    let following = Service::of(
        &site,
        json!({
            "mode": "following", "operations": ["read", "create"],
            "collections": [{"name": "safe", "operations": ["count"]}],
        }),
    )
    .await;
    let mut later = manifest();
    later["collections"]["later"] = later["collections"]["safe"].clone();
    site.redeploy(later).await;
    explicit.ask(Method::GET, "later").await.error(ErrorCode::CredentialScopeForbidden);
    explicit.ask(Method::GET, "safe").await.expect(200);
    following.send(Method::POST, "later", json!({"key": "k", "data": {}})).await.expect(201);
    following.ask(Method::GET, "later/k").await.expect(200);
    following.ask(Method::GET, "later/count").await.error(ErrorCode::CredentialScopeForbidden);
    // What it names is what it may there, also when that is less than elsewhere.
    following.ask(Method::GET, "safe").await.error(ErrorCode::CredentialScopeForbidden);
    following.ask(Method::GET, "safe/count").await.expect(200);
}

#[tokio::test]
async fn who_may_not_read_is_shown_no_more_of_a_row_than_it_sent() {
    let world = World::start().await;
    let site = world.site("private").await;
    site.row("safe", "k").await;
    let body = json!({"collections": ["safe"], "operations": ["create", "update", "delete"]});
    let service = Service::of(&site, body).await;
    let made = service.send(Method::POST, "safe", json!({"key": "n", "data": {"x": 1}})).await;
    assert_eq!(made.expect(201)["data"], json!({"x": 1}));

    let keyed = json!({"key": "k", "data": {"of": "me"}});
    let existed = service.send(Method::POST, "safe", keyed.clone()).await;
    assert_eq!(existed.header("row-existed"), "true");
    let existed = existed.expect(200);
    assert_eq!((&existed["data"], &existed["version"]), (&json!({}), &json!(1)));
    let batch = service.send(Method::POST, "safe/batch", json!({"rows": [keyed]})).await;
    assert_eq!(batch.expect(200)["results"][0]["row"]["data"], json!({}));

    let patch = async |data: Value| {
        service.send(Method::PATCH, "safe/k", json!({"data": data})).await.expect(200)["data"]
            .clone()
    };
    assert_eq!(patch(json!({})).await, json!({}));
    assert_eq!(patch(json!({"x": 2})).await, json!({"x": 2}));
    // Nor what is inside of an object that it only named.
    let nested = json!({"data": {"o": {"secret": 1, "in": {"secret": 2}}}});
    site.patch("/collections/safe/k", nested).await.expect(200);
    assert_eq!(patch(json!({"o": {}})).await, json!({"o": {}}));
    let named = json!({"o": {"in": {"mine": 3, "gone": null}}});
    assert_eq!(patch(named).await, json!({"o": {"in": {"mine": 3}}}));
    let whole = json!({"data": {"y": 3}, "replace": true});
    let replaced = service.send(Method::PATCH, "safe/k", whole).await.expect(200);
    assert_eq!(replaced["data"], json!({"y": 3}));
    assert_eq!(service.ask(Method::DELETE, "safe/k").await.expect(200)["data"], json!({}));
}

#[tokio::test]
async fn who_may_not_read_is_not_told_of_a_row_by_a_refusal() {
    let world = World::start().await;
    let site = world.site("private").await;
    let mut strict = manifest();
    strict["$defs"] = json!({"Ballot": {"type": "object", "if": {"required": ["closed"]},
        "then": {"properties": {"closed": true}, "additionalProperties": false}}});
    strict["collections"]["safe"]["schema"] = json!({"$ref": "#/$defs/Ballot"});
    site.redeploy(strict).await;
    site.row("safe", "k").await;
    let secret = json!({"data": {"alice@example.org": 5}});
    site.patch("/collections/safe/k", secret).await.expect(200);
    let of = async |operations: Value| {
        Service::of(&site, json!({"collections": ["safe"], "operations": operations})).await
    };
    let (blind, seeing) = (of(json!(["update"])).await, of(json!(["read", "update"])).await);
    let long = "x".repeat(65_500);
    for (data, code) in [
        (json!({"closed": 1}), ErrorCode::RowSchemaViolation),
        (json!({"long": long}), ErrorCode::PayloadTooLarge),
    ] {
        let body = json!({"data": data});
        let told = blind.send(Method::PATCH, "safe/k", body.clone()).await;
        let told = told.error_of_its_own(code);
        assert_eq!(told["details"], Value::Null);
        let message = told["message"].as_str().expect("a message");
        assert!(message.starts_with("the row would") && !message.contains("alice"), "{message}");
        assert!(!message.contains("655"), "{message}");
        seeing.send(Method::PATCH, "safe/k", body).await.error(code);
    }
    // Of what it sends itself it is told.
    let whole = json!({"data": {"closed": 1, "mine": 2}, "replace": true});
    let refused = blind.send(Method::PATCH, "safe/k", whole).await;
    assert!(refused.error(ErrorCode::RowSchemaViolation).to_string().contains("mine"));
}

#[tokio::test]
async fn own_is_what_the_credential_itself_created() {
    let world = World::start().await;
    let site = world.site("private").await;
    let all = json!(["read", "create", "update", "delete", "count"]);
    let body = json!({"collections": ["safe"], "operations": all, "scope": "own"});
    let (one, two) = (Service::of(&site, body.clone()).await, Service::of(&site, body).await);
    site.row("safe", "theirs").await;
    one.send(Method::POST, "safe", json!({"key": "mine", "data": {}})).await.expect(201);
    let listed = one.ask(Method::GET, "safe").await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(one.ask(Method::GET, "safe/count").await.expect(200)["count"], 1);
    assert_eq!(two.ask(Method::GET, "safe/count").await.expect(200)["count"], 0);
    let data = json!({"data": {"x": 1}});
    for hidden in ["theirs", "none"] {
        one.ask(Method::GET, &format!("safe/{hidden}")).await.error(ErrorCode::RowNotFound);
        let path = format!("safe/{hidden}");
        one.send(Method::PATCH, &path, data.clone()).await.error(ErrorCode::RowNotFound);
        one.ask(Method::DELETE, &path).await.error(ErrorCode::RowNotFound);
    }
    let keyed = json!({"key": "theirs", "data": {}});
    one.send(Method::POST, "safe", keyed).await.error(ErrorCode::RowNotFound);
    two.send(Method::PATCH, "safe/mine", data.clone()).await.error(ErrorCode::RowNotFound);
    one.send(Method::PATCH, "safe/mine", data.clone()).await.expect(200);
    // Somebody else's edit does not make it less its own.
    site.patch("/collections/safe/mine", data).await.expect(200);
    one.ask(Method::DELETE, "safe/mine").await.expect(200);
}

#[tokio::test]
async fn the_feed_of_a_credential_is_of_the_rows_it_reads_and_of_deploys() {
    let world = World::start().await;
    let site = world.site("private").await;
    let service =
        Service::of(&site, json!({"collections": ["safe"], "operations": ["read"]})).await;
    let feed = async |query: &str| {
        let request = site.with(&service.token, Method::GET, &format!("/feed{query}"));
        Answer::of(request).await.expect(200)
    };
    let since = text(&feed("").await, "cursor");
    site.row("safe", "s").await;
    site.row("club", "c").await;
    site.post("/events", json!({"type": "ping", "data": {"who": "me"}})).await.expect(201);
    site.post("/members", json!({"email": "ada@example.com"})).await.expect(201);
    site.patch("", json!({"timezone": "Europe/Zurich"})).await.expect(200);
    let page = feed(&format!("?since={since}&wait=0")).await;
    let told: Vec<_> = page["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|one| (one["type"].clone(), one["collection"].clone()))
        .collect();
    assert_eq!(told, [(json!("row.created"), json!("safe"))], "{page}");
}

#[tokio::test]
async fn an_upsert_tells_of_no_value_and_is_refused_as_the_update_is() {
    let world = World::start().await;
    let lists = |read: &[&str], write: &str, update: &str| {
        json!({"unique": ["email"], "permissions": {"read": read, "write": [write],
            "update": [update], "delete": ["owner"]}})
    };
    let declared = |write: &str| {
        json!({"roles": {"other": {}}, "collections": {
            "hidden": lists(&[], write, "owner"), "seen": lists(&["owner"], write, "owner"),
            "fixed": lists(&["owner"], "owner", "other"),
            "authors": lists(&["owner"], "owner", "editor")}})
    };
    let site = world.site_of("private", declared("owner")).await;
    let names = ["hidden", "seen", "fixed", "authors"];
    for name in names {
        let held = json!({"key": "held", "data": {"email": "held"}});
        site.post(&format!("/collections/{name}"), held).await.expect(201);
    }
    let upsert = |email: &str| json!({"on": "email", "data": {"email": email}});
    let told = |answer: &Answer| {
        let error = &answer.json()["error"];
        (error["code"].clone(), error["message"].clone(), error["required"].clone())
    };

    // Who may change rows that it does not read is told what the change alone is told.
    let body = json!({"collections": names, "operations": ["create", "update"]});
    let writer = Service::of(&site, body).await;
    for (name, code) in
        [("fixed", ErrorCode::CollectionWriteForbidden), ("authors", ErrorCode::AuthorNotAllowed)]
    {
        let patch = json!({"data": {"n": 1}});
        let patched = writer.send(Method::PATCH, &format!("{name}/held"), patch).await;
        let upserted = writer.send(Method::POST, name, upsert("held")).await;
        upserted.error(code);
        assert_eq!(told(&upserted), told(&patched), "{name}");
        writer.send(Method::POST, name, upsert("free")).await.expect(201);
    }

    // Who may make no row is told the same of a value that a hidden row has and of one that none has.
    site.redeploy(declared("other")).await;
    let body = json!({"collections": names, "operations": ["create"]});
    let creator = Service::of(&site, body).await;
    for (name, code) in
        [("hidden", ErrorCode::RowNotFound), ("seen", ErrorCode::CollectionWriteForbidden)]
    {
        let held = creator.send(Method::POST, name, upsert("held")).await;
        let free = creator.send(Method::POST, name, upsert("free")).await;
        held.error(code);
        assert_eq!(told(&held), told(&free), "{name}");
    }
}

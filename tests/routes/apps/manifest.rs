//! Every kind of violation of a manifest, through a deploy: its code, its pointer, its list.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{HTML, Owner, guestbook, open_collection},
};

/// A manifest like [`guestbook`] with `members` set, by JSON pointer.
fn with(members: &[(&str, Value)]) -> Value {
    let mut manifest = guestbook();
    for (pointer, value) in members {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let parent = manifest.pointer_mut(parent).expect("the parent is there");
        parent[name] = value.clone();
    }
    manifest
}

async fn refused(server: &TestServer, owner: &Owner, manifest: &Value) -> Answer {
    let body = json!({"html": HTML, "manifest": manifest});
    server.send(Method::POST, owner, "/v1/apps", &body).await
}

#[tokio::test]
async fn every_kind_of_violation_has_its_code_and_its_pointer() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let entries = "/collections/entries";
    let at = |below: &str| format!("{entries}{below}");
    let collections = |n: usize| -> Value {
        (0..n)
            .map(|i| (format!("c{i}"), open_collection()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let hosts =
        |n: usize| -> Value { (0..n).map(|i| format!("https://h{i}.example.com")).collect() };
    let rule = |extra: Value| {
        let mut rule = json!({"on": "create", "collection": "entries"});
        rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!([rule])
    };
    use ErrorCode::*;
    let cases: Vec<(Value, ErrorCode, String)> = vec![
        (json!([]), ManifestInvalid, String::new()),
        (with(&[("/colour", json!(1))]), ManifestInvalid, "/colour".into()),
        (with(&[("/cdn", json!("yes"))]), ManifestInvalid, "/cdn".into()),
        (with(&[("/visibility", json!("secret"))]), ManifestInvalid, "/visibility".into()),
        (with(&[("/collections", collections(51))]), TooManyCollections, "/collections".into()),
        (with(&[("/externalHosts", hosts(51))]), TooManyExternalHosts, "/externalHosts".into()),
        (with(&[("/embeds", hosts(51))]), TooManyEmbeds, "/embeds".into()),
        (
            with(&[("/collections/Entries", open_collection())]),
            CollectionNameInvalid,
            "/collections/Entries".into(),
        ),
        (
            with(&[(&format!("/collections/{}", "a".repeat(65)), open_collection())]),
            CollectionNameInvalid,
            format!("/collections/{}", "a".repeat(65)),
        ),
        (
            with(&[(&at("/schema"), json!({"type": "object"}))]),
            CollectionSchemaInvalid,
            at("/schema"),
        ),
        (
            with(&[(&at("/schema"), json!({"$ref": "#/$defs/None"}))]),
            CollectionSchemaInvalid,
            at("/schema/$ref"),
        ),
        (
            with(&[(&at("/permissions/write"), json!([]))]),
            PermissionRoleInvalid,
            at("/permissions/write"),
        ),
        (
            with(&[(&at("/permissions/read"), json!(["agent"]))]),
            PermissionRoleInvalid,
            at("/permissions/read/0"),
        ),
        (
            with(&[(&at("/permissions/write"), json!(["creator"]))]),
            PermissionRoleInvalid,
            at("/permissions/write/0"),
        ),
        (with(&[(&at("/unique"), json!(["a", "a"]))]), ManifestInvalid, at("/unique/1")),
        (with(&[(&at("/appendOnly"), json!(1))]), ManifestInvalid, at("/appendOnly")),
        (with(&[(&at("/antiAbuse"), json!("captcha"))]), ManifestInvalid, at("/antiAbuse")),
        (
            with(&[(&at("/anonWriteBudget"), json!({"perHour": 1}))]),
            ManifestInvalid,
            at("/anonWriteBudget/perHour"),
        ),
        (
            with(&[(&at("/retention"), json!({"maxRows": 0}))]),
            ManifestInvalid,
            at("/retention/maxRows"),
        ),
        (
            with(&[(&at("/relations"), json!({"up": {"collection": "No name"}}))]),
            ManifestInvalid,
            at("/relations/up/collection"),
        ),
        (with(&[("/roles", json!({"owner": {}}))]), ManifestInvalid, "/roles/owner".into()),
        (with(&[("/capabilities", json!(["usb"]))]), CapabilityInvalid, "/capabilities/0".into()),
        (
            with(&[("/externalHosts", json!(["http://a.example.com"]))]),
            ExternalHostInvalid,
            "/externalHosts/0".into(),
        ),
        (with(&[("/embeds", json!(["https://10.0.0.1"]))]), EmbedInvalid, "/embeds/0".into()),
        (
            with(&[(
                "/notify",
                rule(json!({"to": [], "channels": ["email"], "subject": "s",
            "body": "b"})),
            )]),
            NotifyInvalid,
            "/notify/0/to".into(),
        ),
        (
            with(&[(
                "/notify",
                rule(json!({"to": ["owner"], "channels": ["inapp"], "subject": "s",
            "body": "b"})),
            )]),
            NotifyChannelNotEnabled,
            "/notify/0/channels/0".into(),
        ),
        (
            with(&[(
                "/notify",
                rule(json!({"to": ["owner"], "channels": ["push"], "subject": "s",
            "body": "b"})),
            )]),
            NotifyPushRequiresPublic,
            "/notify/0/channels/0".into(),
        ),
        (
            with(&[(
                "/notify",
                rule(json!({"to": ["submitter"], "channels": ["email"], "subject": "s",
            "body": "b"})),
            )]),
            NotifySubmitterNotEnabled,
            "/notify/0/to/0".into(),
        ),
        (
            with(&[(
                "/schedules",
                json!([{"collection": "nowhere", "dateField": "d", "offsetDays": 1,
            "to": ["owner"], "subject": "s", "body": "b"}]),
            )]),
            ScheduleInvalid,
            "/schedules/0/collection".into(),
        ),
        (
            with(&[("/webhooks", rule(json!({"url": "http://x.example.com"})))]),
            WebhookInvalid,
            "/webhooks/0/url".into(),
        ),
        (
            with(&[(
                "/ingest",
                json!([{"name": "Bad Name", "collection": "entries", "mode": "append",
            "map": {"a": "b"}}]),
            )]),
            IngestInvalid,
            "/ingest/0/name".into(),
        ),
        (
            with(&[(
                "/agentTasks",
                rule(json!({"taskType": "t", "prompt": "p", "reads": ["nowhere"],
            "writes": []})),
            )]),
            AgentTaskInvalid,
            "/agentTasks/0/reads/0".into(),
        ),
    ];
    let mut wrong = Vec::new();
    for (manifest, code, path) in cases {
        let answer = refused(&server, &owner, &manifest).await;
        let error = &answer.json()["error"];
        let details = &error["details"];
        let first = &details["violations"][0];
        let right = error["code"] == code.as_str()
            && details["path"] == path
            && first["path"] == path
            && first["message"].is_string();
        if right {
            answer.error(code);
        } else {
            wrong.push(format!("{code} at {path:?}, but: {}", answer.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn all_violations_of_the_first_failing_kind_are_listed() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let manifest = with(&[("/capabilities", json!(["usb", "camera", "nfc"]))]);
    let error = refused(&server, &owner, &manifest).await.error(ErrorCode::CapabilityInvalid);
    let violations = error["details"]["violations"].as_array().unwrap();
    let paths: Vec<_> = violations.iter().map(|violation| &violation["path"]).collect();
    assert_eq!(paths, ["/capabilities/0", "/capabilities/2"]);
}

#[tokio::test]
async fn an_oversize_manifest_and_schema_have_a_code_of_their_own() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let huge =
        with(&[("/$defs", json!({})), ("/$defs/A", json!({"description": "x".repeat(10 << 20)}))]);
    refused(&server, &owner, &huge).await.error(ErrorCode::ManifestTooLarge);
    let schema = json!({"type": "object", "description": "x".repeat(40_000)});
    let large = with(&[("/$defs", json!({"A": schema}))]);
    let error = refused(&server, &owner, &large).await.error(ErrorCode::ManifestTooLarge);
    assert_eq!(error["details"]["path"], "/$defs/A");
}

#[tokio::test]
async fn a_schema_that_refers_to_another_host_makes_no_connection() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = elsewhere.local_addr().unwrap();
    for reference in [format!("http://{address}/schema.json"), "file:///etc/passwd".to_owned()] {
        let mut manifest = with(&[("/collections/entries/schema", json!({"$ref": "#/$defs/A"}))]);
        manifest["$defs"] =
            json!({"A": {"type": "object", "properties": {"a": {"$ref": reference}}}});
        let answer = refused(&server, &owner, &manifest).await;
        answer.error(ErrorCode::CollectionSchemaInvalid);
    }
    // Whoever had connected would be waiting in the listener's queue by now.
    let nobody =
        std::future::poll_fn(|cx| std::task::Poll::Ready(elsewhere.poll_accept(cx).is_pending()));
    assert!(nobody.await, "the server connected to {address}");
}

#[tokio::test]
async fn a_pattern_is_matched_in_linear_time() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let manifest = |pattern: &str| {
        let mut manifest = with(&[("/collections/entries/schema", json!({"$ref": "#/$defs/A"}))]);
        manifest["$defs"] = json!({"A": {"type": "object",
            "properties": {"a": {"type": "string", "pattern": pattern}}}});
        manifest
    };
    // No backtracking: this value would take years of it.
    let value = format!("{}!", "a".repeat(5_000));
    let body = json!({"html": HTML, "manifest": manifest("^(a|a)*$"),
        "input_data": {"entries": [{"data": {"a": value}}]}});
    let answer = server.send(Method::POST, &owner, "/v1/apps", &body).await;
    answer.error(ErrorCode::InputSchemaViolation);
    for pattern in ["a{1000}{1000}", "(a+)+$"] {
        let answer = refused(&server, &owner, &manifest(pattern)).await;
        answer.error(ErrorCode::CollectionSchemaInvalid);
    }
}

//! What a deploy accepts and warns of, because it may not do what was meant.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    Answer, TestServer,
    apps::{App, Owner, guestbook},
};

/// The warnings of a redeploy; a dry run of it says the same.
async fn redeployed(server: &TestServer, owner: &Owner, app: &App, body: Value) -> Value {
    let mut body = body;
    body["html"] = json!("<p>again");
    let send = async |path: &str| server.send(Method::POST, owner, &app.path(path), &body).await;
    let rehearsed = send("/versions?dry_run=true").await.expect(200)["warnings"].clone();
    let deployed = send("/versions").await.expect(201)["warnings"].clone();
    assert_eq!(rehearsed, deployed);
    deployed
}

fn paths(warnings: &Value) -> Vec<&str> {
    let warnings = warnings.as_array().expect("warnings").iter();
    warnings.map(|warning| warning["path"].as_str().expect("a path")).collect()
}

#[tokio::test]
async fn a_manifest_that_undoes_what_the_owner_set_says_so() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["visibility"] = json!("private");
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    assert_eq!(app.record["warnings"], json!([]));
    let body = json!({"manifest": manifest});
    assert_eq!(redeployed(&server, &owner, &app, body.clone()).await, json!([]), "nothing changes");
    let public = json!({"visibility": "public"});
    server.send(Method::PATCH, &owner, &app.path(""), &public).await.expect(200);
    let warnings = redeployed(&server, &owner, &app, body).await;
    assert_eq!(paths(&warnings), ["/visibility"]);
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.contains("`private`") && message.contains("`public`"), "{message}");
    // Whoever says it in the request means it; a manifest that is carried over changes nothing.
    server.send(Method::PATCH, &owner, &app.path(""), &public).await.expect(200);
    let body = json!({"manifest": manifest, "visibility": "private"});
    assert_eq!(redeployed(&server, &owner, &app, body).await, json!([]));
    server.send(Method::PATCH, &owner, &app.path(""), &public).await.expect(200);
    assert_eq!(redeployed(&server, &owner, &app, json!({})).await, json!([]));
    // A request that departs from the manifest that it leaves out is told what that one will do.
    let warnings = redeployed(&server, &owner, &app, public).await;
    assert_eq!(paths(&warnings), ["/visibility"]);
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.ends_with("makes the app `private` again"), "{message}");
    let private = json!({"visibility": "private"});
    assert_eq!(redeployed(&server, &owner, &app, private).await, json!([]));
}

#[tokio::test]
async fn a_policy_that_proxies_may_refuse_is_told_of_with_its_bytes() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    // 64 characters each, and a space.
    let hosts = |count: usize| -> Vec<String> {
        (10..10 + count).map(|n| format!("https://{}{n}.example.org", "h".repeat(42))).collect()
    };
    let mut manifest = guestbook();
    manifest["visibility"] = json!("public");
    manifest["externalHosts"] = json!(hosts(19));
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    let page = async || {
        let host = format!("{}.{}", app.slug, server.public_url().trim_start_matches("http://"));
        let page = Answer::of(server.request(Method::GET, "/").header("host", host)).await;
        page.header("content-security-policy").len()
    };
    let without = page().await;
    assert_eq!(app.record["warnings"], json!([]), "{without}");
    for (hosts, embeds, path) in
        [(hosts(20), hosts(0), "/externalHosts"), (hosts(0), hosts(50), "/embeds")]
    {
        manifest["externalHosts"] = json!(hosts);
        manifest["embeds"] = json!(embeds);
        let body = json!({"manifest": manifest, "force": true});
        let warnings = redeployed(&server, &owner, &app, body).await;
        assert_eq!(paths(&warnings), [path]);
        let message = warnings[0]["message"].as_str().unwrap();
        let bytes = (2 * hosts.len() + embeds.len()) * 65;
        assert!(message.contains(&format!("{bytes} bytes")), "{message}");
        let policy = page().await;
        assert!((2_900..).contains(&policy), "{policy}");
    }
}

#[tokio::test]
async fn files_that_a_new_list_lacks_are_named() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let file = |path: String| json!({"path": path, "text": "x"});
    let all: Vec<Value> = (1..=8).map(|n| file(format!("{n}.txt"))).collect();
    let app = server.deploy(&owner, json!({"assets": all})).await;
    assert_eq!(redeployed(&server, &owner, &app, json!({})).await, json!([]), "they carry over");
    let more: Vec<Value> = all.iter().cloned().chain([file("new.txt".into())]).collect();
    let more = json!({"assets": more});
    assert_eq!(redeployed(&server, &owner, &app, more).await, json!([]));
    let fewer = json!({"assets": [all[0], all[1]]});
    let warnings = redeployed(&server, &owner, &app, fewer).await;
    assert_eq!(paths(&warnings), ["/assets"]);
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.contains("7 of its files"), "{message}");
    assert!(message.contains("`3.txt`, `4.txt`") && message.ends_with("and 2 more"), "{message}");
    let warnings = redeployed(&server, &owner, &app, json!({"assets": [all[1]]})).await;
    let message = warnings[0]["message"].as_str().unwrap();
    assert!(message.ends_with("1 of its files are not in it: `1.txt`"), "{message}");
}

#[tokio::test]
async fn keywords_that_json_schema_does_not_know_are_told() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let schema = json!({
        "type": "object", "requred": ["a"], "additionalproperties": false, "x-order": 1,
        "properties": {
            "requred": {"type": "string", "max_length": 5},
            "b": {"items": {"propertys": {}}, "default": {"requred": 1}, "nullable": true},
        },
        "allOf": [{"if": {"colour": "red"}}],
        "enum": [{"requred": 1}], "title": "T", "$comment": "c",
    });
    let mut manifest = guestbook();
    manifest["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
    manifest["$defs"] = json!({"Entry": schema});
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    let warnings = &app.record["warnings"];
    let mut told: Vec<(&str, &str)> = Vec::new();
    for warning in warnings.as_array().unwrap() {
        told.push((warning["path"].as_str().unwrap(), warning["message"].as_str().unwrap()));
    }
    told.sort_unstable();
    let expected = [
        ("/$defs/Entry/additionalproperties", Some("`additionalProperties`?")),
        ("/$defs/Entry/allOf/0/if/colour", None),
        ("/$defs/Entry/properties/b/items/propertys", Some("`properties`?")),
        ("/$defs/Entry/properties/b/nullable", None),
        ("/$defs/Entry/properties/requred/max_length", Some("`maxLength`?")),
        ("/$defs/Entry/requred", Some("`required`?")),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((path, message), (expected, meant)) in told.into_iter().zip(expected) {
        assert_eq!(path, expected);
        let asks = message.rsplit_once(": ").map(|(_, meant)| meant);
        assert_eq!(asks, meant, "{path}: {message}");
    }
    let carried = redeployed(&server, &owner, &app, json!({})).await;
    assert_eq!(&carried, warnings, "as long as they are there");
}

#[tokio::test]
async fn a_schema_that_no_row_fits_is_told() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["collections"]["entries"]["schema"] = json!({"$ref": "#/$defs/Entry"});
    let closed = |name: &str| json!({"properties": {"a": true}, "required": [name], "additionalProperties": false});
    let mut open = closed("b");
    open["patternProperties"] = json!({"^b": true});
    let schemas = [
        (json!({"type": "string"}), Some("type")),
        (json!({"type": ["array", "null"]}), Some("type")),
        (json!({"type": ["object", "null"]}), None),
        (json!({"type": "object"}), None),
        (json!({"enum": ["a", 1]}), Some("enum")),
        (json!({"enum": ["a", {}]}), None),
        (json!({"const": null}), Some("const")),
        (json!({"const": {}}), None),
        (closed("a"), None),
        (closed("b"), Some("required")),
        (open, None),
    ];
    for (schema, told) in schemas {
        manifest["$defs"] = json!({"Entry": schema, "Unused": {"type": "string"}});
        let app = server.deploy(&owner, json!({"manifest": manifest})).await;
        let expected: Vec<_> = told.iter().map(|word| format!("/$defs/Entry/{word}")).collect();
        assert_eq!(paths(&app.record["warnings"]), expected, "{schema}");
    }
}

#[tokio::test]
async fn a_replayed_deploy_has_the_same_warnings() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["$defs"] = json!({"Entry": {"requred": []}});
    let send = async |path: &str, key: &str| {
        let body = json!({"html": "<p>", "manifest": manifest, "assets": []});
        let request = server.call(Method::POST, path, &owner).header("idempotency-key", key);
        crate::harness::Answer::of(request.json(&body)).await
    };
    let created = send("/v1/apps", "one").await.expect(201);
    assert_eq!(paths(&created["warnings"]), ["/$defs/Entry/requred"]);
    let again = send("/v1/apps", "one").await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201)["warnings"], created["warnings"]);
    let versions = format!("/v1/apps/{}/versions", created["id"].as_str().unwrap());
    let deployed = send(&versions, "two").await.expect(201);
    let again = send(&versions, "two").await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(201)["warnings"], deployed["warnings"]);
    assert_eq!(deployed["warnings"], created["warnings"]);
}

#[tokio::test]
async fn a_role_that_somebody_has_and_that_is_declared_no_more_is_named() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let mut manifest = guestbook();
    manifest["roles"] = json!({"editor": {}, "guest": {}, "idle": {}});
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    let make = async |below: &str, body: Value| {
        server.send(Method::POST, &owner, &app.path(below), &body).await.expect(201)
    };
    for name in ["bob", "cas"] {
        let member = json!({"email": format!("{name}@example.org"), "custom_role": "editor"});
        make("/members", member).await;
    }
    make("/grants", json!({"role": "editor"})).await;
    make("/grants", json!({"role": "guest", "max_uses": 1})).await;
    let over = make("/grants", json!({"role": "guest"})).await;
    let over = app.path(&format!("/grants/{}", over["id"].as_str().unwrap()));
    assert_eq!(server.send(Method::DELETE, &owner, &over, &Value::Null).await.status, 204);
    let states = async || {
        let grants = server.get_as(&owner, &app.path("/grants")).await.expect(200);
        let members = server.get_as(&owner, &app.path("/members")).await.expect(200);
        let grants = grants["items"].as_array().unwrap().iter();
        let declared = members["items"][1]["custom_role_declared"].clone();
        (grants.map(|one| one["state"].clone()).collect::<Vec<_>>(), declared)
    };
    assert_eq!(states().await, (vec![json!("active"); 2], json!(true)));

    let with = manifest.clone();
    manifest.as_object_mut().unwrap().remove("roles");
    let body = json!({"manifest": manifest});
    let warnings = redeployed(&server, &owner, &app, body.clone()).await;
    assert_eq!(paths(&warnings), ["/roles/editor", "/roles/guest"], "nobody has the third");
    let message = |at: usize| warnings[at]["message"].as_str().unwrap().to_owned();
    assert!(message(0).contains("2 members and 1 grant link have it"), "{}", message(0));
    assert!(message(1).contains(": 1 grant link has it. "), "{}", message(1));
    assert!(message(1).ends_with("its links open nothing"), "{}", message(1));
    assert_eq!(states().await, (vec![json!("undeclared"); 2], json!(false)));
    // It is said when it happens, and is over with the role's return.
    assert_eq!(redeployed(&server, &owner, &app, body).await, json!([]));
    assert_eq!(redeployed(&server, &owner, &app, json!({"manifest": with})).await, json!([]));
    assert_eq!(states().await, (vec![json!("active"); 2], json!(true)));
}

//! Size, top-level shape, counts, capabilities, and the order of kinds.

use std::time::Duration;

use rookery_domain::{
    ErrorCode,
    limits::Limits,
    manifest::{self, Capability, ParseContext, VIOLATIONS_MAX, Visibility},
};
use serde_json::{Map, Value, json};

use super::{admitted, assert_refused, collection, parse, pointer_of};
use crate::cpu::within;

#[test]
fn an_empty_manifest_declares_nothing_and_is_private_by_default() {
    let manifest = admitted(&json!({}));
    assert!(manifest.collections.is_empty() && manifest.rules.is_none());
    assert!(!manifest.cdn && manifest.inactive.is_empty());
    assert_eq!(manifest.visibility, None);
}

#[test]
fn the_whole_example_of_the_contract_is_admitted() {
    let manifest = admitted(&json!({
        "collections": {
            "entries": {
                "schema": {"$ref": "#/$defs/Entry"},
                "permissions": {
                    "read": ["anyone"], "write": ["anyone"], "update": ["creator"],
                    "delete": ["owner", "creator"], "countRead": ["anyone"]
                },
                "unique": ["email"], "appendOnly": false,
                "anonWriteBudget": {"perIpPerDay": 20, "perAppDay": 500},
                "antiAbuse": "challenge",
                "relations": {"parent": {"collection": "threads", "set": "writer"}},
                "retention": {"maxAgeDays": 90, "maxRows": 500}
            },
            "threads": collection("appendOnly", json!(true))
        },
        "$defs": {"Entry": {
            "type": "object", "properties": {"email": {"type": "string", "maxLength": 200}}
        }},
        "roles": {"editor": {"title": "Editor"}},
        "events": {"move": {"schema": {"$ref": "#/$defs/Entry"}}, "ping": {}},
        "capabilities": ["camera"], "externalHosts": [], "embeds": [], "cdn": false,
        "visibility": "private",
        "notify": [], "schedules": [], "webhooks": [], "ingest": [], "agentTasks": []
    }));
    let entries = manifest.collection("entries").expect("declared");
    assert_eq!(entries.schema.as_ref().map(|schema| &*schema.name), Some("Entry"));
    assert_eq!(entries.unique.len(), 1);
    assert!(entries.challenge && entries.relations["parent"].set_by_writer);
    assert_eq!(entries.retention.max_age_days, Some(90));
    assert_eq!(entries.anon_write_budget.expect("a budget").per_app_day, Some(500));
    assert!(manifest.collections["threads"].append_only);
    assert_eq!(manifest.capabilities, [Capability::Camera]);
    assert_eq!(manifest.visibility, Some(Visibility::Private));
    assert!(manifest.events["move"].schema.is_some() && manifest.events["ping"].schema.is_none());
    assert_eq!(manifest.roles["editor"].title.as_deref(), Some("Editor"));
    let unknown = manifest.collection("nope").expect_err("undeclared");
    assert_eq!(unknown.code, ErrorCode::CollectionNotFound);
}

#[test]
fn a_shape_that_is_wrong_is_manifest_invalid_at_its_place() {
    let long = format!("{}.{}", "a".repeat(32), "b".repeat(32));
    for (manifest, pointer) in [
        (json!([]), ""),
        (json!("x"), ""),
        (json!(null), ""),
        (json!({"colections": {}}), "/colections"),
        (json!({"a/b~c": 1}), "/a~1b~0c"),
        (json!({"collections": []}), "/collections"),
        (json!({"$defs": []}), "/$defs"),
        (json!({"roles": ["editor"]}), "/roles"),
        (json!({"events": []}), "/events"),
        (json!({"capabilities": "camera"}), "/capabilities"),
        (json!({"externalHosts": {}}), "/externalHosts"),
        (json!({"embeds": null}), "/embeds"),
        (json!({"notify": {}}), "/notify"),
        (json!({"agentTasks": 1}), "/agentTasks"),
        (json!({"cdn": "yes"}), "/cdn"),
        (json!({"cdn": null}), "/cdn"),
        (json!({"visibility": "secret"}), "/visibility"),
        (json!({"visibility": 1}), "/visibility"),
        (json!({"collections": {"a": 1}}), "/collections/a"),
        (json!({"collections": {"a": collection("colour", json!(1))}}), "/collections/a/colour"),
        (
            json!({"collections": {"a": collection("permissions", json!({"reed": []}))}}),
            "/collections/a/permissions/reed",
        ),
        (json!({"events": {"move": 1}}), "/events/move"),
        (json!({"events": {"move": {"shema": {}}}}), "/events/move/shema"),
        (json!({"events": {"Move": {}}}), "/events/Move"),
        (json!({"events": {"a..b": {}}}), "/events/a..b"),
        (json!({"events": {&long: {}}}), &format!("/events/{long}")),
    ] {
        assert_refused(&manifest, "manifest_invalid", pointer);
    }
    admitted(&json!({"events": {"game.move-2": {}, &long[1..]: {}}}));
}

#[test]
fn a_manifest_beyond_its_bytes_is_too_large_before_anything_else() {
    let limits = Limits { max_manifest_bytes: 100, ..Limits::default() };
    let context = ParseContext::default();
    let wrong = json!({"nope": 1});
    let at = |len| manifest::parse(&wrong, len, &limits, &context).map(drop).map_err(|e| e.code);
    assert_eq!(at(101), Err(ErrorCode::ManifestTooLarge));
    assert_eq!(at(100), Err(ErrorCode::ManifestInvalid));
}

#[test]
fn fifty_entries_are_admitted_and_fifty_one_are_not() {
    let collections = |count: usize| -> Value {
        let map: Map<_, _> =
            (0..count).map(|n| (format!("c{n}"), collection("appendOnly", json!(false)))).collect();
        json!({"collections": map})
    };
    let hosts = |member: &str, count: usize| -> Value {
        let list: Vec<_> = (0..count).map(|n| format!("https://h{n}.example.org")).collect();
        json!({member: list})
    };
    admitted(&collections(50));
    assert_refused(&collections(51), "too_many_collections", "/collections");
    admitted(&hosts("externalHosts", 50));
    assert_refused(&hosts("externalHosts", 51), "too_many_external_hosts", "/externalHosts");
    admitted(&hosts("embeds", 50));
    assert_refused(&hosts("embeds", 51), "too_many_embeds", "/embeds");
}

#[test]
fn a_capability_is_one_of_three_and_named_once() {
    let all = admitted(&json!({"capabilities": ["geolocation", "camera", "microphone"]}));
    assert_eq!(all.capabilities.len(), 3);
    for (list, pointer) in [
        (json!(["bluetooth"]), "/capabilities/0"),
        (json!(["camera", "Camera"]), "/capabilities/1"),
        (json!(["camera", "microphone", "camera"]), "/capabilities/2"),
        (json!([1]), "/capabilities/0"),
    ] {
        assert_refused(&json!({"capabilities": list}), "capability_invalid", pointer);
    }
}

#[test]
fn every_violation_of_the_first_failing_kind_is_listed_and_none_of_a_later_one() {
    let error = parse(&json!({
        "collections": {
            "Bad": collection("appendOnly", json!(1)),
            "good": collection("appendOnly", json!(1)),
            "9": collection("unique", json!("x")),
        },
        "capabilities": ["nope"],
    }))
    .expect_err("many violations");
    assert_eq!(error.code, ErrorCode::CollectionNameInvalid);
    let details = error.details.expect("details");
    let paths: Vec<_> = details["violations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|violation| violation["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(paths, ["/collections/9", "/collections/Bad"]);
}

#[test]
fn what_is_invalid_is_listed_from_the_top_to_the_last_member() {
    let mut retention = collection("retention", json!({"maxRows": -1}));
    retention["zz"] = json!(1);
    let error = parse(&json!({
        "foo": 1,
        "cdn": "x",
        "collections": {"Bad": {}, "good": retention},
        "roles": {"owner": {}},
        "capabilities": ["nope"],
    }))
    .expect_err("many violations");
    assert_eq!(error.code, ErrorCode::ManifestInvalid);
    let details = error.details.expect("details");
    let listed = details["violations"].as_array().expect("a list").iter();
    let paths: Vec<_> = listed.map(|one| one["path"].as_str().expect("a path")).collect();
    let expected = ["/cdn", "/foo", "/collections/good/zz", "/roles/owner"];
    assert_eq!(paths[..4], expected);
    assert_eq!(paths[4..], ["/collections/good/retention/maxRows"]);
}

#[test]
fn the_answer_is_bounded_however_many_violations_there_are() {
    let list: Vec<_> = (0..5_000).map(|_| "x".repeat(40)).collect();
    let error = parse(&json!({"capabilities": list})).expect_err("5,000 violations");
    let details = error.details.expect("details");
    assert_eq!(details["violations"].as_array().map(Vec::len), Some(VIOLATIONS_MAX));
    assert_eq!(details["left_out"], 5_000 - VIOLATIONS_MAX);
    let error = parse(&json!({"capabilities": ["y".repeat(100_000)]})).expect_err("a long value");
    assert!(error.message.len() < 400, "{}", error.message.len());
}

/// A manifest of about as many of these entries, numbered from 0, as its bytes allow.
fn full(of: impl Fn(usize) -> Value) -> Value {
    let max = Limits::default().max_manifest_bytes;
    let manifest = of(max * 1_000 / of(1_000).to_string().len());
    assert!((max * 9 / 10..=max).contains(&manifest.to_string().len()));
    manifest
}

#[test]
fn a_manifest_full_of_different_names_is_read_in_time_in_proportion() {
    let names = |count: usize| (0..count).map(|n| format!("n{n:05}"));
    let each = |count: usize, value: Value| -> Map<_, _> {
        names(count).map(|name| (name, value.clone())).collect()
    };
    let with =
        |member: &str, value: Value| json!({"collections": {"a": collection(member, value)}});
    let lists: [&dyn Fn(usize) -> Value; 5] = [
        &|count| with("unique", names(count).collect()),
        &|count| with("permissions", each(count, json!(0)).into()),
        &|count| {
            let mut collection = each(count, json!(0));
            collection.insert("permissions".to_owned(), json!({}));
            json!({"collections": {"a": collection}})
        },
        &|count| {
            let mut manifest =
                with("permissions", json!({"read": names(count).collect::<Value>()}));
            manifest["roles"] = each(count, json!({})).into();
            manifest
        },
        &|count| {
            let one = |n: usize| {
                let read = [0, 1, 2].map(|m| format!("n{:05}", n >> (4 * m) & 15));
                json!({"permissions": {"read": read}})
            };
            let collections: Map<_, _> = names(count).zip((0..count).map(one)).collect();
            json!({"collections": collections, "roles": each(16, json!({})), "unknown": 1})
        },
    ];
    for of in lists {
        let manifest = full(of);
        let error = within(Duration::from_secs(2), || parse(&manifest)).expect_err("too many");
        assert_eq!(error.code, ErrorCode::ManifestInvalid, "{error}");
    }
}

#[test]
fn a_name_as_long_as_half_a_manifest_does_not_stand_before_each_of_its_members() {
    let name = "n".repeat(100_000);
    let members =
        |of: Value| -> Map<_, _> { (0..10_000).map(|n| (format!("m{n}"), of.clone())).collect() };
    let list = vec![json!("x"); 20_000];
    let entries = [
        ("collections", members(json!(0)).into()),
        ("collections", collection("unique", list.clone().into())),
        ("collections", json!({"permissions": {"read": list}})),
        ("collections", json!({"permissions": members(json!(0))})),
        ("events", members(json!(0)).into()),
        ("roles", members(json!(0)).into()),
    ];
    for (member, entry) in entries {
        let manifest = json!({member: {&name: entry}, "unknown": 1});
        let error =
            within(Duration::from_secs(1), || parse(&manifest)).expect_err("an unknown member");
        assert_eq!(error.code, ErrorCode::ManifestInvalid);
        assert_eq!(pointer_of(&error), "/unknown");
    }
}

#[test]
fn places_as_long_as_the_manifest_are_not_listed_again_and_again() {
    let name = "n".repeat(2_000);
    let roles: Map<_, _> = (0..99).map(|n| (format!("{name}{n}"), json!({}))).collect();
    let error = parse(&json!({"roles": roles})).expect_err("too many, with names too long");
    let details = error.details.expect("details");
    let listed = details["violations"].as_array().map(Vec::len).expect("a list");
    assert!((50..70).contains(&listed), "{listed}");
    assert_eq!(details["left_out"], 1 + 99 - listed);
    let error = parse(&json!({"roles": {"n".repeat(200_000): {}}})).expect_err("one");
    assert_eq!(pointer_of(&error).len(), "/roles/".len() + 200_000);
}

/// Takes one violation out of a manifest.
type Mend = fn(&mut Value);

#[test]
fn kinds_come_in_the_documented_order() {
    // Each manifest has the violation of its row and those of all rows below.
    let mut manifest = json!({
        "collections": {"a": {
            "schema": {"$ref": "#/$defs/Missing"},
            "permissions": {"read": ["nobody"], "write": ["owner"], "delete": ["owner"]},
            "appendOnly": 1
        }, "B": {"permissions": {}, "x": 1}},
        "roles": {"owner": {}},
        "capabilities": ["nope"], "externalHosts": ["http://x"], "embeds": ["http://x"],
        "notify": [{}], "schedules": [{}], "webhooks": [{}], "ingest": [{}], "agentTasks": [{}],
        "unknown": 1
    });
    let steps: [(&str, Mend); 14] = [
        ("manifest_invalid", |m| drop(m.as_object_mut().map(|m| m.remove("unknown")))),
        ("collection_name_invalid", |m| {
            let renamed = m["collections"]["B"].take();
            m["collections"] = json!({"a": m["collections"]["a"], "b": renamed});
        }),
        ("manifest_invalid", |m| m["collections"] = json!({"a": m["collections"]["a"]})),
        ("collection_schema_invalid", |m| m["$defs"] = json!({"Missing": {}})),
        ("manifest_invalid", |m| m["roles"] = json!({})),
        ("permission_role_invalid", |m| {
            m["collections"]["a"]["permissions"]["read"] = json!([]);
        }),
        ("manifest_invalid", |m| m["collections"]["a"]["appendOnly"] = json!(true)),
        ("capability_invalid", |m| m["capabilities"] = json!([])),
        ("external_host_invalid", |m| m["externalHosts"] = json!([])),
        ("embed_invalid", |m| m["embeds"] = json!([])),
        ("notify_invalid", |m| m["notify"] = json!([])),
        ("schedule_invalid", |m| m["schedules"] = json!([])),
        ("webhook_invalid", |m| m["webhooks"] = json!([])),
        ("ingest_invalid", |m| m["ingest"] = json!([])),
    ];
    for (code, mend) in steps {
        let error = parse(&manifest).expect_err(code);
        assert_eq!(error.code.as_str(), code, "{error}");
        mend(&mut manifest);
    }
    assert_refused(&manifest, "agent_task_invalid", "/agentTasks/0/on");
    manifest["agentTasks"] = json!([]);
    admitted(&manifest);
}

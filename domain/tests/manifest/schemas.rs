//! References to `$defs`, what a schema there may be, and reading a stored manifest back.

use std::time::Duration;

use rookery_domain::{
    ErrorCode,
    limits::Limits,
    manifest::{self, ParseContext},
};
use serde_json::{Value, json};

use super::{admitted, assert_refused, collection, parse};
use crate::cpu::within;

fn with(schema: Value, definitions: Value) -> Value {
    json!({"collections": {"a": collection("schema", schema)}, "$defs": definitions})
}

#[test]
fn a_schema_is_a_single_reference_into_defs() {
    admitted(&with(json!({"$ref": "#/$defs/Entry"}), json!({"Entry": {"type": "object"}})));
    admitted(&with(json!({"$ref": "#/$defs/a~1b"}), json!({"a/b": {}})));
    admitted(&with(json!({"$ref": "#/$defs/Partial%3CEntry%3E"}), json!({"Partial<Entry>": {}})));
    let definitions = json!({"Entry": {"type": "object"}});
    for (schema, below) in [
        (json!("Entry"), ""),
        (json!(null), ""),
        (json!({}), ""),
        (json!({"type": "object"}), ""),
        (json!({"$ref": "#/$defs/Entry", "type": "object"}), ""),
        (json!({"$ref": 1}), ""),
        (json!({"$ref": "#/definitions/Entry"}), ""),
        (json!({"$ref": "#/$defs/"}), ""),
        (json!({"$ref": "#/$defs/Entry/properties"}), ""),
        (json!({"$ref": "https://example.org/#/$defs/Entry"}), ""),
        (json!({"$ref": "#/$defs/Nope"}), "/$ref"),
    ] {
        let pointer = format!("/collections/a/schema{below}");
        let manifest = with(schema, definitions.clone());
        assert_refused(&manifest, "collection_schema_invalid", &pointer);
    }
}

#[test]
fn a_definition_that_breaks_a_rule_is_collection_schema_invalid_also_when_unused() {
    for (definition, below) in [
        (json!(true), ""),
        (json!([]), ""),
        (json!({"type": "strin"}), "/type"),
        (json!({"properties": {"n": {"minimum": "0"}}}), "/properties/n/minimum"),
        (json!({"properties": {"b": {"$ref": "#/$defs/Other"}}}), "/properties/b/$ref"),
        (json!({"$ref": "https://example.org/schema.json"}), "/$ref"),
        (json!({"$dynamicRef": "#a"}), "/$dynamicRef"),
        (json!({"$id": "#entry"}), "/$id"),
        (json!({"properties": {"t": {"maxLength": 65_537}}}), "/properties/t/maxLength"),
        (json!({"pattern": "a{1000}{1000}"}), "/pattern"),
        (json!({"pattern": "("}), "/pattern"),
    ] {
        let pointer = format!("/$defs/Entry{below}");
        let unused = json!({"$defs": {"Entry": definition, "Other": {}}});
        assert_refused(&unused, "collection_schema_invalid", &pointer);
    }
    admitted(&json!({"$defs": {"Entry": {"properties": {"t": {"maxLength": 65_536}}}}}));
}

#[test]
fn each_fault_of_a_schema_is_told_once_at_its_place() {
    let faulty = json!({
        "type": "strin",
        "required": "name",
        "properties": {
            "a": {"minLength": -1, "pattern": "("},
            "b": 5,
            "c": {"enum": 1, "items": [{}]},
        },
    });
    let Err(error) = parse(&json!({"$defs": {"Entry": faulty}})) else { panic!("admitted") };
    let violations = error.details.expect("details")["violations"].clone();
    let violations = violations.as_array().expect("a list");
    let mut places: Vec<_> = violations.iter().map(|it| it["path"].as_str().unwrap()).collect();
    places.sort_unstable();
    let expected = [
        "/properties/a/minLength",
        "/properties/a/pattern",
        "/properties/b",
        "/properties/c/enum",
        "/properties/c/items",
        "/required",
        "/type",
    ];
    assert_eq!(places, expected.map(|below| format!("/$defs/Entry{below}")), "{violations:#?}");
    // Of a long one the first.
    let long = json!({"type": "strin", "required": "name", "$comment": "x".repeat(9_000)});
    let Err(error) = parse(&json!({"$defs": {"Entry": long}})) else { panic!("admitted") };
    assert_eq!(error.details.expect("details")["violations"].as_array().unwrap().len(), 1);
}

#[test]
fn event_schemas_obey_the_same_rule() {
    let inline = json!({"events": {"move": {"schema": {"type": "object"}}}});
    assert_refused(&inline, "collection_schema_invalid", "/events/move/schema");
    let missing = json!({"events": {"move": {"schema": {"$ref": "#/$defs/Nope"}}}});
    assert_refused(&missing, "collection_schema_invalid", "/events/move/schema/$ref");
}

#[test]
fn a_schema_beyond_its_bytes_is_manifest_too_large() {
    let note = |length: usize| json!({"$defs": {"Entry": {"$comment": "x".repeat(length)}}});
    let overhead = r#"{"$comment":""}"#.len();
    admitted(&note((32 << 10) - overhead));
    assert_refused(&note((32 << 10) - overhead + 1), "manifest_too_large", "/$defs/Entry");
}

#[test]
fn collections_of_one_schema_share_its_text() {
    let manifest = admitted(&json!({
        "collections": {
            "a": collection("schema", json!({"$ref": "#/$defs/Entry"})),
            "b": collection("schema", json!({"$ref": "#/$defs/Entry"})),
        },
        "$defs": {"Entry": {"type": "object"}}
    }));
    let text = |name: &str| manifest.collections[name].schema.clone().expect("a schema").text;
    assert!(std::sync::Arc::ptr_eq(&text("a"), &text("b")));
    let lists = |name: &str| manifest.collections[name].permissions.read.clone();
    assert!(std::sync::Arc::ptr_eq(&lists("a"), &lists("b")));
}

#[test]
fn a_stored_manifest_is_read_back_under_limits_that_were_lowered_since() {
    let stored = json!({
        "collections": {
            "a": collection("schema", json!({"$ref": "#/$defs/Entry"})),
            "b": collection("unique", json!(["email"])),
        },
        "$defs": {"Entry": {"properties": {"t": {"maxLength": 60_000}}}},
        "externalHosts": ["https://guestbook.example.com"],
        "notify": [{
            "on": "create", "collection": "b", "to": ["submitter"], "channels": ["push"],
            "subject": "s", "body": "b"
        }],
    });
    let lowered = Limits { max_collections_per_app: 1, row_bytes_max: 10, ..Limits::default() };
    let context = ParseContext { own_hosts: &["guestbook.example.com"], visibility: None };
    assert!(manifest::parse(&stored, 1, &lowered, &context).is_err());
    let manifest = manifest::reload(&stored).expect("it was admitted once");
    assert_eq!(manifest.collections.len(), 2);
    assert_eq!(manifest.inactive, ["/notify/0"]);
    assert_eq!(manifest.refused, None);
    let broken = manifest::reload(&json!([])).expect_err("never admitted");
    assert_eq!(broken.code, ErrorCode::ManifestInvalid);
}

#[test]
fn the_slowest_manifest_that_its_bytes_allow_is_answered_soon() {
    let costly: serde_json::Map<_, _> = (0..7)
        .map(|n| {
            let patterns: Vec<_> = (0..64)
                .map(|m| json!({"pattern": format!("^{}(\\p{{L}}|[a-z]{{{m}}}){{9}}$", "\\cA".repeat(80))}))
                .collect();
            (format!("D{n}"), json!({"allOf": patterns}))
        })
        .collect();
    let manifest = json!({"$defs": costly});
    assert!(manifest.to_string().len() < 256 << 10);
    let _ = within(Duration::from_secs(10), || parse(&manifest));
}

#[test]
fn refused_patterns_cost_no_more_than_admitted_ones() {
    let large = |n: usize| json!({"pattern": format!("^[\\p{{L}}\\d]{{1,{}}}$", 150 + n)});
    let of_one: serde_json::Map<_, _> = (0..60).map(|n| (format!("f{n}"), large(n))).collect();
    let one_each: serde_json::Map<_, _> =
        (0..5_000).map(|n| (format!("D{n}"), large(n % 60))).collect();
    let admitted = |n: usize| json!({"pattern": format!("^\\p{{L}}{{{}}}$", 100 + n % 20)});
    let admitted: serde_json::Map<_, _> =
        (0..5_000).map(|n| (format!("D{n}"), admitted(n))).collect();
    // Few bytes that stand for very many parts, which takes longer to find out than to read.
    let nested = format!("^{}a{}", "(".repeat(8), "){9}".repeat(8));
    let many: serde_json::Map<_, _> =
        (0..3_800).map(|n| (format!("S{n}"), json!({"pattern": nested}))).collect();
    let groups = format!("^{}a{}", "(".repeat(50), "){2}".repeat(50));
    let deep: serde_json::Map<_, _> =
        (0..50).map(|n| (format!("S{n}"), json!({"pattern": groups}))).collect();
    for definitions in [
        json!({"A": {"properties": of_one}}),
        json!(one_each),
        json!(admitted),
        json!(many),
        json!(deep),
    ] {
        let manifest = json!({"$defs": definitions});
        assert!(manifest.to_string().len() < 256 << 10);
        let Err(error) = within(Duration::from_secs(10), || parse(&manifest)) else { panic!() };
        assert_eq!(error.code, ErrorCode::CollectionSchemaInvalid);
    }
}

#[test]
fn what_is_wrong_with_a_schema_is_told_whichever_step_finds_it() {
    let faulty = json!({"properties": {
        "a": {"type": "x", "pattern": "("}, "b": {"maxLength": 70_000}, "c": {"minLength": -1},
        "d": {"$ref": "#"},
    }});
    let Err(error) = parse(&json!({"$defs": {"Entry": faulty}})) else { panic!("admitted") };
    let details = error.details.expect("details");
    let violations = details["violations"].as_array().expect("a list");
    let mut places: Vec<_> = violations.iter().map(|it| it["path"].as_str().unwrap()).collect();
    places.sort_unstable();
    let expected = ["a/pattern", "a/type", "b/maxLength", "c/minLength", "d/$ref"];
    assert_eq!(places, expected.map(|below| format!("/$defs/Entry/properties/{below}")));
}

#[test]
fn of_many_violations_of_a_schema_those_that_are_left_out_are_counted() {
    let of = |fault: Value| -> serde_json::Map<_, _> {
        (0..150).map(|n| (format!("f{n}"), fault.clone())).collect()
    };
    for fault in [json!({"type": "x"}), json!({"$ref": "#"})] {
        let manifest = json!({"$defs": {"Entry": {"properties": of(fault)}}});
        let Err(error) = parse(&manifest) else { panic!("admitted") };
        let details = error.details.expect("details");
        assert_eq!(details["violations"].as_array().map(Vec::len), Some(100));
        assert_eq!(details["left_out"], 50);
    }
    let unsure = json!({"$defs": {"Entry": {"properties": of(json!({"requred": ["a"]}))}}});
    let warnings = manifest::warnings(&unsure, &admitted(&unsure));
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100].path, "/$defs/Entry");
    assert!(warnings[100].message.starts_with("50 more keywords"), "{:?}", warnings[100]);
}

#[test]
fn a_reference_of_before_they_were_parts_of_a_uri_still_finds_its_schema() {
    let of = |defined: &str, referenced: &str| {
        let schema = json!({"$ref": format!("#/$defs/{referenced}")});
        let mut stored = json!({"collections": {"a": collection("schema", schema)}});
        stored["$defs"] = json!({defined: {"maxProperties": 1}});
        let manifest = manifest::reload(&stored).expect("it was admitted once");
        (manifest.collections["a"].schema.clone().expect("a schema").name, manifest.refused)
    };
    let (name, refused) = of("a%62", "a%62");
    assert_eq!(&*name, "a%62");
    assert!(refused.expect("a refusal").contains("there is no \"ab\" under $defs"));
    assert_eq!(of("ab", "a%62"), ("ab".into(), None));
    // One that is nowhere lets nothing in, rather than everything.
    assert_eq!(&*of("Entry", "Other").0, "nothing");
}

//! What generators of clients need of the document beyond what the standard asks: names that do not
//! meet in the code that they write, and patterns that they can write down.

use std::collections::{BTreeMap, BTreeSet};

use rookery::router;
use rookery_domain::agent_name::{self, AgentName};
use serde_json::{Value, json};

use crate::docs::operations;

/// The documents of both listeners as clients are generated from them.
fn documents() -> [Value; 2] {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    let site = std::fs::read_to_string(path).expect("the document");
    let ops = rookery::openapi::to_json(&router::ops().1);
    [site, ops].map(|text| serde_json::from_str(&text).expect("JSON"))
}

/// A name as generated code has it, whatever the language thinks of upper case and underscores.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[test]
fn names_do_not_meet_in_generated_code() {
    for document in documents() {
        let mut types = BTreeMap::new();
        for kind in ["schemas", "responses"] {
            for name in
                document["components"][kind].as_object().into_iter().flatten().map(|it| it.0)
            {
                let other = types.insert(plain(name), name);
                assert!(other.is_none(), "{name} and {other:?}");
            }
        }
        // In Go the function that makes an `X` is called `NewX`.
        for name in types.keys() {
            assert!(!types.contains_key(&format!("new{name}")), "new{name} beside {name}");
        }
        let operations = document["paths"].as_object().expect("paths").values();
        let operations = operations.filter_map(Value::as_object).flat_map(|item| item.values());
        for id in operations.filter_map(|operation| operation["operationId"].as_str()) {
            for what in ["Data", "Error", "Errors", "Params", "Request", "Response", "Responses"] {
                let made = format!("{id}{what}");
                assert!(!types.contains_key(&plain(&made)), "{made} is made of the operation {id}");
            }
        }
    }
}

/// Beside members a choice is taken for one of types, and the members are lost.
#[test]
fn no_object_with_members_is_a_choice() {
    for document in documents() {
        for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
            let is_choice = !(schema["oneOf"].is_null() && schema["anyOf"].is_null());
            assert!(!is_choice || schema["properties"].is_null(), "{name}: {schema}");
        }
    }
}

/// The patterns of everything in a value.
fn patterns<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("pattern").and_then(Value::as_str));
            members.values().for_each(|member| patterns(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| patterns(item, found)),
        _ => {}
    }
}

/// An escape that a generator writes as the character ends the line that it stands on.
#[test]
fn no_pattern_holds_a_separator_of_lines() {
    for document in documents() {
        let mut found = Vec::new();
        patterns(&document, &mut found);
        for pattern in found {
            for separator in ["\u{2028}", "\u{2029}", "u2028", "u2029", "\n", "\\n", "\\r"] {
                assert!(!pattern.contains(separator), "{pattern}");
            }
        }
    }
}

#[test]
fn the_pattern_of_a_name_takes_what_the_server_takes_of_every_character() {
    let schema = json!({"pattern": agent_name::PATTERN});
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    for c in '\0'..='\u{ffff}' {
        for name in [
            format!("{c}"),
            format!("a{c}b"),
            format!("{c}a"),
            format!(" {c}"),
            format!("{c}\u{2028}"),
        ] {
            let taken = AgentName::parse(&name).is_ok();
            assert_eq!(schema.is_valid(&json!(name)), taken, "{name:?}");
        }
    }
}

#[test]
fn no_two_operations_have_the_same_id() {
    let document = serde_json::to_value(router::document()).unwrap();
    let mut ids = BTreeSet::new();
    for (path, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_default();
        assert!(!id.is_empty() && ids.insert(id.to_owned()), "{path}: {id:?}");
    }
    assert!(ids.len() > 100, "the operations were found");
}

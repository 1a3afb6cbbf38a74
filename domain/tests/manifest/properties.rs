//! What holds for every input: parsing never panics, answers are bounded, and what was admitted
//! reads back as the same.

use proptest::prelude::*;
use rookery_domain::manifest;
use serde_json::{Map, Value, json};

use super::parse;

/// Any JSON, with the words of manifests and schemas among its members.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        prop::sample::select(vec!["object", "string", "array"]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z$#/*.:@]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Members that mean something, so that the walk gets past the first check.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "collections",
        "$defs",
        "roles",
        "events",
        "capabilities",
        "externalHosts",
        "embeds",
        "cdn",
        "visibility",
        "notify",
        "schedules",
        "webhooks",
        "ingest",
        "agentTasks",
        "schema",
        "permissions",
        "read",
        "write",
        "delete",
        "update",
        "countRead",
        "unique",
        "appendOnly",
        "relations",
        "retention",
        "collection",
        "on",
        "to",
        "when",
        "field",
        "op",
        "value",
        "url",
        "map",
        "name",
        "mode",
        "$ref",
        "properties",
        "pattern",
        "maxLength",
        "type",
        "items",
        "not",
        "enum",
        "required",
        "allOf",
        "entries",
        "a",
        "A",
        "/",
        "~",
    ])
    .prop_map(str::to_owned)
}

fn top_level() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(word(), any_json(), 0..5)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

fn areas() -> impl Strategy<Value = Value> {
    let area = prop::sample::select(vec![
        "capabilities",
        "externalHosts",
        "embeds",
        "notify",
        "schedules",
        "webhooks",
        "ingest",
        "agentTasks",
    ]);
    (area, prop::collection::vec(any_json(), 0..4)).prop_map(|(area, rules)| json!({area: rules}))
}

fn defined() -> impl Strategy<Value = Value> {
    (any_json(), any_json()).prop_map(|(schema, permissions)| {
        json!({
            "collections": {"entries": {"schema": {"$ref": "#/$defs/A"}, "permissions": permissions}},
            "$defs": {"A": schema}
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_never_panics_and_points_into_the_manifest(
        value in prop_oneof![any_json(), top_level(), areas(), defined()]
    ) {
        match parse(&value) {
            Ok(_) => prop_assert!(manifest::reload(&value).is_ok()),
            Err(error) => {
                let details = error.details.expect("details");
                let path = details["path"].as_str().expect("a path");
                prop_assert!(path.is_empty() || path.starts_with('/'));
                // The pointer leads somewhere, or to the place where a member is missing.
                let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                prop_assert!(value.pointer(parent).is_some(), "{path} in {value}");
            }
        }
    }
}

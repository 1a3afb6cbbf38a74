//! Merge patch after RFC 7396, and the fields that only a row's creator changes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode, Principal, PrincipalKind,
    json::Object,
    manifest::{Collection, Permissions, Relation, Retention},
    patch,
};
use serde_json::{Value, json};
use uuid::Uuid;

#[test]
fn the_whole_table_of_rfc_7396_appendix_a_holds() {
    for (target, patch, result) in [
        (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
        (json!({"a":"b"}), json!({"a":null}), json!({})),
        (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
        (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
        (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
        (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a":"b"}), json!(["c"]), json!(["c"])),
        (json!({"a":"foo"}), json!(null), json!(null)),
        (json!({"a":"foo"}), json!("bar"), json!("bar")),
        (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
        (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
        (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
    ] {
        assert_eq!(merged(&target, &patch), result, "{target} with {patch}");
    }
}

/// What merging the texts of both means.
fn merged(target: &Value, patch: &Value) -> Value {
    let text = patch::merge(&target.to_string(), &patch.to_string()).expect("JSON");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_replacement_keeps_the_text_that_was_sent() {
    let sent = Object::parse("{\"z\":1.0,\"b\":2}").expect("valid");
    let replaced = patch::apply("{\"a\":1}", sent.clone(), true).expect("an object");
    assert_eq!(replaced.text(), "{\"z\":1.0,\"b\":2}");
    let merged = patch::apply("{\"a\":1}", sent, false).expect("an object");
    assert_eq!(merged.value(), &json!({"a": 1, "b": 2, "z": 1.0}));
    assert_eq!(merged.text(), "{\"a\":1,\"b\":2,\"z\":1.0}");
}

#[test]
fn what_a_patch_does_not_name_keeps_its_place_and_its_text() {
    let long = "12345678901234567890123";
    for (target, patch, result) in [
        (
            format!(r#"{{"z":{long},"a":1E2}}"#),
            r#"{"b":1}"#,
            format!(r#"{{"z":{long},"a":1E2,"b":1}}"#),
        ),
        (
            format!(r#"{{"in":{{"z":{long},"a":1}},"b":[{long}]}}"#),
            r#"{"in":{"a":2.0}}"#,
            format!(r#"{{"in":{{"z":{long},"a":2.0}},"b":[{long}]}}"#),
        ),
        ("{}".to_owned(), r#"{"n":9007199254740993.0}"#, r#"{"n":9007199254740993.0}"#.to_owned()),
        (
            r#"{"a\"\u00e9":1.0}"#.to_owned(),
            r#"{"a\"é":null,"\n":1.0}"#,
            r#"{"\n":1.0}"#.to_owned(),
        ),
    ] {
        assert_eq!(patch::merge(&target, patch).expect("JSON"), result);
    }
}

#[test]
fn a_writer_relation_is_changed_by_the_creator_alone() {
    let relation = |set_by_writer| Relation { collection: "threads".into(), set_by_writer };
    let collection = Collection {
        name: "posts".into(),
        schema: None,
        permissions: Permissions::default(),
        unique: Vec::new(),
        append_only: false,
        anon_write_budget: None,
        challenge: false,
        relations: BTreeMap::from([
            ("parent".into(), relation(true)),
            ("topic".into(), relation(false)),
        ]),
        retention: Retention::default(),
    };
    let creator = Principal::new(PrincipalKind::Human, Uuid::from_u128(1));
    let other = Principal::new(PrincipalKind::Human, Uuid::from_u128(2));
    let before = json!({"parent": "a", "topic": "t", "text": "x"});
    for (after, allowed) in [
        (json!({"parent": "a", "topic": "u", "text": "y"}), true),
        (json!({"parent": "b", "topic": "t", "text": "x"}), false),
        (json!({"topic": "t", "text": "x"}), false),
        (json!({"parent": null, "topic": "t", "text": "x"}), false),
    ] {
        let by = |caller| patch::check_relations(&collection, &before, &after, creator, caller);
        assert_eq!(by(creator), Ok(()), "{after}");
        match by(other) {
            Ok(()) => assert!(allowed, "{after}"),
            Err(error) => {
                assert!(!allowed, "{after}");
                assert_eq!(error.code, ErrorCode::RelationSetForbidden);
                assert_eq!(error.details.as_deref(), Some(&json!({"field": "parent"})));
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<i8>().prop_map(Value::from)];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The pseudocode of RFC 7396 section 2, word for word.
fn rfc_merge(target: Option<&Value>, patch: &Value) -> Value {
    let Value::Object(members) = patch else { return patch.clone() };
    let mut target = target.and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, value) in members {
        if value.is_null() {
            target.remove(name);
        } else {
            let merged = rfc_merge(target.get(name), value);
            target.insert(name.clone(), merged);
        }
    }
    Value::Object(target)
}

proptest! {
    #[test]
    fn merging_is_what_the_rfc_says_and_twice_is_once(target in any_json(), patch in any_json()) {
        let once = merged(&target, &patch);
        prop_assert_eq!(&once, &rfc_merge(Some(&target), &patch));
        prop_assert_eq!(&merged(&once, &patch), &once);
    }
}

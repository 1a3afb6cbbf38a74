//! Names, unique, append-only, budget, challenge, relations, retention and roles.

use serde_json::{Value, json};

use super::{admitted, assert_refused, collection};

fn with(member: &str, value: Value) -> Value {
    json!({
        "collections": {"notes": collection(member, value), "threads": collection("unique", json!([]))}
    })
}

#[test]
fn a_collection_name_follows_the_grammar() {
    for name in ["a", "entries", "a-b_c9", &"a".repeat(64)] {
        admitted(&json!({"collections": {name: collection("unique", json!([]))}}));
    }
    for name in ["", "Entries", "9a", "_a", "-a", "a b", "a.b", "é", &"a".repeat(65)] {
        let manifest = json!({"collections": {name: collection("unique", json!([]))}});
        assert_refused(&manifest, "collection_name_invalid", &format!("/collections/{name}"));
    }
    let slash = json!({"collections": {"a/b": collection("unique", json!([]))}});
    assert_refused(&slash, "collection_name_invalid", "/collections/a~1b");
}

#[test]
fn what_a_collection_says_about_its_rows_is_checked_member_by_member() {
    for (member, value, below) in [
        ("unique", json!("email"), ""),
        ("unique", json!([1]), "/0"),
        ("unique", json!(["a", "a"]), "/1"),
        ("unique", json!([""]), "/0"),
        ("unique", json!(["a".repeat(129)]), "/0"),
        ("unique", json!((0..21).map(|n| n.to_string()).collect::<Vec<_>>()), ""),
        ("appendOnly", json!("true"), ""),
        ("appendOnly", json!(null), ""),
        ("antiAbuse", json!("captcha"), ""),
        ("antiAbuse", json!(true), ""),
        ("anonWriteBudget", json!(5), ""),
        ("anonWriteBudget", json!({"perIpPerDay": 0}), "/perIpPerDay"),
        ("anonWriteBudget", json!({"perIpPerDay": -1}), "/perIpPerDay"),
        ("anonWriteBudget", json!({"perAppDay": 1.5}), "/perAppDay"),
        ("anonWriteBudget", json!({"perAppDay": "9"}), "/perAppDay"),
        ("anonWriteBudget", json!({"perDay": 9}), "/perDay"),
        ("retention", json!([]), ""),
        ("retention", json!({"maxAgeDays": 0}), "/maxAgeDays"),
        ("retention", json!({"maxAgeDays": 36_501}), "/maxAgeDays"),
        ("retention", json!({"maxRows": -5}), "/maxRows"),
        ("retention", json!({"maxRows": null}), "/maxRows"),
        ("retention", json!({"days": 5}), "/days"),
        ("relations", json!([]), ""),
        ("relations", json!({"parent": "threads"}), "/parent"),
        ("relations", json!({"parent": {}}), "/parent/collection"),
        ("relations", json!({"parent": {"collection": "No such name"}}), "/parent/collection"),
        ("relations", json!({"parent": {"collection": 1}}), "/parent/collection"),
        ("relations", json!({"parent": {"collection": "threads", "set": "owner"}}), "/parent/set"),
        (
            "relations",
            json!({"parent": {"collection": "threads", "onDelete": "cascade"}}),
            "/parent/onDelete",
        ),
        ("relations", json!({"": {"collection": "threads"}}), "/"),
    ] {
        let pointer = format!("/collections/notes/{member}{below}");
        assert_refused(&with(member, value), "manifest_invalid", &pointer);
    }
}

#[test]
fn the_good_forms_are_admitted() {
    for (member, value) in [
        ("unique", json!(["email", "slug"])),
        ("anonWriteBudget", json!({"perIpPerDay": 1})),
        ("anonWriteBudget", json!({"perAppDay": 500})),
        ("anonWriteBudget", json!({"perAppDay": 20.0})),
        ("antiAbuse", json!("challenge")),
        ("retention", json!({"maxRows": 1})),
        ("retention", json!({"maxAgeDays": 36_500})),
        ("relations", json!({"parent": {"collection": "threads"}})),
        ("relations", json!({"self": {"collection": "notes", "set": "writer"}})),
    ] {
        admitted(&with(member, value));
    }
}

#[test]
fn a_field_that_a_closed_schema_rules_out_cannot_be_named() {
    let manifest = |member: &str, value: Value, closed: bool| {
        let mut manifest = with("schema", json!({"$ref": "#/$defs/Note"}));
        manifest["collections"]["notes"][member] = value;
        manifest["$defs"] = json!({"Note": {"properties": {"title": {"type": "string"}}}});
        if closed {
            manifest["$defs"]["Note"]["additionalProperties"] = json!(false);
        }
        manifest
    };
    let relation = json!({"parent": {"collection": "threads"}});
    admitted(&manifest("unique", json!(["email"]), false));
    admitted(&manifest("unique", json!(["title"]), true));
    admitted(&manifest("relations", relation.clone(), false));
    for (member, value, pointer) in [
        ("unique", json!(["title", "email"]), "/collections/notes/unique/1"),
        ("relations", relation, "/collections/notes/relations/parent"),
    ] {
        assert_refused(&manifest(member, value, true), "manifest_invalid", pointer);
    }
}

#[test]
fn a_role_has_a_name_of_its_own_and_perhaps_a_title() {
    admitted(&json!({"roles": {"editor": {}, "judge-2": {"title": "Judge"}}}));
    for (roles, pointer) in [
        (json!({"owner": {}}), "/roles/owner"),
        (json!({"member": {}}), "/roles/member"),
        (json!({"anyone": {}}), "/roles/anyone"),
        (json!({"creator": {}}), "/roles/creator"),
        (json!({"author": {}}), "/roles/author"),
        (json!({"agent": {}}), "/roles/agent"),
        (json!({"Judge": {}}), "/roles/Judge"),
        (json!({"a:b": {}}), "/roles/a:b"),
        (json!({"judge": "Judge"}), "/roles/judge"),
        (json!({"judge": {"title": 1}}), "/roles/judge/title"),
        (json!({"judge": {"title": " "}}), "/roles/judge/title"),
        (json!({"judge": {"name": "Judge"}}), "/roles/judge/name"),
    ] {
        assert_refused(&json!({"roles": roles}), "manifest_invalid", pointer);
    }
    let many: serde_json::Map<_, _> = (0..51).map(|n| (format!("r{n}"), json!({}))).collect();
    assert_refused(&json!({"roles": many}), "manifest_invalid", "/roles");
}

//! Types from schemas: what each keyword becomes, and that the text is sound whatever the manifest
//! is. The TypeScript compiler itself reads them in the black-box tests.

use proptest::prelude::*;
use rookery_domain::typescript::declarations;
use serde_json::{Value, json};

use crate::manifest::{parse, properties::any_json};

/// The declared type of one collection whose rows have this schema.
fn type_of(schema: &Value) -> String {
    let manifest = json!({
        "collections": {"entries": {
            "schema": {"$ref": "#/$defs/Entry"},
            "permissions": {"read": [], "write": ["owner"], "delete": ["owner"]},
        }},
        "$defs": {"Entry": schema},
    });
    let text = declarations(&parse(&manifest).expect("an accepted manifest"));
    let line = text.lines().find_map(|line| line.trim().strip_prefix("\"entries\": "));
    line.expect("the collection").trim_end_matches(';').to_owned()
}

#[test]
fn of_many_alternatives_none_is_left_out() {
    let mut many: Vec<Value> =
        (0..201).map(|n| json!({"type": "string", "maxLength": n})).collect();
    many.push(json!({"type": "number"}));
    let row = type_of(&json!({"properties": {"a": {"anyOf": many}}}));
    assert_eq!(row, "{ \"a\"?: (number) | (string); [member: string]: unknown; }");
}

#[test]
fn each_keyword_becomes_its_type() {
    let closed = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    for (schema, expected) in [
        (json!({}), "{ [member: string]: unknown; }"),
        (json!({"type": "object"}), "{ [member: string]: unknown; }"),
        (json!({"additionalProperties": {"type": "integer"}}), "{ [member: string]: number; }"),
        (closed(json!({})), "Record<string, never>"),
        (closed(json!({"a": closed(json!({}))})), r#"{ "a"?: Record<string, never>; }"#),
        (closed(json!({"a": {"type": "string"}})), r#"{ "a"?: string; }"#),
        (
            json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "null"}}}),
            r#"{ "a": null; "b": unknown; [member: string]: unknown; }"#,
        ),
        (closed(json!({"a": {"type": ["string", "null"]}})), r#"{ "a"?: (null) | (string); }"#),
        (closed(json!({"a": {"enum": ["x", 1, null]}})), r#"{ "a"?: ("x") | (1) | (null); }"#),
        (closed(json!({"a": {"const": {"b": [1]}}})), r#"{ "a"?: { "b": [1]; }; }"#),
        (closed(json!({"a": {"items": {"type": "number"}}})), r#"{ "a"?: (number)[]; }"#),
        (
            closed(json!({"a": {"prefixItems": [{"type": "string"}], "items": false}})),
            r#"{ "a"?: [(string)?]; }"#,
        ),
        (
            closed(json!({"a": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}})),
            r#"{ "a"?: (boolean) | (string); }"#,
        ),
        (
            closed(json!({"a": {"allOf": [{"required": ["x"]}, {"required": ["y"]}]}})),
            r#"{ "a"?: ({ "x": unknown; [member: string]: unknown; }) & ({ "y": unknown; [member: string]: unknown; }); }"#,
        ),
        (closed(json!({"a": {"not": {"type": "string"}}})), r#"{ "a"?: unknown; }"#),
        (closed(json!({"a": false})), r#"{ "a"?: never; }"#),
        (
            closed(json!({"a": {"type": "string", "description": "Ends */ here\nand there"}})),
            r#"{ /** Ends * / here and there */ "a"?: string; }"#,
        ),
        (
            closed(json!({"\"\\\u{2028}\n": {"type": "string"}})),
            r#"{ "\"\\\u2028\u000a"?: string; }"#,
        ),
    ] {
        assert_eq!(type_of(&schema), expected, "{schema}");
    }
}

#[test]
fn roles_and_events_are_declared_beside_the_collections() {
    let manifest = json!({
        "roles": {"editor": {"title": "Editor"}},
        "events": {"cheer": {"schema": {"$ref": "#/$defs/Cheer"}}, "nod": {}},
        "$defs": {"Cheer": {"properties": {"loud": {"type": "boolean"}}, "required": ["loud"]}},
    });
    let text = declarations(&parse(&manifest).expect("an accepted manifest"));
    for line in [
        r#""cheer": { "loud": boolean; [member: string]: unknown; };"#,
        r#""nod": { [member: string]: any; };"#,
        r#""editor": true;"#,
    ] {
        assert!(text.lines().any(|it| it.trim() == line), "{line} in {text}");
    }
}

/// Whether every bracket, literal and comment of `text` is closed where it was opened, and nothing
/// stands in it that is no token of these declarations.
fn is_sound(text: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => loop {
                match rest.next() {
                    Some('\\') => drop(rest.next()),
                    Some('"') => break,
                    Some(c) if c == '\n' || c == '\r' || c == '\u{2028}' || c == '\u{2029}' => {
                        return false;
                    }
                    Some(_) => {}
                    None => return false,
                }
            },
            '/' => {
                if rest.next() != Some('*') {
                    return false;
                }
                let mut before = ' ';
                loop {
                    match rest.next() {
                        Some('/') if before == '*' => break,
                        Some(c) => before = c,
                        None => return false,
                    }
                }
            }
            '{' | '[' | '(' => open.push(c),
            '}' | ']' | ')' => {
                let opened = open.pop();
                if !matches!((opened, c), (Some('{'), '}') | (Some('['), ']') | (Some('('), ')')) {
                    return false;
                }
            }
            c if c.is_ascii_alphanumeric() || " \n;:?|&,.+-_".contains(c) => {}
            _ => return false,
        }
    }
    open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_accepted_manifest_has_sound_declarations(
        schema in any_json(), member in any::<String>(), text in any::<String>(),
        value in any_json(),
    ) {
        let entry = |schema: &Value| json!({
            "schema": {"$ref": "#/$defs/A"},
            "permissions": {"read": [], "write": ["owner"], "delete": ["owner"]},
            "unique": [], "relations": {}, "appendOnly": schema.is_null(),
        });
        let schema = json!({
            "properties": {member.clone(): schema, "b": {"const": value, "title": text}},
            "required": [member],
            "allOf": [{"description": "*/", "enum": [{"*/": "*/"}, "//"]}],
        });
        let manifest = json!({"collections": {"a": entry(&schema)}, "$defs": {"A": schema}});
        if let Ok(manifest) = parse(&manifest) {
            let text = declarations(&manifest);
            prop_assert!(is_sound(&text), "{}", text);
            prop_assert_eq!(text, declarations(&manifest));
        }
    }
}

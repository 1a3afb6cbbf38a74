//! Compiled schemas: the official vectors, the bounds on cost, and what a violation says.

use std::time::Duration;

use proptest::prelude::*;
use rookery_domain::{
    manifest::SchemaSource,
    schema::{
        self, CompiledSchema, Misfit, PATTERNS_MAX, POINTER_CHARS_MAX, Trials, VIOLATION_CHARS_MAX,
        VIOLATIONS_MAX, inspect,
    },
};
use serde_json::{Map, Value, json};

use crate::{cpu::within, manifest::properties::any_json};

const VECTORS: &str = include_str!("vectors/json-schema-2020-12.json");

/// Puts a schema into another one.
type Wrap = fn(Value) -> Value;

pub(crate) fn compile(schema: &Value) -> Result<CompiledSchema, String> {
    CompiledSchema::compile(&SchemaSource::new("Test", schema))
}

pub(crate) fn compiled(schema: &Value) -> CompiledSchema {
    compile(schema).unwrap_or_else(|message| panic!("{schema}: {message}"))
}

/// What a new manifest asks of a schema, for rows of 64 KiB.
pub(crate) fn admit(schema: &Value) -> Result<(), String> {
    let text = SchemaSource::new("Test", schema).text;
    schema::admit(schema, &text, 65_536, &mut Trials::default())
        .map_err(|faults| faults.list[0].message.clone())
}

#[test]
fn a_misspelt_type_is_told_which_types_there_are() {
    for bad in [json!("strng"), json!("String"), json!(["string", "string"]), json!([]), json!(5)] {
        let message = compile(&json!({"properties": {"a": {"type": bad}}})).expect_err("no type");
        assert!(message.contains(r#""number", "object", "string""#), "{bad}: {message}");
    }
    // A field of that name is none.
    let message = compile(&json!({"properties": {"type": "string"}})).expect_err("no schema");
    assert!(!message.contains("a type is"), "{message}");
}

#[test]
fn the_official_suite_is_answered_as_published() {
    let suite: Map<String, Value> = serde_json::from_str(VECTORS).expect("the vectors are JSON");
    let (mut run, mut wrong) = (0, Vec::new());
    for (file, groups) in &suite {
        for group in groups.as_array().expect("groups") {
            let schema = match compile(&group["schema"]) {
                Ok(schema) => schema,
                Err(message) => {
                    wrong.push(format!("{file} / {}: {message}", group["description"]));
                    continue;
                }
            };
            for test in group["tests"].as_array().expect("tests") {
                run += 1;
                let name = test["description"].as_str().expect("a description");
                if schema.validate(&test["data"]).is_ok() != test["valid"] {
                    wrong.push(format!("{file} / {} / {name}", group["description"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {run}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(run > 1_000, "only {run} vectors");
}

#[test]
fn references_are_refused_wherever_they_hide() {
    let hidden = [
        (json!({"$ref": "#"}), "/$ref"),
        (json!({"$ref": "#/$defs/Other"}), "/$ref"),
        (json!({"$ref": "https://example.com/s.json"}), "/$ref"),
        (json!({"properties": {"a": {"$ref": "#"}}}), "/properties/a/$ref"),
        (json!({"properties": {"a/b": {"not": {"$ref": "#"}}}}), "/properties/a~1b/not/$ref"),
        (json!({"allOf": [true, {"items": {"$dynamicRef": "#x"}}]}), "/allOf/1/items/$dynamicRef"),
        (json!({"$defs": {"X": {"$ref": "#"}}}), "/$defs/X/$ref"),
        (json!({"x-mine": {"deep": [{"$ref": "#"}]}}), "/x-mine/deep/0/$ref"),
        (json!({"$recursiveRef": "#"}), "/$recursiveRef"),
        (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), "/$schema"),
    ];
    for (schema, pointer) in hidden {
        let faults = inspect(&schema, 1_000).expect_err(pointer);
        assert_eq!(faults[0].pointer, pointer, "{schema}");
        assert!(compile(&schema).is_err(), "{schema}");
    }
}

#[test]
fn names_that_generators_give_schemas_change_nothing() {
    let named = json!({
        "$id": "https://example.com/entry.json", "$anchor": "entry", "type": "object",
        "properties": {"a": {"$id": "urn:x", "$dynamicAnchor": "a", "type": "string"},
                       "b": {"$id": "other.json", "items": {"type": "integer"}}},
    });
    assert_eq!(inspect(&named, 1_000), Ok(vec![]));
    let schema = compiled(&named);
    assert!(schema.validate(&json!({"a": "x", "b": [1]})).is_ok());
    let violations =
        schema.validate(&json!({"a": 1, "b": ["x"]})).expect_err("does not fit").violations;
    let paths: Vec<_> = violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b/0"]);
    for wrong in
        [json!({"$id": "http://[", "type": "string"}), json!({"$id": "#a"}), json!({"$id": 1})]
    {
        assert!(admit(&wrong).is_err(), "{wrong}");
        assert!(compile(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn data_that_only_looks_like_a_reference_is_admitted() {
    for schema in [
        json!({"properties": {"$ref": {"type": "string"}, "$id": true}}),
        json!({"enum": [{"$ref": "#"}]}),
        json!({"const": {"$ref": "https://example.com"}}),
        json!({"dependentRequired": {"$ref": ["$id"], "$id": []}}),
        json!({"default": {"$id": "x"}, "examples": [{"$ref": "x"}]}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "fine"}),
    ] {
        assert_eq!(inspect(&schema, 1_000), Ok(vec![]), "{schema}");
        compiled(&schema);
    }
}

#[test]
fn a_remote_reference_fails_without_a_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    // Straight to the library with the same features, past our own refusal.
    let schema = json!({"$ref": format!("http://127.0.0.1:{port}/schema.json")});
    assert!(jsonschema::options().build(&schema).is_err());
    assert!(jsonschema::options().build(&json!({"$ref": "file:///etc/hostname"})).is_err());
    assert!(compile(&schema).is_err());
    let refused = listener.accept().expect_err("nobody connected");
    assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_pattern_that_backtracks_elsewhere_takes_linear_time() {
    let schema = compiled(&json!({"pattern": "(a+)+$"}));
    let text = format!("{}b", "a".repeat(60_000));
    let refused = within(Duration::from_secs(2), || schema.validate(&json!(text)));
    assert!(refused.is_err());
}

#[test]
fn patterns_that_cost_too_much_are_refused() {
    let many: Vec<_> = (0..=PATTERNS_MAX).map(|n| json!({"pattern": format!("^{n}")})).collect();
    for schema in [
        json!({"pattern": "a{1000}{1000}"}),
        json!({"patternProperties": {"a{1000}{1000}": true}}),
        json!({"properties": {"a": {"pattern": "(\\p{L}{500}){500}"}}}),
        json!({"pattern": "(?=a)b"}),
        json!({"pattern": "(a)\\1"}),
        json!({"pattern": "["}),
        json!({"pattern": "a".repeat(513)}),
        json!({"allOf": many}),
        // Linear in the text, and in the pattern: seconds for one row.
        json!({"pattern": "(a|b)*a(a|b){3000}c"}),
        json!({"pattern": "a{100}{100}c"}),
        json!({"pattern": "^(.{1,500},?){1,500}$"}),
        json!({"pattern": "(x?){900}y"}),
        json!({"allOf": vec![json!({"pattern": "[0-9]a{200}"}); 4]}),
        // Linear here, and exponential for engines that try every way.
        json!({"pattern": "(a+)+$"}),
        json!({"pattern": "^(?:a*)*$"}),
        json!({"pattern": "^(x+x+)+y$"}),
        json!({"pattern": "^(\\w+\\s*)+$"}),
        json!({"pattern": "^(a+|b)+$"}),
        json!({"pattern": "^((ab)+)+$"}),
        json!({"pattern": "^(a+b?)+$"}),
    ] {
        let admitted = within(Duration::from_secs(5), || admit(&schema));
        let message = admitted.expect_err("a costly pattern");
        assert!(message.chars().count() < 600, "{message}");
    }
}

#[test]
fn patterns_of_everyday_schemas_fit_the_budget() {
    for pattern in [
        "^[a-z0-9-]{1,64}$",
        "^.{1,280}$",
        "^[\\w.+-]+@[\\w-]+\\.[a-z]{2,}$",
        "^\\d{4}-\\d{2}-\\d{2}$",
        "^#[0-9a-fA-F]{6}$",
        "^\\p{L}+$",
        "^https://",
        "^[^\\s@]{1,64}@[^\\s@]{1,255}$",
        "^\\S{1,255}$",
        "^\\p{L}{1,20}$",
        "^[\\p{L}\\p{M} .'-]{1,50}$",
        "^.{1,1000}$",
        "^[^<>]{1,500}$",
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "^([a-z0-9]+\\.)+[a-z]{2,}$",
        "^[a-z0-9]+(-[a-z0-9]+)*$",
        "^([a-z]+[0-9]+)+$",
        "^(\\s*[^,]+,)*$",
        "^(ab+)+$",
    ] {
        let schema = json!({"pattern": pattern});
        assert_eq!(admit(&schema), Ok(()), "{pattern}");
        compiled(&schema);
    }
    // What one pattern takes does not depend on how many others there are.
    let many = (0..40).map(|n| (format!("f{n}"), json!({"pattern": "^[a-z]{1,40}$"})));
    let mut many: serde_json::Map<_, _> = many.collect();
    many.insert("name".to_owned(), json!({"pattern": "^\\p{L}{1,20}$"}));
    assert_eq!(admit(&json!({"properties": many})), Ok(()));
}

#[test]
fn unevaluated_keywords_cannot_be_nested_into_exponential_time() {
    let shapes: [(Wrap, &str); 4] = [
        (|inner| json!({"unevaluatedProperties": false, "anyOf": [inner]}), "/anyOf/0"),
        (
            |inner| json!({"unevaluatedProperties": false, "allOf": [{"properties": {"a": inner}}]}),
            "/allOf/0/properties/a",
        ),
        (|inner| json!({"unevaluatedItems": false, "contains": inner}), "/contains"),
        (|inner| json!({"unevaluatedProperties": true, "if": inner, "then": true}), "/if"),
    ];
    for (shape, below) in shapes {
        let place = below.repeat(4);
        let nested = |levels| (0..levels).fold(json!(true), |inner, _| shape(inner));
        within(Duration::from_secs(5), || {
            let _ = compiled(&nested(4)).validate(&json!({"a": {"a": {"a": [[[1]]]}}}));
            for levels in [5, 20] {
                let message = compile(&nested(levels)).expect_err("one level too many");
                assert_eq!(
                    message,
                    format!("at {place:?}: nests more than 4 unevaluated keywords")
                );
            }
        });
    }
}

#[test]
fn closed_objects_may_be_nested_as_deep_as_any() {
    let closed = |inner| json!({"unevaluatedProperties": false, "properties": {"a": inner}});
    let schema = compiled(&(0..20).fold(json!({"type": "integer"}), |inner, _| closed(inner)));
    let value = (0..20).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(schema.validate(&value), Ok(()));
    let wrong = (0..20).fold(json!("x"), |inner, _| json!({"a": inner}));
    assert!(schema.validate(&wrong).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_compiles_validates_without_a_panic(schema in any_json(), value in any_json()) {
        if let Ok(schema) = compile(&schema)
            && let Err(misfit) = schema.validate(&value)
        {
            prop_assert!((1..=VIOLATIONS_MAX).contains(&misfit.violations.len()));
        }
    }
}

#[test]
fn a_schema_nested_too_deep_is_refused() {
    let wraps: [(Wrap, &str, usize); 3] = [
        (|s| json!({"not": s}), "/not", 64),
        (|s| json!({"allOf": [s]}), "/allOf/0", 32),
        (|s| json!({"x": {"y": s}}), "/x/y", 32),
    ];
    for (wrap, below, times) in wraps {
        let wrapped = |inmost| (0..times).fold(inmost, |inner, _| wrap(inner));
        assert_eq!(inspect(&wrapped(json!({})), 1_000), Ok(vec![]), "{below}");
        for inmost in [json!({"not": {}}), json!({"not": {"not": {"not": {}}}})] {
            let faults = inspect(&wrapped(inmost), 1_000).expect_err("one level too many");
            assert_eq!(faults.len(), 1);
            assert_eq!(faults[0].pointer, format!("{}/not", below.repeat(times)));
            assert_eq!(faults[0].message, "is nested deeper than 64 levels");
        }
    }
}

#[test]
fn a_max_length_beyond_the_row_is_refused_and_one_within_is_not() {
    assert_eq!(inspect(&json!({"maxLength": 1_000}), 1_000), Ok(vec![]));
    assert_eq!(
        inspect(&json!({"properties": {"maxLength": {"type": "string"}}}), 1_000),
        Ok(vec![])
    );
    for length in [json!(1_001), json!(1e30), json!(1_001.0)] {
        let schema = json!({"properties": {"a": {"maxLength": length}}});
        let faults = inspect(&schema, 1_000).expect_err("beyond the cap");
        assert_eq!(faults[0].pointer, "/properties/a/maxLength");
    }
}

#[test]
fn a_malformed_schema_says_where() {
    for (schema, pointer) in [
        (json!({"type": "strin"}), "/type"),
        (json!({"properties": {"a": {"minLength": -1}}}), "/properties/a/minLength"),
        (json!({"required": "a"}), "/required"),
        (json!({"properties": {"a": 7}}), "/properties/a"),
    ] {
        let message = compile(&schema).expect_err("malformed");
        assert!(message.contains(pointer), "{schema}: {message}");
    }
}

#[test]
fn a_violation_names_path_and_keyword_and_never_the_value() {
    let schema = compiled(&json!({
        "type": "object",
        "required": ["name"],
        "properties": {"mail": {"type": "string", "format": "email"}, "age": {"minimum": 0}},
        "additionalProperties": false,
    }));
    let canary = "canary-5f1e".repeat(500);
    let violations = schema
        .validate(&json!({"mail": canary, "age": -1}))
        .expect_err("three violations")
        .violations;
    let found: Vec<_> = violations.iter().map(|v| (v.path.as_str(), v.keyword.as_str())).collect();
    for expected in [("/mail", "format"), ("/age", "minimum"), ("", "required")] {
        assert!(found.contains(&expected), "{found:?}");
    }
    assert!(violations.iter().all(|violation| !violation.message.contains("canary")));
}

#[test]
fn a_report_is_bounded_whatever_the_data() {
    let schema = compiled(&json!({"additionalProperties": {"type": "string"}}));
    let data: Map<String, Value> =
        (0..500).map(|n| (format!("{n}{}", "k".repeat(3_000)), json!(n))).collect();
    let misfit = schema.validate(&Value::Object(data)).expect_err("500 violations");
    let Misfit { violations, left_out } = misfit;
    assert_eq!((violations.len(), left_out), (VIOLATIONS_MAX, 500 - VIOLATIONS_MAX));
    for violation in violations {
        assert!(violation.path.chars().count() <= POINTER_CHARS_MAX + 1);
        assert!(violation.message.chars().count() <= VIOLATION_CHARS_MAX + 1);
    }
    let closed = compiled(&json!({"additionalProperties": false}));
    let violations =
        closed.validate(&json!({"k".repeat(9_000): 1})).expect_err("closed").violations;
    assert!(violations[0].message.chars().count() <= VIOLATION_CHARS_MAX + 1);
}

#[test]
fn a_report_that_would_take_gigabytes_is_not_built() {
    let branches: Vec<_> = (1..1_500).map(|n| json!({"const": n})).collect();
    let options: Vec<_> = (1..3_000).collect();
    let many = |item: Value| Value::Array(vec![item; 16_000]);
    for (schema, value) in [
        (json!({"items": {"anyOf": branches}}), many(json!(0))),
        (json!({"anyOf": vec![json!({"items": {"type": "null"}}); 800]}), many(json!(0))),
        (json!({"items": {"enum": options}}), many(json!(0))),
        (json!({"items": {"items": {"type": "null"}}}), many(json!([0, 0, 0]))),
    ] {
        let judged = within(Duration::from_secs(5), || compiled(&schema).validate(&value));
        let violations = judged.expect_err("nothing fits").violations;
        assert_eq!((violations.len(), violations[0].keyword.as_str()), (1, "schema"));
    }
}

#[test]
fn a_long_row_of_a_plain_schema_still_says_where_it_fails() {
    let schema = json!({"properties": {"points": {"items": {"type": "number", "minimum": 0}}}});
    let mut points = vec![json!(1); 5_000];
    points[4_321] = json!(-1);
    let violations =
        compiled(&schema).validate(&json!({"points": points})).expect_err("one").violations;
    assert_eq!((violations.len(), violations[0].path.as_str()), (1, "/points/4321"));
}

#[test]
fn equal_schemas_have_equal_text_and_different_ones_do_not() {
    let parse = |text: &str| SchemaSource::new("A", &serde_json::from_str(text).expect("JSON"));
    let one = parse(r#"{"type": "object", "properties": {"b": true, "a": {"maxLength": 3}}}"#);
    let two = parse(r#"{"properties":{"a":{"maxLength":3},"b":true},"type":"object"}"#);
    let three = parse(r#"{"properties":{"a":{"maxLength":4},"b":true},"type":"object"}"#);
    assert_eq!((&one.text, one.hash), (&two.text, two.hash));
    assert_ne!(one.hash, three.hash);
    let back: Value = serde_json::from_str(&one.text).expect("canonical text is JSON");
    assert_eq!(back["properties"]["a"]["maxLength"], 3);
}

#[test]
fn a_bigger_schema_weighs_more() {
    let small = compiled(&json!({"type": "object"}));
    let fields: Map<String, Value> =
        (0..100).map(|n| (format!("f{n}"), json!({"pattern": "^a"}))).take(60).collect();
    let big = compiled(&json!({"properties": fields}));
    assert!(small.weight_bytes() > 1_000);
    assert!(big.weight_bytes() > 20 * small.weight_bytes());
}

//! What holding one row against its schema may take.

use std::time::Duration;

use rookery_domain::schema::STEPS_MAX;
use serde_json::{Map, Value, json};

use crate::{cpu::within, schema::compiled};

/// A schema whose member `a` is a list, each item of which meets all `branches`.
fn of_items(branches: impl IntoIterator<Item = Value>) -> Value {
    json!({"properties": {"a": {"items": {"allOf": branches.into_iter().collect::<Vec<_>>()}}}})
}

fn list(item: Value, count: usize) -> Value {
    json!({"a": vec![item; count]})
}

#[test]
fn a_multiple_is_one_by_the_decimals_that_are_written() {
    for (multiple, value, fits) in [
        (json!(1.5), json!(9_007_199_254_740_993_u64), true),
        (json!(1.5), json!(9_007_199_254_740_994_u64), false),
        (json!(0.01), json!(1_070_468.14), true),
        (json!(0.01), json!(19.99), true),
        (json!(0.01), json!(19.999), false),
        (json!(0.1), json!(0.3), true),
        (json!(0.1), json!(-0.3), true),
        (json!(0.3), json!(0.1), false),
        (json!(2.5), json!(5), true),
        (json!(2.5), json!(6), false),
        (json!(3), json!(u64::MAX), true),
        (json!(7), json!(u64::MAX), false),
        (json!(2), json!(i64::MIN), true),
        (json!(3), json!(i64::MIN), false),
        (json!(1), json!(1.0), true),
        (json!(1), json!(1.5), false),
        (json!(0.5), json!(1e300), true),
        (json!(3), json!(9e300), true),
        (json!(3), json!(1e300), false),
        (json!(1.3e-300), json!(9e300), false),
        (json!(1.3e-300), json!(2.6e300), true),
        (json!(1e300), json!(1), false),
        (json!(1e300), json!(3e300), true),
        (json!(5e-324), json!(1), true),
        (json!(4), json!(5e-324), false),
        (json!(1e-8), json!(12_391_239_123_u64), true),
        (json!(0.123_456_789), json!(1e308), false),
        (json!(0.123_456_789), json!(0), true),
        (json!(7), json!(-0.0), true),
        (json!(7), json!("text"), true),
        (json!(18_446_744_073_709_551_615_u64), json!(u64::MAX), true),
        (json!(18_446_744_073_709_551_615_u64), json!(u64::MAX - 1), false),
    ] {
        let judged = compiled(&json!({"multipleOf": multiple})).validate(&value);
        assert_eq!(judged.is_ok(), fits, "{value} of {multiple}");
    }
    let violations = compiled(&json!({"properties": {"a": {"multipleOf": 0.01}}}))
        .validate(&json!({"a": 0.001}))
        .expect_err("one")
        .violations;
    let found = (&*violations[0].path, &*violations[0].keyword, &*violations[0].message);
    assert_eq!(found, ("/a", "multipleOf", "the value is not a multiple of 0.01"));
}

#[test]
fn numbers_far_apart_are_divided_as_fast_as_any() {
    let far =
        (0..1_246).map(|n| json!({"multipleOf": format!("1.{n}3e-300").parse::<f64>().unwrap()}));
    let schema =
        compiled(&json!({"properties": {"a": {"items": {"anyOf": far.collect::<Vec<_>>()}}}}));
    let judged = |item: Value| {
        let row = list(item, 640);
        assert!(schema.steps(&row) <= STEPS_MAX, "it is looked at");
        within(Duration::from_secs(3), || schema.validate(&row))
    };
    assert_eq!(judged(json!(1.12453e-300)), Ok(()), "a multiple of the last one");
    let violations = judged(json!(7e300)).expect_err("a multiple of none").violations;
    assert_eq!((violations.len(), &*violations[0].path), (1, ""));
    assert!(violations[0].message.contains("too large to say where"), "{violations:?}");
}

#[test]
fn a_row_that_takes_too_much_is_refused_before_it_is_looked_at() {
    let many = |branch: fn(u32) -> Value| (1..1_500).map(branch);
    let patterns = (0..60).map(|n| json!({"pattern": format!("^(a?){{{}}}$", 200 + n)}));
    let texts = vec![json!("a".repeat(199)); 300];
    for (schema, row) in [
        (of_items(many(|n| json!({"multipleOf": 0.5 + f64::from(n)}))), list(json!(0), 30_000)),
        (of_items(many(|n| json!({"not": {"const": n}}))), list(json!(0), 30_000)),
        (of_items(many(|_| json!({"format": "idn-hostname"}))), list(json!("ä.de"), 5_000)),
        (
            json!({"properties": {"a": {"allOf": vec![json!({"uniqueItems": true}); 1_500]}}}),
            json!({"a": (0..10_000).collect::<Vec<_>>()}),
        ),
        (
            json!({"allOf": vec![json!({"propertyNames": {"format": "idn-email"}}); 900]}),
            Value::Object(
                (0..6_000).map(|n| (format!("k{n:05}"), json!(0))).collect::<Map<_, _>>(),
            ),
        ),
        (of_items(patterns), json!({"a": texts})),
    ] {
        let schema = compiled(&schema);
        assert!(schema.steps(&row) > STEPS_MAX);
        let judged = within(Duration::from_secs(1), || schema.validate(&row));
        let violations = judged.expect_err("too much").violations;
        assert_eq!((violations.len(), &*violations[0].path), (1, ""));
        assert!(violations[0].message.contains("send less at once"), "{violations:?}");
    }
}

#[test]
fn a_text_longer_than_rows_are_by_default_takes_steps_in_proportion() {
    let parts: String = ('a'..='t').map(|c| format!("{c}*")).collect();
    for pattern in [format!("^{parts}$"), "x".to_owned(), "^a{65536}(b?){400}c$".to_owned()] {
        let schema = compiled(&json!({"pattern": pattern}));
        let steps = |length: usize| schema.steps(&json!("a".repeat(length)));
        let (short, long) = (steps(60_000), steps(1_200_000));
        assert!(long >= 19 * short, "{pattern}: {short} and {long}");
    }
    let schema = compiled(&json!({"pattern": format!("^{parts}$")}));
    let violations = schema.validate(&json!("a".repeat(1 << 20))).expect_err("too much").violations;
    assert!(violations[0].message.contains("send less at once"), "{violations:?}");
}

#[test]
fn a_pattern_that_only_short_rows_may_have_is_counted_to_its_end() {
    let steps = |repeated: usize| {
        compiled(&json!({"pattern": format!("[0-9]a{{{repeated}}}")}))
            .steps(&json!("a".repeat(5_000)))
    };
    assert!(steps(1_000) * 10 > 19 * steps(500), "{} and {}", steps(500), steps(1_000));
}

#[test]
fn rows_of_ordinary_schemas_are_far_from_the_bound() {
    let countries: Vec<_> =
        (0..250).map(|n| json!({"const": format!("c{n}"), "title": "x"})).collect();
    let order = json!({
        "type": "object",
        "properties": {
            "email": {"type": "string", "format": "email", "maxLength": 200},
            "country": {"oneOf": countries},
            "notes": {"type": "string", "pattern": "^[^<>]+$", "maxLength": 60_000},
            "lines": {"type": "array", "uniqueItems": true, "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
                    "price": {"type": "number", "minimum": 0, "multipleOf": 0.01},
                    "at": {"type": "string", "format": "date-time"},
                    "kind": {"enum": ["a", "b", null, 1, 2, 3]},
                },
                "required": ["sku", "price"],
                "additionalProperties": false,
            }},
        },
        "required": ["email"],
        "additionalProperties": false,
    });
    let line = |n| {
        json!({
            "sku": format!("ABC-{n:04}"), "price": 19.99, "at": "2024-01-01T00:00:00Z", "kind": "a",
        })
    };
    let lines: Vec<_> = (0..700).map(line).collect();
    let row = json!({"email": "a@b.example", "country": "c7", "lines": lines});
    let schema = compiled(&order);
    assert_eq!(schema.validate(&row), Ok(()));
    assert!(schema.steps(&row) < STEPS_MAX / 16, "{}", schema.steps(&row));
    let text = json!({"email": "a@b.example", "notes": "x".repeat(60_000)});
    assert!(schema.steps(&text) < STEPS_MAX / 16, "{}", schema.steps(&text));
    // An enumeration does no harm outside of lists.
    let branches: Vec<_> = (0..1_700).map(|n| json!({"const": n})).collect();
    let schema =
        compiled(&json!({"properties": {"kind": {"anyOf": branches}, "tags": {"items": {}}}}));
    let row = json!({"kind": 1_699, "tags": vec![0; 30_000]});
    assert_eq!(schema.validate(&row), Ok(()));
    assert!(schema.steps(&row) < STEPS_MAX / 16);
    let deep = (0..60).fold(json!({"uniqueItems": true}), |inner, _| json!({"items": inner}));
    assert!(compiled(&deep).steps(&(0..63).fold(json!(1), |inner, _| json!([inner]))) < 10_000);
}

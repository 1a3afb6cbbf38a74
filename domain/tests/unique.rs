//! When two values of a unique field are the same value.

use proptest::prelude::*;
use rookery_domain::unique::UniqueKey;
use serde_json::{Value, json};

fn form(text: &str) -> String {
    UniqueKey::of(&json!(text)).expect("not null").as_str().to_owned()
}

fn same(a: &Value, b: &Value) -> bool {
    UniqueKey::of(a) == UniqueKey::of(b)
}

#[test]
fn values_that_read_the_same_collide() {
    for (a, b) in [
        (json!("Ann@Example.org"), json!("  ann@example.ORG\n")),
        (json!("STRASSE"), json!("straße")),
        (json!("\u{e9}t\u{e9}"), json!("E\u{301}TE\u{301}")),
        (json!("\u{a0}x\u{2003}"), json!("x")),
        (json!("ΟΔΟΣ"), json!("οδος")),
        (json!(""), json!("   ")),
        (json!(1), json!(1.0)),
        (json!(-0.0), json!(0)),
        (json!(1e3), json!(1000)),
        (json!(9_223_372_036_854_775_808_u64), json!(9_223_372_036_854_775_808.0)),
        (json!({"a": 1, "b": "X"}), json!({"b": " x", "a": 1.0})),
        (json!(["A", 2.0]), json!(["a", 2])),
    ] {
        assert!(same(&a, &b), "{a} and {b}");
    }
}

#[test]
fn values_that_differ_do_not_collide() {
    for (a, b) in [
        (json!("1"), json!(1)),
        (json!("true"), json!(true)),
        (json!(true), json!(false)),
        (json!("t"), json!(true)),
        (json!("a b"), json!("ab")),
        (json!("①"), json!("1")),
        (json!("i"), json!("ı")),
        (json!(1), json!(1.5)),
        (json!(u64::MAX), json!(u64::MAX - 1)),
        (json!(["a", "b"]), json!(["ab"])),
        (json!(["a,b"]), json!(["a", "b"])),
        (json!([]), json!({})),
        (json!([[1], 2]), json!([1, [2]])),
        (json!({"a": 1}), json!({"A": 1})),
        (json!({"a": 1}), json!({"a": 2})),
        (json!([null]), json!([])),
        (json!("x".repeat(5_000)), json!("x".repeat(5_001))),
    ] {
        assert!(!same(&a, &b), "{a} and {b}");
    }
}

#[test]
fn null_collides_with_nothing_and_the_empty_text_does() {
    assert_eq!(UniqueKey::of(&Value::Null), None);
    assert!(UniqueKey::of(&json!("")).is_some());
}

#[test]
fn long_values_collide_as_short_ones_do() {
    assert!(same(&json!("Ä".repeat(60_000)), &json!("ä".repeat(60_000))));
    assert!(!same(&json!("Ä".repeat(60_000)), &json!("ä".repeat(60_001))));
}

proptest! {
    #[test]
    fn normalising_twice_is_normalising_once(text in "\\PC{0,24}") {
        let once = form(&text);
        // Behind the quote that tells its type.
        prop_assert_eq!(form(&once[1..]), once.clone());
        prop_assert_eq!(form(&format!(" \t{text}\u{3000}")), once);
    }

    #[test]
    fn letter_case_never_matters(text in "[a-zA-Zäöüßéàñçøåπσδλжшяъ ]{0,24}") {
        prop_assert_eq!(form(&text.to_uppercase()), form(&text));
        prop_assert_eq!(form(&text.to_lowercase()), form(&text));
    }

    #[test]
    fn equal_numbers_are_equal_however_written(n in -(1i64 << 53)..(1i64 << 53)) {
        prop_assert!(same(&json!(n), &json!(n as f64)));
    }
}

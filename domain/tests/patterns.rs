//! Patterns as ECMA 262 has them, where the engine's own syntax has them otherwise.

use serde_json::json;

use crate::schema::{admit, compile, compiled};

/// Whether a whole text or a part of it matches.
fn matches(pattern: &str, text: &str) -> bool {
    assert_eq!(admit(&json!({"pattern": pattern})), Ok(()), "{pattern}");
    let as_text = compiled(&json!({"pattern": pattern})).validate(&json!(text)).is_ok();
    let closed = json!({"patternProperties": {pattern: true}, "additionalProperties": false});
    assert_eq!(
        compiled(&closed).validate(&json!({text: 1})).is_ok(),
        as_text,
        "{pattern} {text:?}"
    );
    as_text
}

#[test]
fn a_dot_is_anything_but_the_end_of_a_line() {
    for text in ["\n", "\r", "\u{2028}", "\u{2029}"] {
        assert!(!matches("^.$", text), "{text:?}");
        assert!(!matches("^(a|.)+$", text), "{text:?}");
        assert!(matches("^[^.]$", text), "{text:?}");
        assert!(matches("^[^]$", text), "{text:?}");
        assert!(matches("^(?s:.)$", text), "{text:?}");
    }
    for text in [".", "a", "\t", "\u{b}", "\u{85}", "é", "🦀"] {
        assert!(matches("^.$", text), "{text:?}");
        assert_eq!(matches(r"^\.$", text), text == ".", "{text:?}");
        assert_eq!(matches("^[.]$", text), text == ".", "{text:?}");
    }
    assert!(matches(r"^\(?s.\)?$", "sx") && !matches(r"^\(?s.$", "s\r"));
}

#[test]
fn escapes_that_the_engine_lacks_mean_what_they_say() {
    for (pattern, text, expected) in [
        (r"^\0$", "\0", true),
        (r"^\0$", "0", false),
        (r"^[\0a]$", "\0", true),
        (r"^[\b]$", "\u{8}", true),
        (r"^[\b]$", "b", false),
        (r"a\b", "a b", true),
        (r"a\b", "ab", false),
        (r"^\cA$", "\u{1}", true),
        (r"^[\cA-\cC]$", "\u{2}", true),
        ("^[^]$", "]", true),
        ("[]", "", false),
        ("^a|[]$", "a", true),
        (r"^\d\D\w\W\s\S$", "1aa- x", true),
        (r"^\d$", "٣", false),
        (r"^\s$", "\u{feff}", true),
        (r"^\S$", "\u{2029}", false),
        (r"(?x)^ \s . $", " a", true),
        (r"^\s$", " ", true),
        (r"^\w$", "é", false),
        (r"^[\d\s-]+$", "1 -", true),
        (r"^[\D]$", "1", false),
        (r"^\\d$", r"\d", true),
        (r"^\\.$", r"\x", true),
        (r"^\[.]$", "[x]", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} {text:?}");
    }
}

#[test]
fn what_is_refused_is_told_why_and_a_violation_names_the_pattern_as_it_is_written() {
    for pattern in ["(?=a)b", r"(a)\1", "(", "[", r"\00", r"\a"] {
        let message = admit(&json!({"pattern": pattern})).expect_err(pattern);
        assert!(message.contains("malformed, or has look-around, a back reference"), "{message}");
    }
    let schema = compiled(&json!({"properties": {"a": {"pattern": r"^.\d$"}}}));
    let violations = schema.validate(&json!({"a": "x"})).expect_err("one").violations;
    assert_eq!(violations[0].message, r#"the value does not match "^.\\d$""#);
    assert_eq!((violations[0].path.as_str(), violations[0].keyword.as_str()), ("/a", "pattern"));
}

#[test]
fn two_names_that_mean_the_same_are_both_heard() {
    let both = compiled(&json!({"patternProperties": {
        r"^\d$": {"minimum": 1}, "^[0-9]$": {"maximum": 2}, "^[0-9]$(?:)": {"multipleOf": 1},
    }}));
    for (value, fits) in
        [(json!(0), false), (json!(3), false), (json!(1.5), false), (json!(1), true)]
    {
        assert_eq!(both.validate(&json!({"7": value})).is_ok(), fits, "{value}");
    }
}

#[test]
fn a_stored_pattern_that_takes_more_than_it_did_still_compiles() {
    // It took 3.5 MiB while a dot was anything but a line feed.
    let schema = json!({"type": "object", "properties": {"t": {"pattern": "^.{1,3500}$"}}});
    assert!(admit(&schema).is_err(), "it is not admitted any more");
    assert!(compile(&schema).is_ok(), "a version that has it goes on");
}

//! Strict JSON: what is refused, in which words, and what is kept.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode,
    json::{self, Object, RawObject},
};
use serde::Deserialize;
use serde_json::{Value, json};

fn refusal(text: &str) -> String {
    let error = json::parse(text.as_bytes()).expect_err(text);
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    // The pass that builds nothing refuses in the same words.
    let checked = json::from_slice::<serde::de::IgnoredAny>(text.as_bytes()).expect_err(text);
    let words = |message: &str| message.split(" at line").next().map(ToOwned::to_owned);
    assert_eq!(words(&checked.message), words(&error.message));
    error.message
}

#[test]
fn each_kind_of_bad_json_is_named_with_its_place() {
    for (text, words) in [
        ("{\"a\":1,\"b\":{\"c\":1,\"c\":2}}", "member `c` occurs twice at line 1 column"),
        ("{\"a\":1,\"\\u0061\":2}", "member `a` occurs twice"),
        ("\"a\\u0000b\"", "NUL"),
        ("{\"a\\u0000\":1}", "NUL"),
        ("\"\\ud800\"", "surrogate"),
        ("\"\\udc00x\"", "surrogate"),
        ("[1e400]", "number out of range at line 1 column"),
        ("[1] 2", "trailing characters at line 1 column 5"),
        ("[1,\n 2,]", "line 2"),
        ("\"a\nb\"", "control character"),
        ("", "EOF"),
        ("NaN", "expected"),
    ] {
        let message = refusal(text);
        assert!(message.contains(words), "{text}: {message}");
    }
    let many: String = (0..40).map(|i| format!("\"k{}\":1,", i % 39)).collect();
    let message = refusal(&format!("{{{}}}", many.trim_end_matches(',')));
    assert!(message.contains("member `k0` occurs twice"), "{message}");
    let distinct: Vec<_> = (0..40).map(|i| format!("\"k{i}\":1")).collect();
    json::from_slice::<Value>(format!("{{{}}}", distinct.join(",")).as_bytes()).expect("valid");
}

#[test]
fn invalid_utf8_is_refused_with_its_byte() {
    let error = json::parse(b"{\"a\":\"\xff\"}").expect_err("not UTF-8");
    assert_eq!(error.message, "invalid JSON: not UTF-8 at byte 6");
}

#[test]
fn a_byte_order_mark_in_front_is_none_of_the_text() {
    let marked = |text: &str| format!("\u{feff}{text}").into_bytes();
    assert_eq!(json::parse(&marked("{\"a\":1}")).expect("valid"), serde_json::json!({"a": 1}));
    json::from_slice::<Value>(&marked("[]")).expect("valid");
    for text in ["\u{feff}{}", ""] {
        json::parse(&marked(text)).expect_err("one is none, two are text");
    }
}

#[test]
fn depth_is_bounded_at_64_and_never_overflows_the_stack() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(json::parse(nested(64).as_bytes()).is_ok());
    assert!(refusal(&nested(65)).contains("deeper than 64"));
    assert!(refusal(&"[".repeat(200_000)).contains("deeper than 64"));
    assert!(refusal(&"{\"a\":".repeat(200_000)).contains("deeper than 64"));
}

#[test]
fn an_object_keeps_its_text_in_order_without_whitespace() {
    let sent = "{ \"z\" : [ 1 , 2.50 ],\n\t\"a\" : \"two  words \\\" \" , \"e\":1E2 }";
    let object = Object::parse(sent).expect("valid");
    assert_eq!(object.text(), "{\"z\":[1,2.50],\"a\":\"two  words \\\" \",\"e\":1E2}");
    assert_eq!(object.value()["a"], json!("two  words \" "));
    assert!(Object::parse("[]").is_err());
    assert!(Object::parse("1").is_err());
    // What need not be escaped is not: one document has one length, whoever wrote it.
    let escaped = r#"{"\u0436": "\u0436\ud83d\ude00\/", "e": "\u000a\u0001\"\\", "z": 1}"#;
    let object = Object::parse(escaped).expect("valid");
    assert_eq!(object.text(), r#"{"ж":"ж😀/","e":"\n\u0001\"\\","z":1}"#);
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    key: Option<String>,
    data: RawObject,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    #[serde(default)]
    rows: Vec<Create>,
    #[serde(default)]
    named: BTreeMap<String, Create>,
}

fn body_refusal(text: &str) -> String {
    let error = match json::from_slice::<Batch>(text.as_bytes()) {
        Ok(Batch { rows, named }) => panic!("{text} passed as {rows:?} and {named:?}"),
        Err(error) => error,
    };
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    error.message
}

#[test]
fn a_body_holds_row_data_as_text_and_value() {
    let body: Create =
        json::from_slice(b"{\"data\": {\"b\": 1, \"a\": [ ]}, \"key\": \"k\"}").expect("valid");
    assert_eq!(body.key.as_deref(), Some("k"));
    assert_eq!(body.data.0.text(), "{\"b\":1,\"a\":[]}");
    assert_eq!(body.data.0.value(), &json!({"a": [], "b": 1}));
}

#[test]
fn a_body_of_the_wrong_type_is_told_which_member() {
    for (text, message) in [
        ("{\"rowz\":[]}", "unknown field `rowz`, expected `rows` or `named`"),
        (
            "{\"rows\":[{\"data\":{}},{\"data\":{},\"x\":1}]}",
            "`rows[1].x`: unknown field `x`, expected `key` or `data`",
        ),
        ("{\"rows\":[{\"data\":{}},{\"key\":\"a\"}]}", "`rows[1]`: missing field `data`"),
        ("{\"rows\":[{\"key\":12,\"data\":{}}]}", "`rows[0].key`: expected a string"),
        ("{\"rows\":[{\"data\":[1]}]}", "`rows[0].data`: expected an object"),
        ("{\"rows\":7}", "`rows`: expected an array"),
        ("{\"named\":{\"a\":{\"data\":\"{\"}}}", "`named.a.data`: expected an object"),
    ] {
        assert_eq!(body_refusal(text), message, "{text}");
    }
}

#[derive(Debug, Deserialize)]
struct Named {
    #[serde(alias = "called")]
    name: String,
}

#[test]
fn a_member_that_is_given_by_two_of_its_names_is_told_so() {
    let read = |text: &str| json::from_slice::<Named>(text.as_bytes());
    assert_eq!(read("{\"called\":\"a\"}").expect("valid").name, "a");
    let error = read("{\"called\":\"a\",\"name\":\"a\"}").expect_err("both");
    assert_eq!(error.message, "`name` is given twice, once by another of its names");
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    app: rookery_domain::id::AppId,
    operation: rookery_domain::access::Operation,
}

#[test]
fn a_value_that_its_type_refuses_is_told_by_its_member() {
    for (text, message) in [
        ("{\"app\":\"agt_1\",\"operation\":\"read\"}", "`app`: not an id of this kind"),
        (
            "{\"app\":\"app_00000000000000000000000000\",\"operation\":\"rk_share_x\"}",
            "`operation`: expected one of `read`, `create`, `update`, `delete`, `count`",
        ),
    ] {
        match json::from_slice::<Asked>(text.as_bytes()) {
            Ok(Asked { app, operation }) => panic!("{text} passed as {app} {operation:?}"),
            Err(error) => assert_eq!(error.message, message),
        }
    }
}

#[test]
fn a_refused_body_never_quotes_a_value() {
    let message = body_refusal("{\"rows\":\"rk_agent_secret, expected nothing\"}");
    assert!(!message.contains("rk_agent"), "{message}");
}

#[test]
fn a_typed_body_is_as_strict_as_a_value() {
    let deep =
        format!("{{\"rows\":[{{\"data\":{{\"a\":{}1{}}}}}]}}", "[".repeat(62), "]".repeat(62));
    assert!(body_refusal(&deep).contains("deeper than 64"));
    for text in [
        "{\"rows\":[{\"data\":{\"a\":1,\"a\":2}}]}",
        "{\"named\":{\"a\":{\"data\":{}},\"a\":{\"data\":{}}}}",
        "{\"rows\":[{\"key\":\"\\u0000\",\"data\":{}}]}",
        "{\"rows\":[{\"data\":{\"a\":1e999}}]}",
        "{\"rows\":[{\"data\":{\"a\":\"\\ud800\"}}]}",
    ] {
        assert!(body_refusal(text).starts_with("invalid JSON: "), "{text}");
    }
}

#[test]
fn a_refusal_is_short_however_long_the_name() {
    let long = "x".repeat(100_000);
    assert!(body_refusal(&format!("{{\"{long}\":1}}")).len() < 300);
    assert!(refusal(&format!("{{\"{long}\":1,\"{long}\":1}}")).len() < 400);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |n| n.is_finite().then(|| Value::from(n))),
        "[^\u{0}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^\u{0}]{0,4}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = json::parse(&bytes);
        let _ = json::from_slice::<Batch>(&bytes);
    }

    #[test]
    fn no_almost_json_makes_it_panic(text in "[\\[\\]{},:\"\\\\u0d8e1. nulltre-]{0,60}") {
        let built = json::parse(text.as_bytes());
        let checked = json::from_slice::<serde::de::IgnoredAny>(text.as_bytes());
        prop_assert_eq!(built.is_ok(), checked.is_ok());
        let _ = json::from_slice::<Batch>(text.as_bytes());
    }

    #[test]
    fn what_it_reads_it_read_right(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("writes")] {
            let plain: Value = serde_json::from_str(&text).expect("serde_json reads its own text");
            prop_assert_eq!(&json::parse(text.as_bytes()).expect("valid"), &plain);
        }
    }

    #[test]
    fn pretty_text_is_stored_compact(value in any_json()) {
        let object = json!({"v": value});
        let pretty = serde_json::to_string_pretty(&object).expect("writes");
        let parsed = Object::parse(&pretty).expect("valid");
        prop_assert_eq!(parsed.text(), object.to_string());
    }
}

#[test]
fn wanted_members_are_picked_and_the_rest_is_passed_over() {
    let names = ["b".into(), "nope".into(), "a".into()];
    let text = r#"{"a":1,"x":{"b":2,"deep":[1,{"a":3}]},"b":"\u0062"}"#;
    let mut picked = Vec::new();
    json::pick(text, &names, &mut picked);
    assert_eq!(picked, [Some(json!("b")), None, Some(json!(1))]);
    for text in ["", "[1]", "{\"a\":1,\"b\":", "null"] {
        json::pick(text, &names, &mut picked);
        assert_eq!(picked, [None, None, None], "{text}");
    }
}

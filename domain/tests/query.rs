//! Filter, sort and cursors: the documented operators, a naive model beside them, and cursors that
//! fit nowhere but where they were made.

use std::cmp::Ordering;

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode, Principal, PrincipalKind, Timestamp,
    id::{AppId, HistoryId},
    query::{FeedCursor, ListCursor, PageBinding, PageCursor, PageLimit, RowQuery},
    row::{Row, RowText},
    sealed::ServerKey,
};
use serde_json::{Value, json};
use uuid::Uuid;

const AT: Timestamp = Timestamp(1_767_225_600_123_456); // 2026-01-01T00:00:00.123456Z

fn row(key: &str, data: &Value) -> Row {
    Row {
        text: RowText::new(key, &data.to_string()),
        version: 3,
        creator: Principal::SYSTEM,
        editor: Principal::SYSTEM,
        created_at: AT,
        updated_at: AT.plus_seconds(60),
    }
}

fn matches(filter: &Value, data: &Value) -> bool {
    let query = RowQuery::parse(Some(&filter.to_string()), None).expect("a valid filter");
    query.matches(&row("k1", data))
}

#[test]
fn every_operator_holds_where_it_should() {
    let data = json!({"s": "open", "n": 3, "f": 2.5, "b": true, "z": null,
        "tags": ["a", 1, {"x": 1.0}], "o": {"p": {"q": "deep"}}, "digits": {"00": 7}, "esc\"aped": 1,
        "big": 9_007_199_254_740_993_u64});
    for (filter, expected) in [
        (json!({}), true),
        (json!({"s": "open"}), true),
        (json!({"s": "Open"}), false),
        (json!({"n": 3.0}), true),
        (json!({"n": "3"}), false),
        (json!({"s": {"eq": "open", "ne": "shut"}}), true),
        (json!({"n": {"gt": 2.5, "lt": 3.5}}), true),
        (json!({"n": {"gte": 3, "lte": 3}}), true),
        (json!({"n": {"gt": 3}}), false),
        (json!({"n": {"gt": "2"}}), false),
        (json!({"s": {"gt": "ope", "lt": "opf"}}), true),
        (json!({"b": {"eq": true}}), true),
        (json!({"s": {"in": ["shut", "open"]}}), true),
        (json!({"s": {"in": ["shut"]}}), false),
        (json!({"s": {"in": []}}), false),
        (json!({"s": {"contains": "pe"}}), true),
        (json!({"tags": {"contains": "a"}}), true),
        (json!({"tags": {"contains": {"x": 1}}}), true),
        (json!({"tags": {"contains": "x"}}), false),
        (json!({"n": {"contains": 3}}), false),
        (json!({"s": {"prefix": "op"}}), true),
        (json!({"n": {"prefix": "3"}}), false),
        (json!({"z": {"exists": true}}), true),
        (json!({"gone": {"exists": false}}), true),
        (json!({"gone": null, "z": null}), true),
        (json!({"gone": {"ne": 1}}), true),
        (json!({"gone": {"lt": 1}}), false),
        (json!({"gone": {"in": [null]}}), true),
        (json!({"o.p.q": "deep"}), true),
        (json!({"o.p.q.r": {"exists": true}}), false),
        (json!({"tags.0": "a", "tags.2.x": 1}), true),
        (json!({"tags.00": {"exists": true}}), false),
        (json!({"tags.01": {"exists": true}}), false),
        (json!({"tags.+1": {"exists": true}}), false),
        (json!({"digits.00": 7}), true),
        (json!({"o": {"eq": {"p": {"q": "deep"}}}}), true),
        (json!({"o": {"eq": {"p": {"q": "flat"}}}}), false),
        (json!({"o": {"eq": {"p": {"q": "deep", "r": 1}}}}), false),
        (json!({"o": {"eq": {"q": {"q": "deep"}}}}), false),
        (json!({"o.p": {"eq": {}}}), false),
        (json!({"tags": {"eq": ["a", 1.0, {"x": 1}]}}), true),
        (json!({"tags": {"eq": ["a", 2, {"x": 1}]}}), false),
        (json!({"tags": {"eq": ["a", 1]}}), false),
        (json!({"tags": {"eq": ["a", 1, {"x": 1}, 2]}}), false),
        (json!({"big": 9_007_199_254_740_993_u64}), true),
        (json!({"big": 9_007_199_254_740_992_u64}), false),
        (json!({"big": {"gt": 9_007_199_254_740_992.0}}), true),
        (json!({"big": {"lt": 1e38}}), true),
        (json!({"esc\"aped": 1}), true),
        (json!({"or": [{"s": "shut"}, {"n": 3}]}), true),
        (json!({"and": [{"s": "open"}, {"n": 4}]}), false),
        (json!({"not": {"s": "shut"}}), true),
        (json!({"not": {"not": {"s": "shut"}}}), false),
        (json!({"key": {"prefix": "k"}, "version": {"gte": 3}}), true),
        (json!({"created_at": "2026-01-01T00:00:00.123Z"}), true),
        (json!({"created_at": {"gt": "2026-01-01T00:00:00.123Z"}}), false),
        (json!({"updated_at": {"gte": "2026-01-01T01:01:00+01:00"}}), true),
        (json!({"created_at": {"lt": "9999-12-31T23:59:59.999Z"}}), true),
    ] {
        assert_eq!(matches(&filter, &data), expected, "{filter}");
    }
}

#[test]
fn a_bad_filter_is_told_what_is_wrong_with_it() {
    let deep = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"not": inner}));
    // Each of them has so many tests, and is one part itself.
    let wide = |tests: usize| {
        let fields =
            |value: Value| Value::from_iter((0..tests).map(|n| (format!("f{n}"), value.clone())));
        [fields(json!(1)), fields(json!({"lt": 1}))]
    };
    for good in [deep(7)].iter().chain(&wide(99)) {
        assert!(RowQuery::parse(Some(&good.to_string()), None).is_ok(), "{good}");
    }
    let [equal, less] = wide(100);
    let many = json!({"n": {"in": (0..101).collect::<Vec<_>>()}});
    let long = json!({"s": "x".repeat(9_000)});
    let path = json!({"x".repeat(300): 1});
    for (filter, words) in [
        ("{".to_owned(), "EOF"),
        ("[]".to_owned(), "expected an object"),
        (r#"{"a":1,"a":2}"#.to_owned(), "occurs twice"),
        (r#"{"n":{"gtee":3}}"#.to_owned(), "`n`: unknown operator `gtee`"),
        (r#"{"$or":[]}"#.to_owned(), "`$or` is written `or`"),
        (r#"{"$not":{"n":3}}"#.to_owned(), "`$not` is written `not`"),
        (r#"{"n":{"$gt":3}}"#.to_owned(), "`$gt` is written `gt`"),
        (r#"{"n":{}}"#.to_owned(), "`n`: expected a value or an operator"),
        (r#"{"n":[1]}"#.to_owned(), "`n`: use `in`"),
        (r#"{"n":{"in":3}}"#.to_owned(), "`in` takes an array"),
        (r#"{"n":{"gt":null}}"#.to_owned(), "`gt` takes a number or a string"),
        (r#"{"n":{"exists":1}}"#.to_owned(), "`exists` takes true or false"),
        (r#"{"n":{"prefix":1}}"#.to_owned(), "`prefix` takes a string"),
        (r#"{"or":{}}"#.to_owned(), "`or` takes a non-empty array"),
        (r#"{"and":[]}"#.to_owned(), "`and` takes a non-empty array"),
        (r#"{"not":[]}"#.to_owned(), "expected an object"),
        (r#"{"a..b":1}"#.to_owned(), "`a..b` is not a field path"),
        (r#"{"":1}"#.to_owned(), "a field path is empty"),
        (r#"{"created_at":"yesterday"}"#.to_owned(), "compared with a time"),
        (r#"{"created_at":{"prefix":"2026"}}"#.to_owned(), "does not apply to `created_at`"),
        (r#"{"version":"3"}"#.to_owned(), "compared with a number"),
        (deep(8).to_string(), "nests deeper than 8 levels"),
        (equal.to_string(), "more than 100"),
        (less.to_string(), "more than 100"),
        (many.to_string(), "more than 100"),
        (long.to_string(), "more than 8192 bytes"),
        (path.to_string(), "at most 256 bytes"),
    ] {
        let error = RowQuery::parse(Some(&filter), None).expect_err(&filter);
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert!(error.message.starts_with("`filter`"), "{}", error.message);
        assert!(error.message.contains(words), "{filter}: {}", error.message);
    }
}

fn sorted(sort: &str, rows: &[(&str, Value)]) -> String {
    let query = RowQuery::parse(None, Some(sort)).expect("a valid sort");
    let mut places: Vec<_> =
        rows.iter().map(|(key, data)| query.place(&row(key, data)).expect("no filter")).collect();
    places.sort_by(|a, b| query.compare(a, b));
    places.iter().map(|place| place.key()).collect()
}

#[test]
fn mixed_values_have_one_order_and_ties_go_by_key() {
    let rows = [
        ("h", json!({"v": {"a": 1}})),
        ("g", json!({"v": [1]})),
        ("f", json!({"v": "b"})),
        ("e", json!({"v": "a"})),
        ("d", json!({"v": 10})),
        ("c", json!({"v": 9.5})),
        ("B", json!({"v": true})),
        ("b", json!({"v": false})),
        ("a", json!({"v": null})),
        ("A", json!({})),
    ];
    assert_eq!(sorted("v", &rows), "AabBcdefgh");
    assert_eq!(sorted("-v", &rows), "hgfedcBbAa");
    assert_eq!(sorted("w,-v", &rows), "hgfedcBbAa");
    assert_eq!(sorted("key", &rows), "ABabcdefgh");
    assert_eq!(sorted("-created_at", &rows), "ABabcdefgh");
    assert_eq!(sorted("", &rows), "ABabcdefgh");
    let nested = [("a", json!({"o": {"n": 2}})), ("b", json!({"o": {"n": 1}}))];
    assert_eq!(sorted("o.n", &nested), "ba");
}

#[test]
fn a_sort_that_is_spelt_as_elsewhere_is_told_how_it_is_here() {
    let of = |schema: Value| {
        let mut manifest = json!({"collections": {"c": crate::manifest::collection("schema",
            json!({"$ref": "#/$defs/Row"}))}});
        manifest["$defs"] = json!({"Row": schema});
        crate::manifest::admitted(&manifest).collections["c"].clone()
    };
    let plain = of(json!({"properties": {"n": {"type": "number"}}}));
    for (sort, meant) in [
        ("n desc", "n"),
        ("-n ASC", "n"),
        ("+n", "n"),
        (" n", "n"),
        ("--n", "n"),
        ("n-", "n"),
        ("key,a.b desc", "a.b"),
        ("n:desc", "n"),
        ("desc(created_at)", "created_at"),
        ("created_at.desc", "created_at"),
        (r#"["-n","key"]"#, "n"),
        (r#"[["n","desc"]]"#, "n"),
        (r#"{"n":-1}"#, "n"),
    ] {
        let query = RowQuery::parse(None, Some(sort)).expect(sort);
        let error = query.check_sort(&plain).expect_err(sort);
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        let right = format!("write `{meant}` to ascend, `-{meant}` to descend");
        assert!(error.message.ends_with(&right), "{sort}: {}", error.message);
    }
    let odd = of(json!({"properties": {"n desc": true, "n:asc": true}}));
    for (sort, collection) in [
        ("n desc", &odd),
        ("n:asc", &odd),
        ("-n,key", &plain),
        ("a b", &plain),
        ("description", &plain),
        ("range.asc", &plain),
        ("at:noon", &plain),
        ("size(cm)", &plain),
    ] {
        let query = RowQuery::parse(None, Some(sort)).expect(sort);
        assert_eq!(query.check_sort(collection), Ok(()), "{sort}");
    }
}

#[test]
fn a_bad_sort_is_refused() {
    for (sort, words) in [
        (",", "`sort`: a field path is empty"),
        ("a,", "`sort`: a field path is empty"),
        ("-", "`sort`: a field path is empty"),
        ("a..b", "`a..b` is not a field path"),
        ("a,-a", "names `a` twice"),
        ("a,b,c,d,e", "at most 4"),
    ] {
        let error = RowQuery::parse(None, Some(sort)).expect_err(sort);
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn creation_order_is_recognised() {
    let order = |sort| RowQuery::parse(None, sort).expect("valid").creation_order();
    assert_eq!(order(None), Some(false));
    assert_eq!(order(Some("created_at")), Some(false));
    assert_eq!(order(Some("-created_at")), Some(true));
    assert_eq!(order(Some("-created_at,title")), None);
    assert_eq!(order(Some("updated_at")), None);
}

fn key() -> ServerKey {
    ServerKey::new(&[9; 32])
}

fn app() -> AppId {
    AppId::from_uuid(Uuid::from_u128(1))
}

fn feed() -> FeedCursor {
    FeedCursor { history: HistoryId::from_uuid(Uuid::from_u128(5)), seq: 42, rights: 7 }
}

#[test]
fn a_page_cursor_fits_its_own_list_alone() {
    let query = RowQuery::parse(Some(r#"{"n": {"gt": 1}}"#), Some("-n,title")).expect("valid");
    let place = query.place(&row("k", &json!({"n": 2.5, "title": "ä\u{1}"}))).expect("matches");
    let app = app();
    let caller = Principal::new(PrincipalKind::Human, Uuid::from_u128(2));
    let bound = PageBinding {
        app,
        collection: "entries",
        caller,
        scope: 7,
        query: &query,
        include_deleted: false,
    };
    let cursor = PageCursor { after: place, feed: feed() };
    let token = cursor.to_token(&key(), &bound);
    assert_eq!(PageCursor::parse(&token, &key(), &bound), Ok(cursor));

    let filtered = RowQuery::parse(Some(r#"{"n": {"gt": 2}}"#), Some("-n,title")).expect("valid");
    let resorted = RowQuery::parse(Some(r#"{"n": {"gt": 1}}"#), Some("n,title")).expect("valid");
    let other_app = AppId::from_uuid(Uuid::from_u128(2));
    let other_caller = Principal::new(PrincipalKind::Agent, Uuid::from_u128(2));
    for other in [
        PageBinding { app: other_app, ..bound },
        PageBinding { collection: "others", ..bound },
        PageBinding { caller: other_caller, ..bound },
        PageBinding { scope: 8, ..bound },
        PageBinding { query: &filtered, ..bound },
        PageBinding { query: &resorted, ..bound },
        // What is bound stays apart: this name and order run together as those do.
        PageBinding { collection: "entries-", query: &resorted, ..bound },
        PageBinding { include_deleted: true, ..bound },
    ] {
        let error = PageCursor::parse(&token, &key(), &other).expect_err("a foreign cursor");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
    }
    assert!(PageCursor::parse(&token, &ServerKey::new(&[8; 32]), &bound).is_err());
    assert!(PageCursor::parse("", &key(), &bound).is_err());
    // The same filter written otherwise is the same list.
    let spaced = RowQuery::parse(Some(r#"{ "n":{"gt":1} }"#), Some("-n,title")).expect("valid");
    PageCursor::parse(&token, &key(), &PageBinding { query: &spaced, ..bound }).expect("the same");
}

#[test]
fn a_feed_cursor_and_a_list_cursor_are_not_each_other() {
    let token = feed().to_token(&key(), app());
    assert_eq!(FeedCursor::parse(&token, &key(), app()), Ok(feed()));
    let other_app = AppId::from_uuid(Uuid::from_u128(2));
    let error = FeedCursor::parse(&token, &key(), other_app).expect_err("another app's");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    assert_eq!(
        FeedCursor::parse("0", &key(), app()).expect_err("ours").code,
        ErrorCode::InvalidRequest
    );
    let list = ListCursor { after: "app_1".to_owned() };
    let listed = list.to_token(&key(), "apps hum_1");
    assert_eq!(ListCursor::parse(&listed, &key(), "apps hum_1"), Ok(list));
    for (token, scope) in [(&listed, "apps hum_2"), (&token, "apps hum_1")] {
        let error = ListCursor::parse(token, &key(), scope).expect_err("foreign");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
    }
    assert!(FeedCursor::parse(&listed, &key(), app()).is_err());
}

#[test]
fn a_feed_cursor_is_the_same_in_the_next_release() {
    // Whoever follows a feed goes on across an upgrade: this value may never change.
    assert_eq!(
        feed().to_token(&key(), app()),
        "AAAAAAAAAAAAAAAAAAAABQAAAAAAAAAqAAAAAAAAAAdSNaJn_My1BZjZKHPsEDA1"
    );
}

#[test]
fn a_page_has_1_to_200_records() {
    assert_eq!(PageLimit::parse(None).expect("default").get(), 50);
    for (text, limit) in [("1", 1), ("200", 200), ("007", 7)] {
        assert_eq!(PageLimit::parse(Some(text)).expect(text).get(), limit);
    }
    for text in ["0", "201", "-1", "+5", "1.0", "", "x", "99999999999"] {
        let error = PageLimit::parse(Some(text)).expect_err(text);
        assert_eq!(error.code, ErrorCode::InvalidRequest);
    }
}

/// The rules of the contract, without projections, slots or compiled nodes.
fn naive(filter: &Value, data: &Value) -> bool {
    filter.as_object().expect("an object").iter().all(|(name, test)| match name.as_str() {
        "and" => test.as_array().expect("groups").iter().all(|group| naive(group, data)),
        "or" => test.as_array().expect("groups").iter().any(|group| naive(group, data)),
        "not" => !naive(test, data),
        path => {
            let found = path.split('.').try_fold(data, |value, step| value.get(step));
            let eq = serde_json::Map::from_iter([("eq".to_owned(), test.clone())]);
            let tests = test.as_object().unwrap_or(&eq);
            tests.iter().all(|(operator, value)| naive_test(found, operator, value))
        }
    })
}

fn naive_test(found: Option<&Value>, operator: &str, value: &Value) -> bool {
    let absent = found.is_none();
    let found = found.unwrap_or(&Value::Null);
    let order = match (found, value) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    };
    let equal = order.map_or(found == value, Ordering::is_eq);
    match operator {
        "eq" => equal,
        "ne" => !equal,
        "gt" => order == Some(Ordering::Greater),
        "lte" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "exists" => absent != value.as_bool().expect("a flag"),
        "prefix" => found.as_str().is_some_and(|s| s.starts_with(value.as_str().expect("text"))),
        other => panic!("the model has no {other}"),
    }
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i32..3).prop_map(Value::from),
        (-4i32..5).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        any::<f64>().prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ]
}

fn any_comparable() -> impl Strategy<Value = Value> {
    any_scalar().prop_filter("ordered", |v| v.is_number() || v.is_string())
}

fn any_filter() -> impl Strategy<Value = Value> {
    let test = prop_oneof![
        any_scalar(),
        any_scalar().prop_map(|v| json!({"eq": v})),
        any_scalar().prop_map(|v| json!({"ne": v})),
        any_comparable().prop_map(|v| json!({"gt": v})),
        any_comparable().prop_map(|v| json!({"lte": v, "exists": true})),
        any::<bool>().prop_map(|v| json!({"exists": v})),
        "[ab]{0,1}".prop_map(|v| json!({"prefix": v})),
    ];
    let fields = prop::collection::btree_map("[xy]|x\\.[xy]", test, 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    fields.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|v| json!({"or": v})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|v| json!({"and": v})),
            inner.prop_map(|v| json!({"not": v})),
        ]
    })
}

fn any_data() -> impl Strategy<Value = Value> {
    let nested = prop::collection::btree_map("[xy]", any_scalar(), 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    let list = prop::collection::vec(any_scalar(), 0..2).prop_map(Value::from);
    prop::collection::btree_map("[xyz]", prop_oneof![any_scalar(), nested, list], 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn the_compiled_filter_agrees_with_the_naive_one(filter in any_filter(), data in any_data()) {
        prop_assert_eq!(matches(&filter, &data), naive(&filter, &data), "{} on {}", filter, data);
    }

    #[test]
    fn no_text_makes_a_query_panic(filter in "\\PC{0,60}", sort in "\\PC{0,30}") {
        let _ = RowQuery::parse(Some(&filter), Some(&sort));
    }

    #[test]
    fn the_order_is_total_and_a_cursor_keeps_the_place(
        a in any_data(), b in any_data(), c in any_data(), sort in "-?x(,-?y)?",
    ) {
        let query = RowQuery::parse(None, Some(&sort)).expect("valid");
        let [a, b, c] = [("a", a), ("b", b), ("c", c)]
            .map(|(key, data)| query.place(&row(key, &data)).expect("no filter"));
        prop_assert_eq!(query.compare(&a, &b), query.compare(&b, &a).reverse());
        prop_assert_ne!(query.compare(&a, &b), Ordering::Equal);
        if query.compare(&a, &b).is_lt() && query.compare(&b, &c).is_lt() {
            prop_assert!(query.compare(&a, &c).is_lt());
        }
        let binding = PageBinding {
            app: AppId::from_uuid(Uuid::nil()), collection: "x", caller: Principal::SYSTEM,
            scope: 0, query: &query, include_deleted: false,
        };
        let cursor = PageCursor { after: a.clone(), feed: feed() };
        let token = cursor.to_token(&key(), &binding);
        let back = PageCursor::parse(&token, &key(), &binding).expect("its own");
        prop_assert_eq!(query.compare(&back.after, &a), Ordering::Equal);
    }

    #[test]
    fn an_edited_cursor_is_refused(at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_-]") {
        let token = feed().to_token(&key(), app());
        let at = at.index(token.len());
        prop_assume!(token[at..=at] != to);
        let edited = format!("{}{to}{}", &token[..at], &token[at + 1..]);
        prop_assert!(FeedCursor::parse(&edited, &key(), app()).is_err());
    }
}

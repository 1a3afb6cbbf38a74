//! What holds for whatever bytes strangers send: one function for each fuzz target. None may panic,
//! run away or contradict itself; each asserts a little more than that. What must be refused, and
//! with which code, is in the tests of the rules themselves. Each says whether it read the input as
//! what it looks for.

use std::cmp::Ordering;

use rookery_domain::{
    Error, Principal, PrincipalKind, Timestamp,
    id::{AppId, HistoryId, HumanId},
    json,
    limits::Limits,
    manifest::{self, ParseContext, VIOLATIONS_MAX},
    patch,
    query::{FeedCursor, ListCursor, PageBinding, PageCursor, RowQuery},
    row::{Row, RowText},
    sealed::{ServerKey, TokenPurpose},
    secret::{Secret, SecretKind, UserCode},
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A manifest is admitted or refused with words; what was admitted can be read back.
pub(crate) fn manifest(data: &[u8]) -> bool {
    let value = match json::parse(data) {
        Ok(value) => value,
        Err(error) => return is_refused(&error),
    };
    match manifest::parse(&value, data.len(), &Limits::default(), &ParseContext::default()) {
        Ok(admitted) => {
            let again = manifest::reload(&value).expect("an admitted manifest is read back");
            let names = |manifest: &manifest::Manifest| {
                manifest.collections.keys().map(ToString::to_string).collect::<Vec<_>>()
            };
            assert_eq!(names(&admitted), names(&again));
            true
        }
        Err(error) => {
            let violations = error.details.as_ref().map(|details| details["violations"].clone());
            let count = violations.as_ref().and_then(Value::as_array).map_or(0, Vec::len);
            assert!(count <= VIOLATIONS_MAX, "{count} violations");
            is_refused(&error)
        }
    }
}

/// The first line is a filter, the second a sort. A compiled query is total: it places or leaves
/// out every row, its order is one, and its normal text means the same.
pub(crate) fn filter(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let (filter, sort) = text.split_once('\n').unwrap_or((text, ""));
    let query = match RowQuery::parse(Some(filter), Some(sort)) {
        Ok(query) => query,
        Err(error) => return is_refused(&error),
    };
    let normal = RowQuery::parse(Some(query.filter_text()), Some(query.sort_text()));
    if let Ok(normal) = &normal {
        assert_eq!(normal.filter_text(), query.filter_text());
        assert_eq!(normal.sort_text(), query.sort_text());
    }
    let mut places = Vec::new();
    for row in rows() {
        let place = query.place(&row);
        assert_eq!(place.is_some(), query.matches(&row), "{}", row.data());
        if let Ok(normal) = &normal {
            assert_eq!(place.is_some(), normal.matches(&row), "{}", row.data());
        }
        places.extend(place);
    }
    for a in &places {
        assert_eq!(query.compare(a, a), Ordering::Equal);
        for b in &places {
            assert_eq!(query.compare(a, b), query.compare(b, a).reverse());
        }
    }
    true
}

/// The bytes as a token, and as the payload of a token that was signed. Nothing that was not signed
/// is accepted; what is accepted is written again as it was.
pub(crate) fn cursor(data: &[u8]) -> bool {
    let key = ServerKey::new(&[7; 32]);
    let query = RowQuery::parse(None, Some("title,-n")).expect("a sort");
    let binding = PageBinding {
        app: AppId::from_uuid(Uuid::from_u128(1)),
        collection: "rows",
        caller: Principal { kind: PrincipalKind::Human, id: [3; 16] },
        scope: 9,
        query: &query,
        include_deleted: false,
    };
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(cursor) = FeedCursor::parse(text, &key, binding.app) {
            assert_eq!(cursor.to_token(&key, binding.app), text);
        }
        if let Ok(cursor) = ListCursor::parse(text, &key, "apps") {
            assert_eq!(cursor.to_token(&key, "apps"), text);
        }
        if let Ok(cursor) = PageCursor::parse(text, &key, &binding) {
            assert_eq!(cursor.to_token(&key, &binding), text);
        }
    }
    let place = binding.app.uuid();
    let token = key.sign_within(TokenPurpose::Feed, place.as_bytes(), data);
    let payload = key.verify_within(TokenPurpose::Feed, place.as_bytes(), &token);
    assert_eq!(payload.as_deref(), within(&token, data));
    assert_eq!(key.verify(TokenPurpose::Feed, &token), None, "for no place");
    assert_eq!(key.verify(TokenPurpose::RowPage, &token), None, "for another purpose");
    if let Ok(cursor) = FeedCursor::parse(&token, &key, binding.app) {
        assert_eq!(cursor.to_token(&key, binding.app), token);
    }
    // Behind the digest of the binding, which a client cannot know, everything else is data.
    let feed = FeedCursor { history: HistoryId::from_uuid(Uuid::nil()), seq: 1, rights: 2 };
    let row = &rows()[0];
    let place = query.place(row).expect("no filter leaves it out");
    let honest = PageCursor { after: place, feed }.to_token(&key, &binding);
    let bytes = key.verify(TokenPurpose::RowPage, &honest).expect("signed a moment ago");
    let payload = [&bytes[..16], data].concat();
    let token = key.sign(TokenPurpose::RowPage, &payload);
    let page = PageCursor::parse(&token, &key, &binding);
    if let Ok(cursor) = &page {
        let again = cursor.to_token(&key, &binding);
        let again = PageCursor::parse(&again, &key, &binding).expect("written a moment ago");
        assert_eq!(query.compare(&again.after, &cursor.after), Ordering::Equal);
        assert_eq!(again.feed, cursor.feed);
    }
    page.is_ok()
}

/// Secrets, codes, sealed texts and ids: what is read is written again as it was.
pub(crate) fn token(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let secret = SecretKind::ALL.iter().find_map(|kind| Secret::parse(*kind, text));
    if let Some(secret) = &secret {
        assert_eq!(secret.expose(), text);
        assert!(text.starts_with(&secret.prefix()));
        assert!(!format!("{secret:?}").contains(&text[text.len() - 20..]), "told by Debug");
    }
    if let Some(code) = UserCode::parse(text) {
        assert_eq!(UserCode::parse(&code.expose()), Some(code));
    }
    assert_eq!(ServerKey::new(&[7; 32]).open("share", text), None, "nobody sealed it");
    if let Ok(id) = text.parse::<AppId>() {
        assert_eq!(id.to_string(), text);
        assert!(text.parse::<HumanId>().is_err(), "an id of one kind only");
    }
    secret.is_some()
}

/// The first line is a row's data, the second a patch: merged as RFC 7396 says, and merging twice
/// is merging once.
pub(crate) fn merge_patch(data: &[u8]) -> bool {
    let mut lines = data.splitn(2, |byte| *byte == b'\n').map(std::str::from_utf8);
    let (Some(Ok(target)), Some(Ok(sent))) = (lines.next(), lines.next()) else { return false };
    let read = |text: &str| json::parse(text.as_bytes());
    let (Ok(before), Ok(patch)) = (read(target), read(sent)) else { return false };
    let once = patch::merge(target, sent).expect("both are JSON");
    assert_eq!(read(&once), Ok(by_the_book(before, &patch)));
    assert_eq!(patch::merge(&once, sent).expect("both are JSON"), once);
    true
}

/// The pseudo code of RFC 7396, section 2, word by word.
fn by_the_book(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut object = match target {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            object.remove(name);
        } else {
            let member = object.remove(name).unwrap_or(Value::Null);
            object.insert(name.clone(), by_the_book(member, value));
        }
    }
    Value::Object(object)
}

/// A refusal has words.
fn is_refused(error: &Error) -> bool {
    assert!(!error.message.is_empty(), "{:?} without a word", error.code);
    false
}

/// What a token of this length gives back: tokens that are too long are not looked at.
fn within<'d>(token: &str, data: &'d [u8]) -> Option<&'d [u8]> {
    (token.len() <= 4 << 10).then_some(data)
}

/// Rows of all shapes.
fn rows() -> Vec<Row> {
    let all = [
        json!({"title": "one", "n": 1, "tags": ["a", 1], "o": {"p": {"q": "deep"}}}),
        json!({"title": "two", "n": 2.5, "done": true, "tags": []}),
        json!({"title": null, "n": -1e300}),
        json!({"title": "Zwölf 🐦", "n": 9_007_199_254_740_993_u64}),
        json!({}),
    ];
    let at = Timestamp(1_767_225_600_123_456);
    let row = |(n, data): (usize, &Value)| Row {
        text: RowText::new(&format!("k{n}"), &data.to_string()),
        version: 1 + n as u32,
        creator: Principal::SYSTEM,
        editor: Principal::SYSTEM,
        created_at: at.plus_seconds(n as i64),
        updated_at: at,
    };
    all.iter().enumerate().map(row).collect()
}

//! Sending bytes: content types, conditions, ranges.

use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use proptest::prelude::*;
use rookery::pages::assets::{Cache, Reply, Representation, content_type, reply, strong_etag};

const ETAG: &str = "\"abc\"";

fn send(method: Method, pairs: &[(HeaderName, &str)]) -> Reply {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name.clone(), value.parse().unwrap());
    }
    let what =
        Representation { etag: ETAG, content_type: "image/png", len: 100, cache: Cache::Public };
    reply(&method, &headers, &what)
}

fn value(reply: &Reply, name: HeaderName) -> Option<&str> {
    reply.headers.get(name).map(|v| v.to_str().unwrap())
}

#[test]
fn a_plain_get_has_everything() {
    let got = send(Method::GET, &[]);
    assert_eq!((got.status, got.body.clone()), (StatusCode::OK, 0..100));
    for (name, wanted) in [
        (header::CONTENT_TYPE, "image/png"),
        (header::CONTENT_LENGTH, "100"),
        (header::ETAG, ETAG),
        (header::CACHE_CONTROL, "public, no-cache"),
        (header::ACCEPT_RANGES, "bytes"),
    ] {
        assert_eq!(value(&got, name), Some(wanted));
    }
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let got = send(Method::HEAD, &[(header::RANGE, "bytes=0-1")]);
    assert_eq!(got.headers, send(Method::GET, &[]).headers);
    assert_eq!((got.status, got.body), (StatusCode::OK, 0..0));
}

#[test]
fn a_known_entity_tag_is_not_sent_again() {
    for tags in ["\"abc\"", "W/\"abc\"", "\"x\", \"abc\"", "*"] {
        let got = send(Method::GET, &[(header::IF_NONE_MATCH, tags), (header::RANGE, "bytes=0-1")]);
        assert_eq!((got.status, got.body.clone()), (StatusCode::NOT_MODIFIED, 0..0), "{tags}");
        assert_eq!(value(&got, header::ETAG), Some(ETAG));
        assert_eq!(value(&got, header::CONTENT_LENGTH), None);
    }
    for tags in ["\"x\"", "abc", "\"abc", ""] {
        assert_eq!(
            send(Method::GET, &[(header::IF_NONE_MATCH, tags)]).status,
            StatusCode::OK,
            "{tags}"
        );
    }
}

#[test]
fn ranges_are_answered_as_the_standard_says() {
    for (range, wanted) in [
        ("bytes=0-0", Some((0..1, "bytes 0-0/100"))),
        ("bytes=10-19", Some((10..20, "bytes 10-19/100"))),
        ("bytes=90-", Some((90..100, "bytes 90-99/100"))),
        ("bytes=90-1000", Some((90..100, "bytes 90-99/100"))),
        ("bytes=90-99999999999999999999999", Some((90..100, "bytes 90-99/100"))),
        ("bytes=-5", Some((95..100, "bytes 95-99/100"))),
        ("bytes=-500", Some((0..100, "bytes 0-99/100"))),
        ("Bytes=0-0", Some((0..1, "bytes 0-0/100"))),
        ("bytes=100-", None),
        ("bytes=100-200", None),
        ("bytes=99999999999999999999999-", None),
        ("bytes=-0", None),
    ] {
        let got = send(Method::GET, &[(header::RANGE, range)]);
        match wanted {
            Some((body, content_range)) => {
                assert_eq!(got.status, StatusCode::PARTIAL_CONTENT, "{range}");
                assert_eq!(value(&got, header::CONTENT_RANGE), Some(content_range));
                let len = (body.end - body.start).to_string();
                assert_eq!(value(&got, header::CONTENT_LENGTH), Some(len.as_str()));
                assert_eq!(got.body, body);
            }
            None => {
                assert_eq!(got.status, StatusCode::RANGE_NOT_SATISFIABLE, "{range}");
                assert_eq!(value(&got, header::CONTENT_RANGE), Some("bytes */100"));
                assert_eq!(got.body, 0..0);
            }
        }
    }
}

#[test]
fn a_range_that_is_malformed_or_manifold_gives_the_whole() {
    for range in [
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=5-4",
        "bytes=a-b",
        "bytes=+1-2",
        "items=0-1",
        "bytes=0-1,5-6",
    ] {
        let got = send(Method::GET, &[(header::RANGE, range)]);
        assert_eq!((got.status, got.body), (StatusCode::OK, 0..100), "{range}");
    }
}

#[test]
fn if_range_needs_the_same_strong_tag() {
    for (condition, status) in [
        (ETAG, StatusCode::PARTIAL_CONTENT),
        ("W/\"abc\"", StatusCode::OK),
        ("\"old\"", StatusCode::OK),
        ("Wed, 21 Oct 2015 07:28:00 GMT", StatusCode::OK),
    ] {
        let got = send(Method::GET, &[(header::RANGE, "bytes=0-1"), (header::IF_RANGE, condition)]);
        assert_eq!(got.status, status, "{condition}");
    }
}

#[test]
fn an_empty_file_is_sent_and_has_no_ranges() {
    let what =
        Representation { etag: ETAG, content_type: "text/plain", len: 0, cache: Cache::Private };
    let got = reply(&Method::GET, &HeaderMap::new(), &what);
    assert_eq!((got.status, got.body), (StatusCode::OK, 0..0));
    let mut headers = HeaderMap::new();
    headers.insert(header::RANGE, "bytes=0-".parse().unwrap());
    assert_eq!(reply(&Method::GET, &headers, &what).status, StatusCode::RANGE_NOT_SATISFIABLE);
}

#[test]
fn content_types_are_the_declared_or_the_extensions() {
    for (path, declared, wanted) in [
        ("a/b.css", None, "text/css; charset=utf-8"),
        ("x.JS", None, "text/javascript; charset=utf-8"),
        ("x.mjs", None, "text/javascript; charset=utf-8"),
        ("x.svg", None, "image/svg+xml"),
        ("x.png", None, "image/png"),
        ("x.woff2", None, "font/woff2"),
        ("x.wasm", None, "application/wasm"),
        ("x.json", None, "application/json; charset=utf-8"),
        ("app.webmanifest", None, "application/manifest+json; charset=utf-8"),
        ("favicon.ico", None, "image/x-icon"),
        ("LICENSE", None, "application/octet-stream"),
        ("x.unknown-thing", None, "application/octet-stream"),
        ("x.png", Some("image/webp"), "image/webp"),
        ("x.txt", Some("text/plain; charset=iso-8859-1"), "text/plain; charset=iso-8859-1"),
        ("x.png", Some("nonsense"), "image/png"),
        ("x.png", Some("image/png\r\nset-cookie: a=b"), "image/png"),
        ("x.png", Some("/png"), "image/png"),
        ("x.txt", Some("text/html; charset=\"x"), "text/plain; charset=utf-8"),
        ("x.txt", Some("text/html;;; charset"), "text/plain; charset=utf-8"),
        ("x.txt", Some("text/html; =x"), "text/plain; charset=utf-8"),
        ("x.txt", Some("text/html; a=b c"), "text/plain; charset=utf-8"),
        ("x.txt", Some("text/html; a=\"b\"c"), "text/plain; charset=utf-8"),
        ("x.txt", Some("text/html; a=\"\\\""), "text/plain; charset=utf-8"),
        ("x.txt", Some("text/html;"), "text/html; charset=utf-8"),
        (
            "x.txt",
            Some("text/html ; charset=\"a;\\\"b\" ;;c=d"),
            "text/html ; charset=\"a;\\\"b\" ;;c=d",
        ),
        ("x.png", Some(""), "image/png"),
    ] {
        assert_eq!(content_type(path, declared), wanted, "{path} {declared:?}");
    }
}

#[test]
fn entity_tags_follow_the_bytes() {
    assert_eq!(strong_etag(b"a"), strong_etag(b"a"));
    assert_ne!(strong_etag(b"a"), strong_etag(b"b"));
    assert_eq!(strong_etag(b"").len(), 24);
}

proptest! {
    #[test]
    fn no_range_reaches_outside_the_bytes(range in "(bytes=)?[0-9]{0,22}-?[0-9]{0,22}") {
        let got = send(Method::GET, &[(header::RANGE, &range)]);
        prop_assert!(got.body.start <= got.body.end && got.body.end <= 100);
    }
}

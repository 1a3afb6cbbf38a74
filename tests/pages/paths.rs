//! Paths of requests and of deployed assets.

use http::HeaderMap;
use proptest::prelude::*;
use rookery::{
    http::accept::is_navigation,
    pages::paths::{Target, from_deploy, from_request, resolve},
};

#[test]
fn a_request_path_is_decoded_once() {
    for (raw, wanted) in [
        ("/", ""),
        ("/css/site.css", "css/site.css"),
        ("/a%20b/%C3%A4.png", "a b/ä.png"),
        ("/dir/", "dir/"),
        ("/100%2525", "100%25"),
        ("/%252e%252e/x", "%2e%2e/x"),
        ("/.well-known/x", ".well-known/x"),
        ("/...", "..."),
        ("/a%3Fb", "a?b"),
    ] {
        assert_eq!(from_request(raw).as_deref(), Some(wanted), "{raw}");
    }
}

#[test]
fn what_climbs_or_hides_a_separator_is_no_path() {
    for raw in [
        "",
        "x",
        "//",
        "//x",
        "/a//b",
        "/a//",
        "/..",
        "/../x",
        "/a/../b",
        "/a/..",
        "/./a",
        "/%2e%2e/x",
        "/%2E%2e",
        "/a%2fb",
        "/a%5Cb",
        "/a\\b",
        "/..%2f..%2fetc",
        "/a%00b",
        "/a%0ab",
        "/%ff",
        "/%c0%ae",
    ] {
        assert_eq!(from_request(raw), None, "{raw}");
    }
    assert_eq!(from_request(&format!("/{}", "a".repeat(513))), None);
    assert!(from_request(&format!("/{}", "a".repeat(512))).is_some());
}

#[test]
fn a_deployed_path_is_taken_as_it_is() {
    for (path, wanted) in [
        ("logo.png", "logo.png"),
        ("/logo.png", "logo.png"),
        ("./a/b c.txt", "a/b c.txt"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("sub/index.html", "sub/index.html"),
        ("site/s/x", "site/s/x"),
    ] {
        assert_eq!(from_deploy(path).unwrap(), wanted);
    }
    for path in [
        "",
        "/",
        "./",
        "..",
        "../x",
        "a/../b",
        "a//b",
        "//x",
        "a/",
        "a\\b",
        "a\0",
        "index.html",
        "/index.html",
        "s",
        "s/sdk.js",
        "/s/x",
    ] {
        let error = from_deploy(path).unwrap_err();
        assert_eq!(error.code, rookery_domain::ErrorCode::InvalidRequest);
        assert!(error.message.contains(&format!("{path:?}")), "{error}");
    }
    assert!(from_deploy(&"a".repeat(513)).is_err());
}

proptest! {
    #[test]
    fn a_deployed_asset_is_reached_by_its_encoded_path(path in "[^/\\\\\\p{Cc}]{1,9}(/[^/\\\\\\p{Cc}]{1,9}){0,3}") {
        if let Ok(stored) = from_deploy(&path) {
            let raw = percent_encoding::utf8_percent_encode(&stored, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
                .replace("%2F", "/");
            prop_assert_eq!(from_request(&format!("/{raw}")), Some(stored));
        }
    }

    #[test]
    fn no_request_path_leaves_the_app(raw in "(/|\\.|%2e|%2f|%5c|%25|a){0,12}") {
        if let Some(path) = from_request(&raw) {
            prop_assert!(!path.starts_with('/'));
            prop_assert!(path.split('/').all(|part| part != "." && part != ".."));
        }
    }
}

#[test]
fn a_path_asks_for_the_document_an_asset_or_nothing() {
    let exists = |path: &str| matches!(path, "a.css" | "docs/index.html" | "LICENSE");
    let asset = |path: &str| Target::Asset(path.to_owned());
    for (path, navigation, wanted) in [
        ("", false, Target::Document),
        ("index.html", false, Target::Document),
        ("a.css", false, asset("a.css")),
        ("a.css", true, asset("a.css")),
        ("LICENSE", true, asset("LICENSE")),
        ("docs/", true, asset("docs/index.html")),
        ("docs", true, Target::Folder),
        ("docs", false, Target::NotFound),
        ("items/7", true, Target::Document),
        ("items/7/", true, Target::Document),
        ("items/7", false, Target::NotFound),
        ("missing.png", true, Target::NotFound),
        ("A.css", false, Target::NotFound),
        ("s", true, Target::NotFound),
        ("s/unknown", true, Target::NotFound),
        ("settings", true, Target::Document),
    ] {
        assert_eq!(resolve(path, navigation, exists), wanted, "{path} {navigation}");
    }
}

#[test]
fn a_navigation_is_told_from_a_fetch() {
    let headers = |pairs: &[(&'static str, &'static str)]| {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect::<HeaderMap>()
    };
    assert!(is_navigation(&headers(&[("sec-fetch-mode", "navigate")])));
    assert!(!is_navigation(&headers(&[("sec-fetch-mode", "cors"), ("accept", "text/html")])));
    assert!(is_navigation(&headers(&[("accept", "text/html,*/*")])));
    assert!(!is_navigation(&headers(&[("accept", "*/*")])));
    assert!(!is_navigation(&HeaderMap::new()));
    for (accept, is) in [
        ("TEXT/HTML", true),
        ("text/html;level=1;q=0.5", true),
        ("text/html;q=0, application/json", false),
        ("text/html;q=0.5, application/json", false),
        ("text/html;q=0.9, */*;q=0.8", true),
        ("text/html;q=0.1, application/*;q=0, */*", true),
        ("application/xhtml+xml, text/htmlx", false),
    ] {
        assert_eq!(is_navigation(&headers(&[("accept", accept)])), is, "{accept}");
    }
}

//! Where the SDK's script lands in a document, and the manifest inside a document.

use bytes::Bytes;
use proptest::prelude::*;
use rookery::pages::document::{carrying, extract_embedded_manifest, serve};

const TAG: &str = r#"<script src="/s/sdk.js"></script>"#;

fn served(html: &str) -> String {
    serve(html, "/s/sdk.js").unwrap().html
}

#[test]
fn the_script_comes_first_in_the_head() {
    let cases = [
        (
            "<!doctype html><html><head><title>x</title></head></html>",
            "<!doctype html><html><head>@<title>x</title></head></html>",
        ),
        (
            "<HTML LANG=en>\n<HEAD profile='a>b'>\n<SCRIPT>1</SCRIPT>",
            "<HTML LANG=en>\n<HEAD profile='a>b'>@\n<SCRIPT>1</SCRIPT>",
        ),
        ("<!doctype html><title>no head</title><p>x", "<!doctype html>@<title>no head</title><p>x"),
        ("<!doctype html><body><p>x</body>", "<!doctype html>@<body><p>x</body>"),
        ("<html><body>x</body></html>", "<html>@<body>x</body></html>"),
        ("<p>a</p>", "@<p>a</p>"),
        ("just text <head>", "@just text <head>"),
        ("", "@"),
        ("<!doctype html>", "<!doctype html>@"),
        (" \n\t ", " \n\t @"),
        (
            "<!-- <head> --><html><!-- <head> --><head><meta charset=utf-8>",
            "<!-- <head> --><html><!-- <head> --><head>@<meta charset=utf-8>",
        ),
        ("<?xml version='1.0'?><html><head></head>", "<?xml version='1.0'?><html><head>@</head>"),
        ("<script>const s = '<head>';</script><p>", "@<script>const s = '<head>';</script><p>"),
        ("<title><head></title>", "@<title><head></title>"),
        ("<body><div><head></head></div>", "@<body><div><head></head></div>"),
        ("<header>not a head</header>", "@<header>not a head</header>"),
        ("<svg><head></head></svg>", "@<svg><head></head></svg>"),
        ("<template><head></head></template>", "@<template><head></head></template>"),
        ("<html><frameset><frame></frameset>", "<html>@<frameset><frame></frameset>"),
        ("<head>", "<head>@"),
        ("<head><head>", "<head>@<head>"),
        ("<head/><title>x</title>", "<head/>@<title>x</title>"),
    ];
    for (authored, wanted) in cases {
        assert_eq!(served(authored), wanted.replace('@', TAG), "{authored:?}");
    }
}

#[test]
fn a_byte_order_mark_stays_the_first_character() {
    assert_eq!(served("\u{feff}<head></head>"), format!("\u{feff}<head>{TAG}</head>"));
    assert_eq!(served("\u{feff}text"), format!("\u{feff}{TAG}text"));
}

#[test]
fn a_document_that_was_served_before_still_has_one_script() {
    let again = served(&served("<head><title>x</title></head>"));
    assert_eq!(again, format!("<head>{TAG}<title>x</title></head>"));
    assert_eq!(served("<SCRIPT defer SRC=' /s/sdk.js '></SCRIPT><p>x"), format!("{TAG}<p>x"));
    let saved = Bytes::from(again.clone());
    let copy = carrying(&saved, "<head>".len(), "rk_part_1", Some("/a/x/s/as/1/")).concat();
    assert_eq!(served(&String::from_utf8(copy).unwrap()), again);
    let saved = "<base href=\"https://apps.example/a/x/s/as/1/\">";
    assert_eq!(served(saved), TAG);
    for own in ["/docs/", "docs/s/as/x/", "/s/as/x/", "/a/x/s/as/1/css/", "/a/x/s/as/1", "/a/x/s/"]
    {
        let own = format!("<base href={own}>");
        assert_eq!(served(&own), format!("{TAG}{own}"));
    }
    let kept = "<script src=/s/sdk.js.bak></script>";
    assert_eq!(served(kept), format!("{TAG}{kept}"));
}

#[test]
fn in_path_mode_the_script_has_the_apps_path_and_cannot_break_out_of_its_attribute() {
    let html = serve("<head></head>", "/a/guest/s/sdk.js").unwrap().html;
    assert_eq!(html, r#"<head><script src="/a/guest/s/sdk.js"></script></head>"#);
    let html = serve("<head></head>", "/a/\"><b>&/s/sdk.js").unwrap().html;
    assert_eq!(html, r#"<head><script src="/a/&quot;><b>&amp;/s/sdk.js"></script></head>"#);
}

#[test]
fn a_large_document_is_rewritten_whole() {
    let body = "<p>ä€😀</p>".repeat(100_000);
    assert_eq!(served(&format!("<head></head>{body}")), format!("<head>{TAG}</head>{body}"));
}

proptest! {
    #[test]
    fn everything_authored_is_kept_in_order(
        html in r#"([a-z \n]{0,4}|<!--[ <>a-z]{0,6}-->|</?(html|head|body|title|script|p|svg)( a="[<>a-z]*")?/?>|<!doctype html>|[<>"'&/=]){0,24}"#
    ) {
        let served = served(&html);
        prop_assert_eq!(served.replacen(TAG, "", 1), html);
        prop_assert_eq!(served.matches(TAG).count(), 1);
    }

    #[test]
    fn a_token_stands_on_the_script_wherever_that_is(
        html in r#"\x{feff}?([a-zä \n]{0,4}|<!--[ <>a-z]{0,6}-->|</?(html|head|body|title|script|p|svg)( a="[<>a-z]*")?/?>|<script src="/s/sdk.js"></script>|<!-- <script src="/s/sdk.js"></script> -->|<!doctype html>){0,24}"#
    ) {
        let served = serve(&html, "/s/sdk.js").unwrap();
        let html = Bytes::from(served.html.clone());
        let carried = carrying(&html, served.script_at, "rk_part_1", None).concat();
        let carried = String::from_utf8(carried).unwrap();
        let tag = r#"<script data-participant="rk_part_1" src="/s/sdk.js"></script>"#;
        prop_assert_eq!(carried.replacen(tag, TAG, 1), served.html.as_str());
        prop_assert_eq!(carried.find(tag), Some(served.script_at));
        let files = "/a/x/s/as/1/";
        let based = carrying(&html, served.script_at, "rk_part_1", Some(files)).concat();
        let base = format!("<base href=\"{files}\">{tag}");
        prop_assert_eq!(carried.replacen(tag, &base, 1), String::from_utf8(based).unwrap());
    }
}

#[test]
fn the_embedded_manifest_is_found_and_left_as_it_is() {
    let text = "\n {\"a\": \"<b> &amp; </p>\"} ";
    for html in [
        format!("<script type=\"application/json\" id=\"x-service-manifest\">{text}</script>"),
        format!("<SCRIPT ID=x-service-manifest TYPE=' Application/JSON '>{text}</SCRIPT>"),
        format!("<p><script>1</script><script id=x-service-manifest type=application/json>{text}"),
    ] {
        assert_eq!(extract_embedded_manifest(&html).unwrap().as_deref(), Some(text), "{html}");
    }
}

#[test]
fn what_only_looks_like_a_manifest_is_none() {
    for html in [
        "",
        "<p>x-service-manifest</p>",
        "<!-- <script type=application/json id=x-service-manifest>{}</script> -->",
        "<script>'<script type=application/json id=x-service-manifest>{}'</script>",
        "<script type=application/json id=other>{}</script>",
        "<div id=x-service-manifest>{}</div>",
    ] {
        assert_eq!(extract_embedded_manifest(html).unwrap(), None, "{html}");
    }
}

#[test]
fn an_empty_manifest_script_is_there_but_empty() {
    let html = "<script type=application/json id=x-service-manifest></script>";
    assert_eq!(extract_embedded_manifest(html).unwrap().as_deref(), Some(""));
}

#[test]
fn two_manifests_or_one_that_would_run_are_refused() {
    let one = "<script type=application/json id=x-service-manifest>{}</script>";
    let error = extract_embedded_manifest(&format!("{one}{one}")).unwrap_err();
    assert!(error.message.contains("2 scripts"), "{error}");
    for wrong in ["", " type=text/javascript", " type=module"] {
        let html = format!("<script id=x-service-manifest{wrong}>{{}}</script>");
        let error = extract_embedded_manifest(&html).unwrap_err();
        assert!(error.message.contains("application/json"), "{error}");
    }
}

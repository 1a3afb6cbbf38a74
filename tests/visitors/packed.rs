//! What apps serve comes compressed to whoever takes it.

use reqwest::Method;
use rookery::pages::sdk::SDK_GZIP_BYTES_MAX;
use rookery_domain::manifest::Visibility;
use serde_json::json;

use super::world::{Site, World};
use crate::harness::Answer;

/// What goes in is sent in both ways: the same content, each way with a tag of its own.
async fn both_ways(site: &Site<'_>, path: &str) -> (Answer, Answer) {
    let plain = site.get(path).await;
    assert_eq!(plain.status, 200, "{path}");
    assert!(plain.header("vary").contains("accept-encoding"), "{path}");
    assert!(!plain.headers.contains_key("content-encoding"), "{path}");
    assert_eq!(plain.header("content-length"), plain.text.len().to_string(), "{path}");
    let (packed, bytes) = Answer::packed(site.request(Method::GET, path)).await;
    assert!(packed.text == plain.text, "{path}");
    assert!(bytes < plain.text.len(), "{path}: {bytes} bytes");
    assert_eq!(packed.header("content-length"), bytes.to_string());
    for name in ["content-type", "cache-control", "vary"] {
        assert_eq!(packed.header(name), plain.header(name), "{path}: {name}");
    }
    assert_ne!(packed.header("etag"), plain.header("etag"), "{path}");
    let head = site.request(Method::HEAD, path).header("accept-encoding", "gzip");
    let head = Answer::of(head).await;
    for name in ["content-length", "content-encoding", "etag"] {
        assert_eq!(head.header(name), packed.header(name), "{path}: {name}");
    }
    let refused = site.request(Method::GET, path).header("accept-encoding", "gzip;Q=0");
    assert_eq!(Answer::of(refused).await.text, plain.text, "{path}: names of weights have no case");
    let again = site.request(Method::GET, path).header("accept-encoding", "gzip");
    let again = Answer::of(again.header("if-none-match", packed.header("etag"))).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
    (plain, packed)
}

#[tokio::test]
async fn the_sdk_comes_compressed_to_whoever_takes_it() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    for path in ["/s/sdk.js", "/s/solver.js", "/s/sdk.d.ts"] {
        let (plain, packed) = both_ways(&site, path).await;
        assert_eq!(plain.header("vary"), "accept-encoding", "{path}");
        let bytes: usize = packed.header("content-length").parse().expect("a number");
        assert!(bytes < SDK_GZIP_BYTES_MAX, "{path}: {bytes} bytes");
    }
}

#[tokio::test]
async fn a_document_and_files_of_text_come_compressed_to_whoever_takes_it() {
    let world = World::start().await;
    let html = format!("<head><title>x</title></head>{}", "<p>the same again".repeat(200));
    let script = "let garden = 'the same again';\n".repeat(200);
    let assets = [
        ("app.js", "text/javascript", &*script),
        ("photo.webp", "image/webp", &*script),
        ("small.css", "text/css", "body{}"),
    ];
    let site = world.deploy("garden", Visibility::Public, json!({}), &html, &assets).await;
    for path in ["/", "/app.js"] {
        let (plain, packed) = both_ways(&site, path).await;
        assert_eq!(plain.header("vary"), "cookie, accept-encoding");
        assert!(packed.headers.contains_key("content-security-policy"), "{path}");
        // A part is one of the plain bytes, and is not put together with compressed ones.
        let part = || site.request(Method::GET, path).header("accept-encoding", "gzip");
        let first = Answer::of(part().header("range", "bytes=0-9")).await;
        assert_eq!((first.status, first.header("etag")), (206, plain.header("etag")));
        assert_eq!(first.text, plain.text[..10]);
        let mixed = part().header("range", "bytes=0-9").header("if-range", packed.header("etag"));
        assert_eq!(Answer::of(mixed).await.status, 200);
    }
    for path in ["/photo.webp", "/small.css"] {
        let asked = site.request(Method::GET, path).header("accept-encoding", "gzip");
        let answer = Answer::of(asked).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.headers.contains_key("content-encoding"), "{path}");
    }
}

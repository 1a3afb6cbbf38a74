//! The grammar of `externalHosts` and `embeds`, and which entry covers which.

use rookery_domain::manifest::covers_host;
use serde_json::json;

use super::{admitted, assert_refused};

#[test]
fn origins_are_normalised() {
    for (written, origin) in [
        ("https://api.example.org", "https://api.example.org"),
        ("HTTPS://API.Example.ORG", "https://api.example.org"),
        ("api.example.org", "https://api.example.org"),
        ("https://*.example.org", "https://*.example.org"),
        ("*.Example.org", "https://*.example.org"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://*.xn--bcher-kva.example", "https://*.xn--bcher-kva.example"),
        ("https://1.example.org", "https://1.example.org"),
        ("https://qa--site.example.org", "https://qa--site.example.org"),
        ("https://r3---sn-4g5e6nsz.example.org", "https://r3---sn-4g5e6nsz.example.org"),
    ] {
        let manifest = admitted(&json!({"externalHosts": [written], "embeds": [written]}));
        assert_eq!(manifest.external_hosts, [origin]);
        assert_eq!(manifest.embeds, [origin]);
    }
}

#[test]
fn what_is_no_https_origin_of_a_name_is_refused() {
    for entry in [
        "",
        " ",
        "https://",
        "http://api.example.org",
        "wss://api.example.org",
        "javascript://api.example.org",
        "//api.example.org",
        "https:api.example.org",
        "https://api.example.org/",
        "https://api.example.org/v1",
        "https://api.example.org?x",
        "https://api.example.org#x",
        "https://user@api.example.org",
        "https://user:pw@api.example.org",
        "https://@api.example.org",
        "https://api.example.org:443",
        "https://api.example.org:8443",
        "https://api.example.org:",
        "https://api.example.org\\x",
        "https://api .example.org",
        "https://api.example.org\n",
        "https://api%2eexample.org",
        "https://*.org",
        "https://*",
        "https://*.*.example.org",
        "https://a.*.example.org",
        "https://a*.example.org",
        "https://*example.org",
        "https://localhost",
        "https://api..example.org",
        "https://.example.org",
        "https://api.example.org.",
        "https://-api.example.org",
        "https://a_b.example.org",
        "https://127.0.0.1",
        "https://127.1",
        "https://2130706433",
        "https://0x7f000001",
        "https://0x7f.1",
        "https://0177.0.0.1",
        "https://１２７.0.0.1",
        "https://127。0。0。1",
        "https://[::1]",
        "https://[::ffff:127.0.0.1]",
        "https://::1",
        "https://*.0.0.1",
        "https://1.2.3.4.5",
        "'self'",
        "https://api.example.org; script-src *",
    ] {
        for (member, code) in
            [("externalHosts", "external_host_invalid"), ("embeds", "embed_invalid")]
        {
            let manifest = json!({member: ["https://ok.example.org", entry]});
            assert_refused(&manifest, code, &format!("/{member}/1"));
        }
    }
    assert_refused(&json!({"externalHosts": [7]}), "external_host_invalid", "/externalHosts/0");
}

#[test]
fn duplicates_are_found_after_normalisation() {
    for (one, two) in [
        ("https://api.example.org", "https://api.example.org"),
        ("https://api.example.org", "API.example.org"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ] {
        let manifest = json!({"embeds": [one, two]});
        assert_refused(&manifest, "embed_invalid", "/embeds/1");
    }
    admitted(&json!({"embeds": ["https://*.example.org", "https://api.example.org"]}));
}

#[test]
fn an_app_cannot_name_its_own_origin_not_even_by_a_wildcard() {
    for own in ["https://guestbook.example.com", "GuestBook.example.com", "https://*.example.com"] {
        let manifest = json!({"externalHosts": [own]});
        assert_refused(&manifest, "external_host_invalid", "/externalHosts/0");
    }
    admitted(&json!({"externalHosts": ["https://example.com", "https://other.example.com"]}));
}

#[test]
fn a_wildcard_covers_what_lies_below_it_and_nothing_else() {
    for (old, new, covered) in [
        ("https://a.org", "https://a.org", true),
        ("https://*.a.org", "https://b.a.org", true),
        ("https://*.a.org", "https://c.b.a.org", true),
        ("https://*.a.org", "https://*.b.a.org", true),
        ("https://*.a.org", "https://*.a.org", true),
        ("https://*.a.org", "https://a.org", false),
        ("https://*.a.org", "https://ba.org", false),
        ("https://*.b.a.org", "https://*.a.org", false),
        ("https://b.a.org", "https://*.a.org", false),
        ("https://a.org", "https://b.a.org", false),
    ] {
        assert_eq!(covers_host(old, new), covered, "{old} {new}");
    }
}

#[test]
fn a_password_in_a_refused_address_is_not_repeated() {
    let hook = json!({
        "collections": {"a": super::collection("unique", json!([]))},
        "webhooks": [{"on": "create", "collection": "a", "url": "https://u:canary@example.org/"}]
    });
    let path = json!({
        "collections": {"a": super::collection("unique", json!([]))},
        "webhooks": [{"on": "create", "collection": "a", "url": "http://example.org/canary"}]
    });
    for manifest in [hook, path, json!({"embeds": ["https://u:canary@example.org"]})] {
        let error = super::parse(&manifest).expect_err("refused");
        assert!(!format!("{error} {:?}", error.details).contains("canary"), "{error}");
    }
}

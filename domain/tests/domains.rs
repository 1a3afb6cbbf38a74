//! Names that an app can be given, and the proof of control.

use rookery_domain::{
    ErrorCode,
    domains::{DomainName, proof_value},
};

const PLATFORM: &[&str] = &["rookery.example.org", "apps.example.org"];

fn parse(text: &str) -> Result<String, ErrorCode> {
    let name = DomainName::parse(text, PLATFORM).map_err(|error| error.code)?;
    Ok(name.as_str().to_owned())
}

#[test]
fn a_bare_dns_name_is_taken_in_lower_case_and_ascii() {
    for (text, name) in [
        ("app.example.com", "app.example.com"),
        ("Example.COM", "example.com"),
        ("b\u{fc}cher.example.com", "xn--bcher-kva.example.com"),
        ("a-1.b2.example.co.uk", "a-1.b2.example.co.uk"),
        ("notrookery.example.org", "notrookery.example.org"),
        ("example.org", "example.org"),
    ] {
        assert_eq!(parse(text).as_deref(), Ok(name), "{text}");
    }
}

#[test]
fn anything_else_is_no_domain() {
    let (label, long) = ("a".repeat(64), format!("{}example.com", "abcdefgh.".repeat(28)));
    for text in [
        "",
        ".",
        "example",
        "localhost",
        "app.localhost",
        "a.test",
        "a.invalid",
        "a.local",
        "a.internal",
        "a.onion",
        "a.home.arpa",
        "*.example.com",
        "a.*.com",
        "https://example.com",
        "example.com/",
        "example.com:443",
        "user@example.com",
        "exa mple.com",
        "-a.example.com",
        "a-.example.com",
        "a..example.com",
        "_a.example.com",
        "127.0.0.1",
        "127.1",
        "1.2.3",
        "0x7f.1.2.3",
        "127.0.0.0x1",
        "a.0x4",
        "a.0x",
        "[::1]",
        "::1",
        "example.com.",
        "\0.example.com",
        "a.example.com\n",
        "rookery.example.org",
        "x.rookery.example.org",
        "apps.example.org",
        "a.b.apps.example.org",
        "APPS.Example.Org",
        label.as_str(),
        long.as_str(),
    ] {
        assert_eq!(parse(text), Err(ErrorCode::DomainInvalid), "{text:?}");
    }
    let label = format!("{label}.example.com");
    assert_eq!(parse(&label), Err(ErrorCode::DomainInvalid));
    // With `_rookery.` before it the name must be one that DNS allows: 253 characters.
    let of = |length: usize| {
        let labels = format!("{}.", "a".repeat(59)).repeat(4);
        format!("{labels}{}", "b".repeat(length - labels.len()))
    };
    assert!(parse(&of(244)).is_ok());
    assert_eq!(parse(&of(245)), Err(ErrorCode::DomainInvalid));
}

#[test]
fn the_proof_stands_below_a_label_of_its_own() {
    let name = DomainName::parse("app.example.com", &[]).expect("a name");
    assert_eq!(name.proof_name(), "_rookery.app.example.com");
    assert_eq!(proof_value("abc"), "rookery-verify=abc");
}

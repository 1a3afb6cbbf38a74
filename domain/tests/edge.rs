//! The small grammars at the edge: addresses, return paths, client versions, row keys,
//! timezones.

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode, cli_version::CliVersion, email::Email, redirect::ReturnPath, row_key, timezone::Zone,
};

#[test]
fn addresses_are_normalised_and_compared_exactly() {
    // As long as an address may be, before the `@` and as a whole.
    let long = format!("{}@{}.org", "x".repeat(64), vec!["y".repeat(61); 3].join("."));
    assert_eq!(long.len(), 254);
    for (text, normal) in [
        ("ann@example.org", "ann@example.org"),
        (&long, &long),
        (" Ann.Lee+x@Example.ORG ", "ann.lee+x@example.org"),
        ("ann@BÜCHER.example", "ann@xn--bcher-kva.example"),
        ("dev@localhost", "dev@localhost"),
        ("o'neil@mail.example.co.uk", "o'neil@mail.example.co.uk"),
    ] {
        assert_eq!(Email::parse(text).expect(text).as_str(), normal);
    }
    // Cyrillic a: looks alike, is another address.
    let alike = Email::parse("ann@ex\u{430}mple.org").expect("valid");
    assert_ne!(alike, Email::parse("ann@example.org").expect("valid"));
}

#[test]
fn what_is_no_address_is_refused() {
    let long = format!("{}@example.org", "x".repeat(65));
    let longer = format!("{}@{}y.org", "x".repeat(64), vec!["y".repeat(61); 3].join("."));
    assert_eq!(longer.len(), 255);
    // Short as it is written, and too long in ASCII.
    let grown = format!("{}@{}.org", "x".repeat(64), vec!["\u{fc}".repeat(26); 6].join("."));
    for text in [
        "",
        "ann",
        "@example.org",
        "ann@",
        "ann@example",
        "a b@example.org",
        "a@b@example.org",
        ".a@example.org",
        "a..b@example.org",
        "a.@example.org",
        "a@example..org",
        "a@-example.org",
        "a@[127.0.0.1]",
        "a@127.0.0.1",
        "a@0x7f.0x1",
        "\"a\"@example.org",
        "a@example.org\nBcc: b@example.org",
        "a@exa mple.org",
        "ä@example.org",
        "a@example.org.",
        "a@under_score.org",
        &long,
        &longer,
        &grown,
    ] {
        let error = Email::parse(text).expect_err(text);
        assert_eq!(error.code, ErrorCode::InvalidRequest);
    }
    let email = Email::parse("ann@example.org").expect("valid");
    assert_eq!(format!("{email:?}"), "Email(..)");
}

#[test]
fn a_return_path_is_a_path_and_nothing_else() {
    for good in [
        "/",
        "/a",
        "/a/",
        "/a/b?x=1&y=//e",
        "/a#b",
        "/a%20b",
        "/?next=/b",
        "/a:b@c",
        "/~x",
        "/100%25",
        "/100%25g",
        "/v10/x",
        "/a/x?y=/s/z",
        "/x/s/y",
        "/s",
    ] {
        assert_eq!(ReturnPath::of_site("redirect_to", good).expect(good).as_str(), good);
        assert_eq!(ReturnPath::of_app("redirect_to", good).expect(good).as_str(), good);
    }
    for bad in [
        "",
        "a",
        "//evil",
        "///evil",
        "/\\evil",
        "\\evil",
        "https://evil",
        "https://app@evil",
        "javascript:alert(1)",
        "/%2fevil",
        "/%2Fevil",
        "/%5cevil",
        "/%252fevil",
        "/%2541",
        "/a//b",
        "/./a",
        "/../a",
        "/a/..",
        "/%2e%2e/a",
        "/.%2e/a",
        "/a\r\nSet-Cookie: x",
        "/a\tb",
        "/a b",
        "/ä",
        "/%0d%0aX",
        "/%00",
        "/%",
        "/%2",
        "/%zz",
        "?x",
        "#x",
        "/\u{7f}",
        " /a",
        "/a?\\",
        "/%7f",
    ] {
        for read in [ReturnPath::of_site, ReturnPath::of_app] {
            let error = read("redirect_to", bad).expect_err(bad);
            assert_eq!(error.code, ErrorCode::InvalidRequest);
            assert!(error.message.starts_with("`redirect_to`"), "{}", error.message);
        }
    }
    let long = format!("/{}", "x".repeat(2_048));
    assert!(ReturnPath::is_too_long(&long) && ReturnPath::of_site("return_to", &long).is_err());
    assert_eq!(ReturnPath::default().as_str(), "/");
}

#[test]
fn a_return_path_leads_to_a_page_and_does_nothing_by_being_opened() {
    let of_api = ["/v1/auth/verify?token=x", "/v1", "/v1/", "/%76%31/auth/verify", "/v%31?x"];
    let of_service = ["/a/garden/s/callback?grant=x", "/a/garden/%73/share/x", "/a/garden/s/"];
    for bad in of_api.iter().chain(&of_service) {
        ReturnPath::of_site("x", bad).expect_err(bad);
        ReturnPath::of_app("x", bad).expect(bad);
    }
    for bad in ["/s/callback?grant=x", "/s/share/x", "/%73/grant/x", "/s/"] {
        ReturnPath::of_app("x", bad).expect_err(bad);
        ReturnPath::of_site("x", bad).expect(bad);
    }
}

#[test]
fn an_old_client_is_told_to_upgrade_and_garbage_is_invalid() {
    let minimum = CliVersion::parse("1.4.0").expect("a version");
    let check = |stated| CliVersion::check(stated, Some(&minimum)).map_err(|error| error.code);
    assert_eq!(check(None), Ok(()));
    for stated in ["1.4.0", "1.4.1", "1.10.0", "2.0.0", "1.4.0+build", "999999999999.0.0"] {
        assert_eq!(check(Some(stated)), Ok(()), "{stated}");
    }
    for stated in ["1.3.9", "0.99.99", "1.4.0-beta.1"] {
        assert_eq!(check(Some(stated)), Err(ErrorCode::CliUpgradeRequired), "{stated}");
    }
    let long = format!("1.4.0+{}", "1".repeat(59));
    for stated in [
        "",
        "1",
        "1.4",
        "v1.4.0",
        "999999999999.0",
        "1.4.x",
        "-1.0.0",
        "1.4.0 ; x",
        "99999999999999999999.0.0",
        &long,
    ] {
        assert_eq!(check(Some(stated)), Err(ErrorCode::InvalidRequest), "{stated}");
        assert!(CliVersion::check(Some(stated), None).is_err(), "{stated}");
    }
}

#[test]
fn row_keys_have_1_to_128_characters_without_control_characters() {
    for good in [
        "a",
        "A key with spaces",
        "ключ",
        "a/b",
        "...",
        "Batch",
        &"ä".repeat(128),
        &row_key::generate(),
    ] {
        assert_eq!(row_key::check(good), Ok(()), "{good}");
    }
    for bad in [
        "",
        "a\nb",
        "\u{85}",
        "batch",
        "count",
        "deleted",
        "retention",
        ".",
        "..",
        &"x".repeat(129),
        &"ä".repeat(129),
    ] {
        assert_eq!(row_key::check(bad).expect_err(bad).code, ErrorCode::InvalidRequest, "{bad}");
    }
}

#[test]
fn timezones_are_iana_names() {
    for name in
        ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Etc/GMT+5"]
    {
        assert_eq!(Zone::parse(name).expect(name).name(), name);
    }
    let long = "x".repeat(100);
    for name in [
        "",
        "Mars/Phobos",
        "CEST-2",
        "+02:00",
        "../../etc/passwd",
        "Etc/Unknown",
        "Europe/Berlin ",
        "EST5EDT4,M3.2.0,M11.1.0",
        &long,
    ] {
        assert_eq!(Zone::parse(name).expect_err(name).code, ErrorCode::InvalidRequest, "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_grammar_panic(text in "\\PC{0,40}") {
        let _ = Email::parse(&text);
        let _ = ReturnPath::of_site("x", &format!("/{text}"));
        let _ = CliVersion::check(Some(&text), None);
        let _ = row_key::check(&text);
        let _ = Zone::parse(&text);
    }

    #[test]
    fn a_normal_address_is_its_own_normal_form(text in "[a-zA-Z.+]{1,8}@[a-zA-ZäÖß.-]{1,12}") {
        if let Ok(email) = Email::parse(&text) {
            prop_assert_eq!(Email::parse(email.as_str()), Ok(email));
        }
    }

    #[test]
    fn a_return_path_stays_on_its_origin(text in "/[a-z/.%\\\\:@?#0-9f-]{0,12}") {
        if ReturnPath::of_site("x", &text).is_ok() {
            let base = url::Url::parse("https://site.example/sign-in").expect("a URL");
            let target = base.join(&text).expect("joins");
            prop_assert_eq!(target.origin(), base.origin());
            prop_assert!(!target.path().starts_with("//"));
        }
    }
}

//! Secrets, typed codes, and the server's own key.

use std::net::IpAddr;

use proptest::prelude::*;
use rand::{SeedableRng, rngs::StdRng};
use rookery_domain::{
    sealed::{ServerKey, TokenPurpose},
    secret::{Secret, SecretKind, UserCode},
};

fn rng() -> StdRng {
    StdRng::seed_from_u64(7)
}

fn key() -> ServerKey {
    ServerKey::new(&[7; 32])
}

#[test]
fn a_secret_has_the_documented_shape_and_reads_back() {
    for kind in SecretKind::ALL {
        let secret = Secret::generate(*kind, &mut rng());
        let text = secret.expose();
        assert_eq!(text.len(), kind.prefix().len() + 43 + 6);
        assert!(text[kind.prefix().len()..].bytes().all(|b| b.is_ascii_alphanumeric()));
        assert_eq!(secret.prefix(), text[..kind.prefix().len() + 6]);
        let read = Secret::parse(*kind, text).expect("own text");
        assert_eq!((read.kind(), read.hash()), (*kind, secret.hash()));
        for other in SecretKind::ALL.iter().filter(|other| *other != kind) {
            assert!(Secret::parse(*other, text).is_none(), "{kind:?} passes for {other:?}");
        }
    }
}

#[test]
fn no_secret_can_be_printed() {
    let secret = Secret::generate(SecretKind::Agent, &mut rng());
    let code = UserCode::generate(&mut rng());
    let printed = format!("{secret:?} {:?} {code:?} {:?}", secret.hash(), key());
    assert_eq!(printed, "Secret(rk_agent_..) SecretHash(..) UserCode(..) ServerKey(..)");
}

#[test]
fn the_hash_is_plain_sha_256_of_the_whole_text() {
    use sha2::{Digest as _, Sha256};
    let secret = Secret::generate(SecretKind::Grant, &mut rng());
    let expected: [u8; 32] = Sha256::digest(secret.expose()).into();
    assert_eq!(secret.hash().0, expected);
}

#[test]
fn a_code_reads_back_however_it_is_typed() {
    let code = UserCode::generate(&mut rng());
    let shown = code.expose();
    assert_eq!((shown.len(), shown.as_bytes()[4]), (9, b'-'));
    for between in [
        "-",
        "",
        " ",
        ".",
        "\u{2010}",
        "\u{2013}",
        " \u{2014} ",
        "\u{2212}",
        "\u{ff0d}",
        "\u{200b}",
    ] {
        let typed = format!(" {}.\u{a0}\n", shown.replace('-', between));
        assert_eq!(UserCode::parse(&typed), Some(code.clone()), "{typed}");
        assert_eq!(UserCode::parse(&typed.to_lowercase()), Some(code.clone()), "{typed}");
    }
    for wrong in ["", "WDJB-MJH", "WDJB-MJHTT", "WDJB-MJHA", "WDJB-MJH0", "WDJB_MJHT"] {
        assert_eq!(UserCode::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_sealed_opens_with_the_same_key_and_context_only() {
    let sealed = key().seal("share app_1", "rk_share_text", &mut rng());
    assert!(!sealed.contains("rk_share"));
    assert_eq!(key().open("share app_1", &sealed).as_deref(), Some("rk_share_text"));
    assert_eq!(key().open("share app_2", &sealed), None);
    assert_eq!(ServerKey::new(&[8; 32]).open("share app_1", &sealed), None);
    assert_eq!(key().open("share app_1", "AQ"), None);
    assert_ne!(sealed, key().seal("share app_1", "rk_share_text", &mut StdRng::seed_from_u64(8)));
}

#[test]
fn networks_are_ipv4_addresses_and_ipv6_64s() {
    let hash = |text: &str| key().network(text.parse::<IpAddr>().expect("an address"));
    assert_eq!(hash("192.0.2.1"), hash("::ffff:192.0.2.1"));
    assert_ne!(hash("192.0.2.1"), hash("192.0.2.2"));
    assert_eq!(hash("2001:db8:1:2::1"), hash("2001:db8:1:2:ffff::9"));
    assert_ne!(hash("2001:db8:1:2::1"), hash("2001:db8:1:3::1"));
    let other = ServerKey::new(&[8; 32]);
    let address = "192.0.2.1".parse::<IpAddr>().expect("an address");
    assert_ne!(hash("192.0.2.1"), other.network(address));
}

#[test]
fn a_code_is_hashed_with_the_key() {
    let code = UserCode::parse("WDJB-MJHT").expect("valid");
    assert_eq!(key().code_hash(&code), key().code_hash(&code));
    assert_ne!(key().code_hash(&code), ServerKey::new(&[8; 32]).code_hash(&code));
}

proptest! {
    #[test]
    fn one_changed_character_is_noticed(at in 9usize..58, by in 1u8..62, seed in any::<u64>()) {
        const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let secret = Secret::generate(SecretKind::Agent, &mut StdRng::seed_from_u64(seed));
        let mut text = secret.expose().as_bytes().to_vec();
        let digit = ALPHABET.iter().position(|c| *c == text[at]).expect("base62");
        text[at] = ALPHABET[(digit + usize::from(by)) % 62];
        let text = String::from_utf8(text).expect("ASCII");
        prop_assert!(Secret::parse(SecretKind::Agent, &text).is_none());
    }

    #[test]
    fn no_text_makes_parsing_panic(text in "\\PC{0,80}") {
        for kind in SecretKind::ALL {
            let _ = Secret::parse(*kind, &format!("{}{text}", kind.prefix()));
        }
        let _ = UserCode::parse(&text);
        let _ = key().open("", &text);
    }

    #[test]
    fn a_token_carries_its_payload_and_no_edit_survives(
        payload in prop::collection::vec(any::<u8>(), 0..60), at in any::<prop::sample::Index>(), bit in 0u8..6,
    ) {
        let token = key().sign(TokenPurpose::Feed, &payload);
        prop_assert_eq!(key().verify(TokenPurpose::Feed, &token), Some(payload.clone()));
        prop_assert_eq!(key().verify(TokenPurpose::RowPage, &token), None);
        let mut edited = token.clone().into_bytes();
        let at = at.index(edited.len());
        edited[at] ^= 1 << bit;
        if let Ok(edited) = String::from_utf8(edited) {
            prop_assert_eq!(key().verify(TokenPurpose::Feed, &edited), None);
        }
        prop_assert_eq!(key().verify(TokenPurpose::Feed, &token[..token.len() - 1]), None);
    }
}

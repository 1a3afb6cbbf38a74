//! Slugs: the grammar, the reserved names, and that generated ones pass.

use std::collections::HashSet;

use proptest::prelude::*;
use rand::{SeedableRng, rngs::StdRng};
use rookery_domain::{ErrorCode, slug, text};

#[test]
fn the_reserved_names_are_sorted_as_their_look_up_needs() {
    assert!(slug::RESERVED.is_sorted());
    for name in [
        "advisories",
        "www",
        "api",
        "admin",
        "docs",
        "ops",
        "static",
        "assets",
        "metrics",
        "alive",
        "ready",
        "dev",
        "authorize",
        "device",
        "sign-in",
        "settings",
        "community",
    ] {
        assert!(slug::is_reserved(name), "{name}");
        assert_eq!(slug::check(name).expect_err(name).code, ErrorCode::InvalidRequest);
    }
    for name in ["s", "a", "v1", "b"] {
        assert!(slug::check(name).is_err(), "{name}");
    }
}

#[test]
fn the_grammar_is_kept() {
    for good in ["abc", "a-b", "1st", "my-app-2", &"x".repeat(63), "a--b"] {
        assert_eq!(slug::check(good), Ok(()), "{good}");
    }
    for bad in [
        "",
        "ab",
        &"x".repeat(64),
        "-abc",
        "abc-",
        "Abc",
        "a_b",
        "a.b",
        "a b",
        "äbc",
        "abc\n",
        "xn--abc",
        "ab--c",
    ] {
        let error = slug::check(bad).expect_err(bad);
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{bad}");
        assert!(error.message.contains(&text::quoted(bad)), "{error}");
    }
}

#[test]
fn a_refusal_quotes_a_slug_only_so_far() {
    let error = slug::check(&"é".repeat(100_000)).expect_err("too long");
    assert!(error.message.len() < 250, "{error}");
    assert!(error.message.ends_with("é\"…"), "{error}");
}

proptest! {
    #[test]
    fn generated_slugs_pass_and_differ(seed in any::<u64>()) {
        let rng = &mut StdRng::seed_from_u64(seed);
        let words = slug::generate_words(0, rng);
        prop_assert_eq!(words.split('-').count(), 3);
        for slug in [words, slug::generate_words(1, rng), slug::generate_random(rng)] {
            prop_assert_eq!(slug::check(&slug), Ok(()));
        }
        prop_assert_ne!(slug::generate_random(rng), slug::generate_random(rng));
    }

    /// All slugs of three words may be taken: there are 32,768.
    #[test]
    fn further_attempts_do_not_run_out(seed in any::<u64>(), attempt in 1usize..8) {
        let rng = &mut StdRng::seed_from_u64(seed);
        let drawn: HashSet<_> = (0..100).map(|_| slug::generate_words(attempt, rng)).collect();
        prop_assert_eq!(drawn.len(), 100);
        for slug in drawn {
            let (_, suffix) = slug.rsplit_once('-').expect("hyphens");
            prop_assert_eq!((slug.split('-').count(), suffix.len()), (4, 4));
        }
    }

    #[test]
    fn no_text_makes_the_check_panic(text in "\\PC{0,70}") {
        let _ = slug::check(&text);
    }
}

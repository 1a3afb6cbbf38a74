//! The error table against the project's own copy of what clients were promised.

use std::collections::BTreeSet;

use rookery_domain::{Error, ErrorCode};

#[test]
fn codes_statuses_and_retryable_are_what_clients_were_promised() {
    let promised = include_str!("data/errors.tsv").lines().skip(1);
    let built = ErrorCode::ALL
        .iter()
        .map(|code| format!("{}\t{}\t{}", code.as_str(), code.status(), code.retryable()));
    assert_eq!(promised.map(str::to_owned).collect::<BTreeSet<_>>(), built.collect());
    assert_eq!(ErrorCode::ALL.len(), 92);
}

#[test]
fn what_fails_behind_a_change_never_says_that_nothing_was_applied() {
    for before in [Error::unavailable("a read failed"), Error::internal()] {
        let after = before.after_change();
        assert_eq!(after.code, ErrorCode::Internal);
        assert_eq!(after.details.expect("details")["outcome"], "unknown");
    }
    let gone = Error::app_not_found().after_change();
    assert_eq!(gone.code, ErrorCode::AppNotFound);
}

#[test]
fn every_code_says_what_it_means_and_what_to_do() {
    let mut hints = BTreeSet::new();
    for code in ErrorCode::ALL {
        for text in [code.meaning(), code.hint()] {
            assert!((20..=240).contains(&text.len()), "{code}: {text}");
            assert!(text.starts_with(char::is_uppercase) && text.ends_with('.'), "{code}: {text}");
        }
        hints.insert((code.meaning(), code.hint()));
    }
    assert_eq!(hints.len(), ErrorCode::ALL.len(), "no two codes mean the same");
}

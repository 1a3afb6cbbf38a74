//! The error table against the project's own copy of what clients were promised.

use std::collections::BTreeSet;

use rookery_domain::ErrorCode;

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

//! Points in time as they are read and written.

use std::time::Instant;

use proptest::prelude::*;
use rookery_domain::{Timestamp, time::Clock};
use serde_json::{from_value, json};

fn read(text: &str) -> Option<Timestamp> {
    from_value(json!(text)).ok()
}

#[test]
fn a_time_is_written_in_utc_with_milliseconds() {
    for (text, written) in [
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("2026-01-31T23:59:59.1239Z", "2026-01-31T23:59:59.123Z"),
        ("2024-02-29T01:30:00+02:00", "2024-02-28T23:30:00.000Z"),
        ("2000-02-29T23:59:59Z", "2000-02-29T23:59:59.000Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(read(text).map(|at| at.to_string()).as_deref(), Some(written), "{text}");
    }
}

#[test]
fn every_time_is_read_up_to_the_last_that_can_be_written() {
    for (text, written) in [
        ("9999-12-30T22:00:00Z", "9999-12-30T22:00:00.000Z"),
        ("9999-12-30T22:00:01Z", "9999-12-30T22:00:01.000Z"),
        ("9999-12-31T00:00:00+14:00", "9999-12-30T10:00:00.000Z"),
        ("9999-12-31T20:00:00.5-03:00", "9999-12-31T23:00:00.500Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(read(text).map(|at| at.to_string()).as_deref(), Some(written), "{text}");
    }
    assert_eq!(read("9999-12-31T23:59:59.999999Z"), Some(Timestamp::LAST));
    for text in [
        "9999-12-31T23:59:59-00:01",
        "9999-12-31",
        "9999-12-31T23:59:59",
        "9999-12-32T00:00:00Z",
        "10000-01-01T00:00:00Z",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn nothing_but_rfc_3339_is_read() {
    for text in [
        "20261231T235959Z",
        "2026-12-31T23:59Z",
        "2026-12-31T23Z",
        "+002026-12-31T23:59:59Z",
        "-002026-12-31T23:59:59Z",
        "2026-12-31T23:59:59,5Z",
        "2026-12-31T23:59:59.Z",
        "2026-12-31T23:59:59.1234567890Z",
        "2026-12-31T23:59:59Z[UTC]",
        "2026-12-31T23:59:59+01:00[Europe/Berlin]",
        "2026-12-31T23:59:59+24:00",
        "2026-12-31T23:59:59+00:60",
        "2026-12-31T23:59:59+01",
        "2026-12-31T23:59:59+0100",
        "2026-12-31T23:59:59+01:00:00",
        "2026-12-31T23:59:59 +01:00",
        "2026-12-31 23:59:59Z",
        "2026-12-31T24:00:00Z",
        "2026-13-31T23:59:59Z",
        "2026-02-29T23:59:59Z",
        "2026-12-31T23:59:59",
        " 2026-12-31T23:59:59Z",
        "2026-12-31T23:59:59Z ",
        "２０２６-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z[UTC]",
        "+009999-12-31T23:59:59Z",
        "99991231T235959Z",
        "9999-12-31T23:59Z",
        "",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    for text in [
        "2026-12-31t23:59:59z",
        "2026-12-31T23:59:59.000000000Z",
        "2026-12-31T23:59:59-00:00",
        "2027-01-01T23:58:59+23:59",
        "2026-12-31T23:59:60Z",
    ] {
        let read = read(text).map(|at| at.to_string());
        assert_eq!(read.as_deref(), Some("2026-12-31T23:59:59.000Z"), "{text}");
    }
}

#[test]
fn a_time_within_a_millisecond_is_never_its_beginning() {
    for (fraction, micros) in [
        ("176", 176_000),
        ("176000001", 176_001),
        ("176999", 176_999),
        ("1769999", 176_999),
        ("176999999", 176_999),
        ("1760001", 176_001),
    ] {
        for year in ["1966", "2026"] {
            let at = read(&format!("{year}-01-31T23:59:59.{fraction}Z")).expect(fraction);
            assert_eq!(at.0.rem_euclid(1_000_000), micros, "{year} {fraction}");
        }
    }
}

#[test]
fn only_what_is_more_than_a_small_step_ahead_is_not_believed() {
    let now = Timestamp(0);
    for (ahead_s, is_ahead) in [(-1, false), (0, false), (60, false), (61, true)] {
        assert_eq!(now.plus_seconds(ahead_s).is_ahead_of(now), is_ahead, "{ahead_s}");
    }
}

#[test]
fn time_that_passes_never_goes_back_when_a_clock_is_set() {
    let clock = Clock::manual(Timestamp(0));
    let mut last = clock.elapsed();
    for (at, passed_s) in [(61, 61), (-3_600, 0), (0, 3_600)] {
        clock.set(Timestamp(0).plus_seconds(at));
        assert_eq!((clock.elapsed() - last).as_secs(), passed_s);
        last = clock.elapsed();
    }
    let (system, since) = (Clock::system(), Instant::now());
    let before = system.elapsed();
    let mut later = std::iter::repeat_with(|| system.elapsed()).take(10_000_000);
    let later = later.find(|now| *now != before).expect("time passes");
    assert!(later > before && later - before <= since.elapsed());
}

/// As the grammar of RFC 3339 has it, but with days that every month has.
const RFC_3339: &str = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";

proptest! {
    #[test]
    fn all_that_the_grammar_has_is_read(text in RFC_3339) {
        // The first day and the last one may lie beyond what can be shown elsewhere.
        let is_inside = !text.starts_with("0000-01-01") && !text.starts_with("9999-12");
        prop_assert!(!is_inside || read(&text).is_some(), "{}", text);
    }

    #[test]
    fn a_character_more_or_less_is_no_time(
        text in RFC_3339, at in 0usize..35, other in "[ -~]", replaces in any::<bool>(),
    ) {
        let at = at.min(text.len());
        let mut changed = text[..at].to_owned();
        changed.push_str(&other);
        changed.push_str(&text[(at + usize::from(replaces)).min(text.len())..]);
        let grammar = regex::Regex::new(&format!("^(?:{})$", RFC_3339
            .replace("(0[1-9]|1[0-9]|2[0-8])", "[0-3][0-9]")
            .replace(":[0-5][0-9](", ":[0-6][0-9]("))).unwrap();
        prop_assert!(read(&changed).is_none() || grammar.is_match(&changed), "{}", changed);
    }

    #[test]
    fn a_time_is_read_back_as_it_was_shown(at in -62_167_219_200_000_000..=Timestamp::LAST.0) {
        let at = Timestamp(at);
        prop_assert_eq!(read(&at.to_string()), Some(at.as_shown()));
    }
}

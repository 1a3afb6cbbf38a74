//! Points in time as they are read and written.

use proptest::prelude::*;
use rookery_domain::Timestamp;
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

proptest! {
    #[test]
    fn a_time_is_read_back_as_it_was_shown(at in -62_167_219_200_000_000..=Timestamp::LAST.0) {
        let at = Timestamp(at);
        prop_assert_eq!(read(&at.to_string()), Some(at.as_shown()));
    }
}

//! Retention: effective bounds, and which rows have outlived them.

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode, Timestamp,
    field_patch::FieldPatch::{Clear, Keep, Set},
    manifest::Retention,
    retention::{self, RetentionPatch},
    time::DAY_S,
};

fn bounds(days: impl Into<Option<u32>>, rows: impl Into<Option<u64>>) -> Retention {
    Retention { max_age_days: days.into(), max_rows: rows.into() }
}

fn days(n: i64) -> Timestamp {
    Timestamp(0).plus_seconds(n * DAY_S)
}

#[test]
fn the_owner_overrides_each_axis_on_its_own() {
    let author = bounds(90, 500);
    for (owner, expected) in [
        (bounds(None, None), author),
        (bounds(7, None), bounds(7, 500)),
        (bounds(None, 9_000), bounds(90, 9_000)),
        (bounds(7, 10), bounds(7, 10)),
    ] {
        assert_eq!(retention::effective(author, owner), expected);
    }
}

#[test]
fn the_oldest_rows_beyond_a_bound_are_pruned() {
    let created = [0, 1, 2, 3, 4].map(days);
    for (bounds, now, rows) in [
        (bounds(None, None), 100, 0),
        (bounds(2, None), 4, 3),
        (bounds(2, None), 1, 0),
        (bounds(None, 2), 4, 3),
        (bounds(None, 5), 4, 0),
        (bounds(4, 2), 4, 3),
        (bounds(1, 4), 4, 4),
        (bounds(1, None), 100, 5),
    ] {
        let due = retention::rows_due(bounds, days(now), 5, created);
        assert_eq!(due, rows, "{bounds:?} on day {now}");
    }
}

#[test]
fn a_row_lives_to_the_last_microsecond_of_its_age() {
    let bounds = bounds(1, None);
    let expiry = retention::next_expiry(bounds, Some(days(3))).expect("an expiry");
    assert_eq!(expiry, days(4));
    let rows = |now| retention::rows_due(bounds, now, 1, [days(3)]);
    assert_eq!((rows(Timestamp(expiry.0 - 1)), rows(expiry)), (0, 1));
    assert_eq!(retention::next_expiry(bounds, None), None);
    assert_eq!(retention::next_expiry(Retention::default(), Some(days(3))), None);
}

#[test]
fn a_patch_sets_clears_and_leaves_axes() {
    let owner = bounds(7, 10);
    let patch = |max_age_days, max_rows| RetentionPatch { max_age_days, max_rows };
    for (patch, expected) in [
        (patch(Keep, Keep), owner),
        (patch(Clear, Keep), bounds(None, 10)),
        (patch(Keep, Set(20)), bounds(7, 20)),
        (patch(Set(1), Clear), bounds(1, None)),
    ] {
        assert_eq!(patch.apply(owner), Ok(expected), "{patch:?}");
    }
    for (patch, axis) in [
        (patch(Set(0), Keep), "max_age_days"),
        (patch(Set(36_501), Keep), "max_age_days"),
        (patch(Keep, Set(0)), "max_rows"),
    ] {
        let error = patch.apply(owner).expect_err(axis);
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        assert!(error.message.contains(axis), "{}", error.message);
    }
}

proptest! {
    #[test]
    fn what_is_left_keeps_both_bounds(
        mut ages in prop::collection::vec(0i64..50, 0..30), max_days in 1u32..40, max_rows in 1u64..20,
    ) {
        ages.sort_unstable_by(|a, b| b.cmp(a));
        let now = days(100);
        let created: Vec<_> = ages.iter().map(|age| days(100 - age)).collect();
        let live = created.len() as u64;
        let bounds = bounds(max_days, max_rows);
        let pruned = retention::rows_due(bounds, now, live, created.clone()) as usize;
        let left = &ages[pruned..];
        prop_assert!(left.len() as u64 <= max_rows);
        prop_assert!(left.iter().all(|age| *age < i64::from(max_days)));
        // And no row more than needed.
        if pruned > 0 {
            let last = ages[pruned - 1];
            prop_assert!(last >= i64::from(max_days) || left.len() as u64 == max_rows);
        }
    }
}

#[test]
fn pruning_next_finds_a_row_at_the_first_sweep_after_one_is_ripe() {
    let sweep = |n: i64| Some(Timestamp(0).plus_seconds(n * retention::SWEEP_EVERY_S));
    let now = Timestamp(0).plus_seconds(retention::SWEEP_EVERY_S + 1);
    assert_eq!(retention::next_run(bounds(None, 5), now, 0, Some(days(0))), None);
    assert_eq!(retention::next_run(bounds(1, None), now, 0, None), None);
    assert_eq!(retention::next_run(bounds(None, 5), now, 1, Some(days(0))), sweep(2));
    let sweeps_a_day = DAY_S / retention::SWEEP_EVERY_S;
    let ripe = retention::next_run(bounds(1, None), now, 0, Some(days(0)));
    assert_eq!(ripe, sweep(sweeps_a_day + 1));
}

#[test]
fn the_next_sweep_is_at_the_whole_multiple_that_owners_are_told() {
    let every = retention::SWEEP_EVERY_S;
    for after in [0, 1, every - 1, every, 7 * every + 59] {
        let now = Timestamp(0).plus_seconds(after);
        let told = retention::next_run(bounds(None, 5), now, 1, None).unwrap();
        let wait = i64::try_from(retention::until_next_sweep(now).as_micros()).unwrap();
        assert_eq!(told.0, now.0 + wait);
        assert!(wait > 0, "a sweep that has begun is not the next one");
    }
}

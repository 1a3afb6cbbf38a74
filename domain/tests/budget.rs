//! Anonymous write budgets: counted by local day, given back, bounded, never refilled early.

use std::sync::Arc;

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode, Timestamp,
    budget::{BudgetCounters, BudgetRecord, BudgetScope, NETWORKS_MAX, SHARED_BUCKETS},
    manifest::AnonWriteBudget,
    time::DAY_S,
    timezone::Zone,
};
use serde_json::json;

fn at(text: &str) -> Timestamp {
    serde_json::from_value(json!(text)).expect("a time")
}

fn entries() -> Arc<str> {
    "entries".into()
}

fn budget(per_ip: impl Into<Option<u64>>, per_app: impl Into<Option<u64>>) -> AnonWriteBudget {
    AnonWriteBudget { per_ip_per_day: per_ip.into(), per_app_day: per_app.into() }
}

#[test]
fn each_scope_refuses_at_its_own_limit_and_says_when_it_resets() {
    let mut counters = BudgetCounters::default();
    let zone = Zone::parse("America/New_York").expect("a zone");
    let now = at("2026-03-07T15:00:00Z");
    let mut reserve = |network| counters.reserve(&entries(), &budget(2, 3), network, now, &zone);
    let _ = reserve(1).expect("first");
    let _ = reserve(1).expect("second");
    let error = reserve(1).expect_err("the network's third");
    assert_eq!(error.code, ErrorCode::CollectionWriteBudgetExceeded);
    assert_eq!(
        error.details.as_deref(),
        Some(&json!({"scope": "perIpPerDay", "limit": 2, "resets_at": "2026-03-08T05:00:00.000Z"}))
    );
    let _ = reserve(2).expect("another network");
    let error = reserve(3).expect_err("the app's fourth");
    assert_eq!(error.details.expect("details")["scope"], "perAppDay");
}

#[test]
fn a_budget_of_zero_admits_nobody_and_none_everybody() {
    let mut counters = BudgetCounters::default();
    let mut reserve =
        |budget| counters.reserve(&entries(), &budget, 1, Timestamp(0), &Zone::UTC).is_ok();
    assert!(!reserve(budget(0, None)));
    assert!(!reserve(budget(None, 0)));
    assert!(reserve(budget(None, None)));
}

#[test]
fn the_day_turns_at_local_midnight_also_where_clocks_change() {
    let zone = Zone::parse("europe/berlin").expect("a zone");
    assert_eq!(zone.name(), "Europe/Berlin");
    let mut counters = BudgetCounters::default();
    let mut admits =
        |time| counters.reserve(&entries(), &budget(1, None), 1, at(time), &zone).is_ok();
    // 29 March 2026 has 23 hours there.
    assert!(admits("2026-03-28T23:30:00Z"));
    assert!(!admits("2026-03-29T21:59:59Z"));
    assert!(admits("2026-03-29T22:00:00Z"));
    let day = zone.day(at("2026-03-29T12:00:00Z"));
    assert_eq!(zone.start_of_day(day), at("2026-03-28T23:00:00Z"));
    assert_eq!(zone.start_of_day(day + 1), at("2026-03-29T22:00:00Z"));
}

#[test]
fn a_clock_that_goes_backwards_never_refills() {
    let mut counters = BudgetCounters::default();
    let today = at("2026-05-05T12:00:00Z");
    let mut admits = |at| counters.reserve(&entries(), &budget(1, None), 1, at, &Zone::UTC).is_ok();
    assert!(admits(today));
    assert!(!admits(today.plus_seconds(-DAY_S)));
    assert!(!admits(today.plus_seconds(-DAY_S)));
    assert!(admits(today), "its midnight has passed");
    assert!(!admits(today));
    assert!(admits(today.plus_seconds(DAY_S)));
}

#[test]
fn a_clock_that_was_ahead_over_midnight_leaves_a_spent_budget_spent() {
    let now = at("2026-05-05T12:00:00Z");
    let three = budget(3, 3);
    for ahead in [0, 1, 2] {
        let mut counters = BudgetCounters::default();
        let admits = |counters: &mut BudgetCounters, at| {
            counters.reserve(&entries(), &three, 1, at, &Zone::UTC).ok()
        };
        for _ in 0..3 {
            let _ = admits(&mut counters, now).expect("room");
        }
        for _ in 0..ahead {
            let _ = admits(&mut counters, now.plus_seconds(DAY_S / 2)).expect("its own day's");
        }
        assert_eq!(admits(&mut counters, now), None, "{ahead} written ahead");
    }
}

#[test]
fn a_budget_that_is_spent_on_a_day_to_come_is_free_again_after_the_next_midnight() {
    let now = at("2026-05-05T12:00:00Z");
    let mut counters = BudgetCounters::default();
    let mut reserve = |at| counters.reserve(&entries(), &budget(1, None), 1, at, &Zone::UTC);
    let _ = reserve(now.plus_seconds(3_650 * DAY_S)).expect("the clock is ahead");
    let details = reserve(now).expect_err("not refilled").details.expect("details");
    assert_eq!(details["resets_at"], "2026-05-06T00:00:00.000Z");
    assert!(reserve(now.plus_seconds(DAY_S / 2)).is_ok());
}

#[test]
fn a_timezone_that_moves_west_makes_no_day_longer_than_a_day() {
    let (east, west) = ("Pacific/Kiritimati", "Pacific/Honolulu");
    let [east, west] = [east, west].map(|name| Zone::parse(name).expect("a zone"));
    let mut counters = BudgetCounters::default();
    let now = at("2026-05-05T10:30:00Z");
    let one = budget(1, None);
    let _ = counters.reserve(&entries(), &one, 1, now, &east).expect("room");
    let today = west.day(now);
    assert_eq!(east.day(now), today + 1);
    let record = |scope| BudgetRecord { collection: entries(), scope, day: today, count: 1 };
    let moved = [BudgetScope::App, BudgetScope::Network(1)].map(record);
    assert_eq!(counters.move_back(today), moved);
    assert_eq!(counters.move_back(today), []);
    let (mut loaded, again) = BudgetCounters::load(today, moved);
    assert_eq!(again, []);
    for counters in [&mut counters, &mut loaded] {
        let error = counters.reserve(&entries(), &one, 1, now, &west).expect_err("spent");
        assert_eq!(error.details.expect("details")["resets_at"], "2026-05-06T10:00:00.000Z");
        let next = at("2026-05-06T10:00:00Z");
        assert!(counters.reserve(&entries(), &one, 1, next, &west).is_ok());
    }
}

#[test]
fn of_the_days_that_are_stored_only_today_counts_and_the_next_one() {
    let now = at("2026-05-05T12:00:00Z");
    let today = Zone::UTC.day(now);
    for (day, counts) in [(-1, false), (0, true), (1, true), (2, false), (3_650, false)] {
        let record = BudgetRecord {
            collection: entries(),
            scope: BudgetScope::App,
            day: today + day,
            count: 1,
        };
        let (mut counters, moved) = BudgetCounters::load(today, [record.clone()]);
        // When the next day comes, storage must not have it for that day's.
        let expected = (day == 1).then_some(BudgetRecord { day: today, ..record });
        assert_eq!(moved, expected.into_iter().collect::<Vec<_>>(), "{day}");
        let admits = counters.reserve(&entries(), &budget(None, 1), 1, now, &Zone::UTC).is_ok();
        assert_eq!(admits, !counts, "{day}");
    }
}

#[test]
fn what_did_not_happen_is_given_back_to_its_own_day_only() {
    let mut counters = BudgetCounters::default();
    let now = at("2026-05-05T12:00:00Z");
    let one = budget(1, 1);
    let taken = counters.reserve(&entries(), &one, 1, now, &Zone::UTC).expect("room");
    counters.give_back(&taken);
    let taken = counters.reserve(&entries(), &one, 1, now, &Zone::UTC).expect("room again");
    let next = now.plus_seconds(DAY_S);
    let _ = counters.reserve(&entries(), &one, 1, next, &Zone::UTC).expect("a new day");
    counters.give_back(&taken);
    assert!(counters.reserve(&entries(), &one, 1, next, &Zone::UTC).is_err());
    assert_eq!(counters.records(&taken), None);
}

#[test]
fn counters_survive_storage() {
    let mut counters = BudgetCounters::default();
    let now = at("2026-05-05T12:00:00Z");
    let three = budget(3, 3);
    let _ = counters.reserve(&entries(), &three, 7, now, &Zone::UTC).expect("room");
    let last = counters.reserve(&entries(), &three, 7, now, &Zone::UTC).expect("room");
    let records = counters.records(&last).expect("today's");
    let day = Zone::UTC.day(now);
    let record = |scope, day, count| BudgetRecord { collection: entries(), scope, day, count };
    assert_eq!(
        records,
        [record(BudgetScope::App, day, 2), record(BudgetScope::Network(7), day, 2)]
    );
    let stale = record(BudgetScope::App, day - 1, 99);
    let (mut loaded, _) =
        BudgetCounters::load(day, [vec![stale.clone()], records.to_vec(), vec![stale]].concat());
    assert_eq!(loaded.day(), day);
    let _ = loaded.reserve(&entries(), &three, 7, now, &Zone::UTC).expect("one is left");
    assert!(loaded.reserve(&entries(), &three, 7, now, &Zone::UTC).is_err());
}

#[test]
fn a_flood_of_networks_shares_counters_and_is_never_counted_more_leniently() {
    let one = budget(1, None);
    let admits = |counters: &mut BudgetCounters, network: u64| {
        counters.reserve(&entries(), &one, network, Timestamp(0), &Zone::UTC).is_ok()
    };
    let mut counters = BudgetCounters::default();
    let first = 1 << 40;
    let known = first..first + NETWORKS_MAX as u64;
    for network in known.clone() {
        assert!(admits(&mut counters, network));
    }
    let stored = known.map(|network| BudgetRecord {
        collection: entries(),
        scope: BudgetScope::Network(network),
        day: 0,
        count: 1,
    });
    let (loaded, _) = BudgetCounters::load(0, stored);
    for mut counters in [counters, loaded] {
        assert!(!admits(&mut counters, first), "a known network keeps its own counter");
        let strangers = (0..5_000u64).filter(|n| admits(&mut counters, (1 << 50) + n)).count();
        assert_eq!(strangers, 1_024);
    }
}

#[test]
fn no_network_has_the_number_that_the_app_has_in_storage() {
    let mut counters = BudgetCounters::default();
    let any = budget(None, None);
    for network in 0..NETWORKS_MAX as u64 + 2 * SHARED_BUCKETS {
        // The first are known one by one, the last share their counters.
        let reserved = counters.reserve(&entries(), &any, network << 20, Timestamp(0), &Zone::UTC);
        let [_, of_network] = counters.records(&reserved.expect("room")).expect("today's");
        assert_ne!(of_network.scope, BudgetScope::Network(0));
    }
}

proptest! {
    #[test]
    fn never_more_than_the_limit_lands(
        steps in prop::collection::vec((0u64..3, any::<bool>()), 0..60), per_ip in 0u64..6, per_app in 0u64..9,
    ) {
        let mut counters = BudgetCounters::default();
        let mut landed = [0u64; 3];
        for (network, happens) in steps {
            let reserved =
                counters.reserve(&entries(), &budget(per_ip, per_app), network + 1, Timestamp(0), &Zone::UTC);
            let room = landed[network as usize] < per_ip && landed.iter().sum::<u64>() < per_app;
            prop_assert_eq!(reserved.is_ok(), room);
            match reserved {
                Ok(_) if happens => landed[network as usize] += 1,
                Ok(reservation) => counters.give_back(&reservation),
                Err(_) => {}
            }
        }
    }
}

//! Fairness, skew, the test between two samples, the search for the knee.

use rand::{SeedableRng as _, rngs::SmallRng};
use rookery_load::stats::{
    Bound, KneeSearch, Observed, Verdict, Zipf, jain_index, judge, mann_whitney, median, quantile,
};

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn jains_index_is_one_for_equals_and_one_nth_when_one_takes_all() {
    assert!(near(jain_index(&[3.0, 3.0, 3.0]).expect("shares"), 1.0));
    assert!(near(jain_index(&[9.0, 0.0, 0.0, 0.0]).expect("shares"), 0.25));
    // Two get twice as much as two others: 36 / (4 * 10).
    assert!(near(jain_index(&[1.0, 1.0, 2.0, 2.0]).expect("shares"), 0.9));
    assert_eq!(jain_index(&[]), None);
    assert_eq!(jain_index(&[0.0, 0.0]), None);
}

#[test]
fn quantiles_lie_between_the_nearest_values() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(quantile(&[1.0, 2.0], 1.0), Some(2.0));
    assert_eq!(median(&[]), None);
}

#[test]
fn zipf_draws_as_often_as_its_shares_say() {
    let zipf = Zipf::new(4, 1.0);
    let harmonic = 1.0 + 0.5 + 1.0 / 3.0 + 0.25;
    assert!(near(zipf.share(0), 1.0 / harmonic));
    assert!(near((0..4).map(|app| zipf.share(app)).sum(), 1.0));
    let mut random = SmallRng::seed_from_u64(7);
    let mut drawn = [0_u32; 4];
    for _ in 0..100_000 {
        drawn[zipf.draw(&mut random)] += 1;
    }
    for (app, count) in drawn.iter().enumerate() {
        let share = f64::from(*count) / 100_000.0;
        assert!((share - zipf.share(app)).abs() < 0.01, "{app}: {share}");
    }
    assert!(near(Zipf::new(5, 0.0).share(3), 0.2), "an exponent of 0 is uniform");
}

#[test]
fn the_exact_test_agrees_with_published_tables() {
    // Five against five without overlap: 2 of 252 splits.
    let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
    assert!(near(mann_whitney(&low, &high), 2.0 / 252.0));
    // Four against four, U = 1: 4 of 70.
    let (a, b) = ([1.0, 2.0, 3.0, 5.0], [4.0, 6.0, 7.0, 8.0]);
    assert!(near(mann_whitney(&a, &b), 4.0 / 70.0));
    // U = 2 for five against five is the two-sided 5% bound of the tables; U = 3 is beyond it.
    let within = mann_whitney(&[1.0, 2.0, 3.0, 4.0, 7.0], &[5.0, 6.0, 8.0, 9.0, 10.0]);
    let beyond = mann_whitney(&[1.0, 2.0, 3.0, 4.0, 8.0], &[5.0, 6.0, 7.0, 9.0, 10.0]);
    assert!(within <= 0.05 && beyond > 0.05, "{within} and {beyond}");
    assert!(near(within, 8.0 / 252.0) && near(beyond, 14.0 / 252.0), "{within} and {beyond}");
    assert!(near(mann_whitney(&low, &low), 1.0));
    // Beyond the exact sizes the approximation takes over, and still tells these apart.
    let (many, more): (Vec<f64>, Vec<f64>) =
        ((0..30).map(f64::from).collect(), (20..50).map(f64::from).collect());
    let p = mann_whitney(&many, &more);
    assert!(p < 1e-6 && p > 0.0, "{p}");
}

#[test]
fn a_change_is_judged_by_its_direction_its_size_and_its_noise() {
    let before = [100.0, 101.0, 99.0, 100.0, 102.0];
    let verdict =
        |after: &[f64], higher| judge(&before, after, higher, 0.02).expect("runs").verdict;
    let faster = [120.0, 121.0, 119.0, 122.0, 118.0];
    assert_eq!(verdict(&faster, true), Verdict::Better);
    assert_eq!(verdict(&faster, false), Verdict::Worse);
    // Real, but of no matter.
    let slightly = judge(&before, &[103.0, 103.5, 102.5, 103.2, 104.0], true, 0.05).expect("runs");
    assert_eq!(slightly.verdict, Verdict::WithinNoise);
    assert!(slightly.p_value.is_some_and(|p| p <= 0.05));
    // Large, but no larger than what the runs differ by anyway.
    let noisy = judge(&before, &[60.0, 150.0, 110.0, 95.0, 130.0], true, 0.02).expect("runs");
    assert_eq!(noisy.verdict, Verdict::WithinNoise);
    assert!(noisy.noise > noisy.change.abs());
    assert_eq!(verdict(&[150.0, 151.0, 152.0], true), Verdict::TooFewRuns);
    assert_eq!(judge(&[], &before, true, 0.02), None);
    // Nothing ever failed, in both: no change, whatever the unit.
    let zeros = [0.0; 5];
    assert_eq!(judge(&zeros, &zeros, false, 0.02).expect("runs").verdict, Verdict::WithinNoise);
}

/// A service that keeps its bound up to `knee` requests a second.
fn search_of(knee: f64, start: f64) -> KneeSearch {
    let mut search = KneeSearch::new(Bound { p99_us: 50_000, errors: 0.001 }, start);
    while let Some(rate) = search.next_rate() {
        let p99_us = if rate <= knee { 5_000 } else { 400_000 };
        search.observe(Observed { p99_us, errors: 0.0, throughput: rate.min(knee) });
    }
    search
}

#[test]
fn the_search_ends_close_below_the_knee_wherever_it_starts() {
    for start in [10.0, 1_000.0, 90_000.0] {
        let search = search_of(12_345.0, start);
        let knee = search.knee().expect("a rate that held");
        assert!((12_345.0 / 1.05..=12_345.0).contains(&knee), "from {start}: {knee}");
        assert!(search.steps().len() <= 24);
    }
}

#[test]
fn the_search_names_the_bound_that_broke() {
    let search = search_of(1_500.0, 1_000.0);
    let steps = search.steps();
    assert_eq!(steps[0].broke, None);
    assert_eq!(steps[1].broke.as_deref(), Some("p99 400.0 ms, bound 50.0 ms"));
    let mut shedding = KneeSearch::new(Bound { p99_us: 50_000, errors: 0.001 }, 100.0);
    shedding.observe(Observed { p99_us: 1_000, errors: 0.25, throughput: 75.0 });
    assert_eq!(shedding.steps()[0].broke.as_deref(), Some("25.00% failed or dropped, bound 0.10%"));
    assert_eq!((shedding.knee(), shedding.next_rate()), (None, Some(50.0)));
}

#[test]
fn a_search_ends_though_every_rate_holds_or_none_does() {
    assert!(search_of(f64::MAX, 1.0).steps().len() <= 24);
    assert_eq!(search_of(0.0, 1_000.0).knee(), None);
}

//! The performance page's table.

use rookery_load::{
    load::Mode,
    result::{Better, Figure, Measurement},
    scenarios::sweep::sizes,
    suite::markdown,
};

use crate::result::{measured, result};

#[test]
fn the_table_shows_medians_spreads_and_shares_of_the_ceiling() {
    let case = |name: &str, throughput| Measurement {
        case: name.to_owned(),
        throughput,
        ..measured(Mode::Closed)
    };
    let mut suite = result();
    suite.measurements = vec![
        case("ceiling", 100_000.0),
        case("ceiling", 120_000.0),
        case("get", 90_000.0),
        case("get", 92_000.0),
        case("get", 94_500.0),
    ];
    suite.figures = vec![Figure {
        name: "get: share of ceiling".to_owned(),
        unit: "ratio".to_owned(),
        better: Better::Higher,
        values: vec![0.8, 0.9, 0.85],
    }];
    let table = markdown(&suite);
    assert!(table.contains("| ceiling | 110,000 1/s | 100,000 – 120,000 | 1 |"), "{table}");
    assert!(table.contains("| get | 92,000 1/s | 90,000 – 94,500 | 0.85 |"), "{table}");
    assert!(table.contains("2 CPUs") && table.contains("not for latency"), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), 3, "{table}");
}

#[test]
fn a_sweep_goes_up_by_tens_to_its_largest() {
    assert_eq!(sizes(100_000), [1, 10, 100, 1_000, 10_000, 100_000]);
    assert_eq!(sizes(250), [1, 10, 100, 250]);
    assert_eq!(sizes(1), [1]);
    assert_eq!(sizes(0), [1]);
}

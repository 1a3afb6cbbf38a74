//! Telling visitors apart, what counts as a view, and the days that are counted by.

use proptest::prelude::*;
use rookery_domain::{
    Timestamp,
    id::AppId,
    meters::{
        Window, date, day_of_hour, hour_of,
        sketch::{EXACT_MAX, VisitorSketch},
        start_of_hour,
        visit::{Country, Signs, is_view, referrer_host, visitor},
    },
};

/// Numbers without a pattern, the same in each run (splitmix64).
fn hashes() -> impl Iterator<Item = u64> {
    (1_u64..).map(|i| {
        let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[test]
fn few_visitors_are_counted_exactly_and_many_nearly() {
    let mut sketch = VisitorSketch::default();
    let mut sum = 0;
    for (before, hash) in hashes().take(100_000).enumerate() {
        let rose = sketch.see(hash);
        sum += rose;
        assert_eq!(sketch.see(hash), 0, "seen already");
        if before < EXACT_MAX {
            assert_eq!(rose, 1);
        }
        let (count, expected) = (sketch.count() as f64, (before + 1) as f64);
        assert_eq!(sketch.count(), sum);
        // Four standard errors.
        assert!((count - expected).abs() <= 0.052 * expected, "{count} of {expected}");
    }
    assert!(sketch.to_bytes().len() < 4_200);
}

#[test]
fn a_sketch_comes_back_from_its_bytes_and_nothing_else_does() {
    for many in [0, 1, EXACT_MAX, EXACT_MAX + 1, 5_000] {
        let mut sketch = VisitorSketch::default();
        for hash in hashes().take(many) {
            sketch.see(hash);
        }
        let bytes = sketch.to_bytes();
        let mut back = VisitorSketch::from_bytes(&bytes).expect("a sketch");
        assert_eq!(back.count(), sketch.count());
        for hash in hashes().skip(many).take(100) {
            assert_eq!(back.see(hash), sketch.see(hash), "it goes on as before");
        }
        if many > 0 {
            assert_eq!(VisitorSketch::from_bytes(&bytes[..bytes.len() - 1]), None);
        }
    }
    assert_eq!(VisitorSketch::from_bytes(&[]), None);
    assert_eq!(VisitorSketch::from_bytes(&[9]), None);
    assert_eq!(
        VisitorSketch::from_bytes(&[1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
        None
    );
}

proptest! {
    #[test]
    fn no_bytes_break_a_sketch(mut bytes: Vec<u8>, format in 0_u8..4, hash: u64) {
        bytes.insert(0, format);
        if let Some(mut sketch) = VisitorSketch::from_bytes(&bytes) {
            prop_assert!(sketch.see(hash) <= 1);
        }
    }
}

#[test]
fn a_visitor_differs_by_day_app_network_and_browser_and_by_nothing_else() {
    let (app, other) = (AppId::new(), AppId::new());
    let ada = visitor(&[1; 32], app, &[10, 0, 0, 1], b"Firefox");
    assert_eq!(ada, visitor(&[1; 32], app, &[10, 0, 0, 1], b"Firefox"));
    for stranger in [
        visitor(&[2; 32], app, &[10, 0, 0, 1], b"Firefox"),
        visitor(&[1; 32], other, &[10, 0, 0, 1], b"Firefox"),
        visitor(&[1; 32], app, &[10, 0, 0, 2], b"Firefox"),
        visitor(&[1; 32], app, &[10, 0, 0, 1], b"Chrome"),
        visitor(&[1; 32], app, &[10, 0, 0], b"\x01Firefox"),
    ] {
        assert_ne!(ada, stranger);
    }
}

#[test]
fn a_view_is_what_somebody_looks_at() {
    let plain = Signs { user_agent: Some("Mozilla/5.0"), ..Signs::default() };
    assert!(is_view(Signs::default()) && is_view(plain));
    assert!(is_view(Signs { destination: Some("document"), ..plain }));
    assert!(is_view(Signs { destination: Some("iframe"), ..plain }));
    assert!(!is_view(Signs { destination: Some("empty"), ..plain }));
    assert!(!is_view(Signs { purpose: Some("prefetch;prerender"), ..plain }));
    assert!(!is_view(Signs { user_agent: Some("GoogleBot/2.1"), ..plain }));
    let phone = "Mozilla/5.0 (Linux; Android 10; CUBOT X30) AppleWebKit/537.36";
    assert!(is_view(Signs { user_agent: Some(phone), ..plain }));
}

#[test]
fn a_referrer_is_a_host_and_a_country_two_letters() {
    for (referrer, host) in [
        ("https://News.Example:8443/a?b=c#d", Some("news.example")),
        ("http://192.0.2.1/", Some("192.0.2.1")),
        ("https://me.example/", None),
        ("https://ME.example:1/x", None),
        ("android-app://com.example", None),
        ("javascript:alert(1)", None),
        ("news.example", None),
        ("", None),
    ] {
        assert_eq!(referrer_host(referrer, Some("me.example")).as_deref(), host, "{referrer}");
    }
    assert!(referrer_host("https://me.example/", None).is_some());
    let long = format!("https://{}example/", "label.".repeat(60));
    assert_eq!(referrer_host(&long, None), None);
    for (text, country) in [
        ("DE", Some("DE")),
        (" se ", Some("SE")),
        ("XX", None),
        ("T1", None),
        ("DEU", None),
        ("", None),
    ] {
        assert_eq!(Country::parse(text).map(|c| c.to_string()).as_deref(), country, "{text:?}");
    }
}

#[test]
fn hours_days_and_months_are_those_of_utc() {
    // 2024-02-29T23:59:59.999999Z
    let now = Timestamp(1_709_251_199_999_999);
    let hour = hour_of(now);
    assert_eq!(start_of_hour(hour).to_string(), "2024-02-29T23:00:00.000Z");
    assert_eq!(date(day_of_hour(hour)), "2024-02-29");
    assert_eq!(date(day_of_hour(hour_of(Timestamp(now.0 + 1)))), "2024-03-01");
    let month = Window::month_to_date(now);
    assert_eq!((date(month.first), month.days().count()), ("2024-02-01".to_owned(), 29));
    let week = Window::ending(now, 7);
    assert_eq!((date(week.first), week.days().count()), ("2024-02-23".to_owned(), 7));
    assert_eq!(week.end_hour() - week.first_hour(), 7 * 24);
    assert_eq!(Window::ending(now, 0), Window::ending(now, 1));
}

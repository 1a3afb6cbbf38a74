//! `traceparent`: what counts as one (W3C Trace Context, 3.2).

use rookery_domain::trace::TraceParent;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

#[test]
fn a_well_formed_trace_parent_is_read() {
    let parent = TraceParent::parse(&format!("00-{TRACE}-{CALLER}-01")).unwrap();
    assert_eq!((parent.trace.to_string(), parent.span.to_string()), (TRACE.into(), CALLER.into()));
    assert!(parent.sampled);
    for (flags, sampled) in [("00", false), ("02", false), ("03", true)] {
        let parent = TraceParent::parse(&format!("00-{TRACE}-{CALLER}-{flags}")).unwrap();
        assert_eq!(parent.sampled, sampled, "only the lowest bit says so");
    }
}

#[test]
fn a_later_version_may_say_more() {
    assert!(TraceParent::parse(&format!("01-{TRACE}-{CALLER}-01-more")).is_some());
    assert!(TraceParent::parse(&format!("cc-{TRACE}-{CALLER}-01")).is_some());
}

#[test]
fn what_is_not_well_formed_is_none() {
    let zero = "0".repeat(32);
    for wrong in [
        String::new(),
        format!("ff-{TRACE}-{CALLER}-01"),
        format!("00-{TRACE}-{CALLER}-01-more"),
        format!("00-{zero}-{CALLER}-01"),
        format!("00-{TRACE}-{}-01", &zero[..16]),
        format!("00-{}-{CALLER}-01", TRACE.to_uppercase()),
        format!("00-{TRACE}-{CALLER}-0g"),
        format!("00-{TRACE}-{CALLER}"),
        format!("0-{TRACE}-{CALLER}-01"),
        format!("00-{TRACE}é-{CALLER}-01"),
    ] {
        assert_eq!(TraceParent::parse(&wrong), None, "{wrong}");
    }
}

//! The newest events in memory: they come whole, in order and without a gap, or not at all, and
//! their number and content are bounded.

use std::sync::Arc;

use proptest::prelude::*;
use rookery_actors::testing::TailBox;
use rookery_domain::{
    Principal, Timestamp,
    event::{Event, EventType},
};

/// The bounds that the tail promises.
const EVENTS_MAX: usize = 128;
const BYTES_MAX: usize = 16 << 10;

fn event(seq: u64, bytes: usize) -> Arc<Event> {
    Arc::new(Event {
        seq,
        kind: EventType::RowCreated,
        at: Timestamp(0),
        by: Principal::SYSTEM,
        change: None,
        data: Some("x".repeat(bytes).into()),
        silent: false,
    })
}

fn held(tail: &TailBox, newest: u64) -> usize {
    (0..=newest).rev().take_while(|seq| tail.after(*seq).is_some()).count() - 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_it_gives_is_whole(
        first in 1..1_000u64,
        sizes in proptest::collection::vec(
            prop_oneof![20 => 0..300usize, 1 => 5_000..40_000usize], 1..400,
        ),
    ) {
        let mut tail = TailBox::default();
        let mut pushed = Vec::new();
        for (seq, bytes) in (first..).zip(sizes) {
            let before = tail.clone();
            let known = before.after(seq - 1);
            pushed.push(event(seq, bytes));
            tail.push(pushed[pushed.len() - 1].clone());
            prop_assert_eq!(before.after(seq - 1), known, "a clone changed");

            let held = held(&tail, seq);
            prop_assert!((1..=EVENTS_MAX).contains(&held), "{held} events are held");
            let expected = &pushed[pushed.len() - held..];
            prop_assert_eq!(&tail.after(seq - held as u64).expect("held")[..], expected);
            prop_assert_eq!(tail.after(seq), Some(vec![]), "nothing is newer than the newest");
            let content: usize =
                expected.iter().map(|event| event.data.as_ref().map_or(0, |data| data.len())).sum();
            prop_assert_eq!(tail.bytes(), content);
            prop_assert!(content <= BYTES_MAX || held == 1, "{held} events of {content} bytes");
        }
    }
}

#[test]
fn many_small_events_are_half_of_the_bound_at_least() {
    let mut tail = TailBox::default();
    for seq in 1..=1_000 {
        tail.push(event(seq, 40));
        let least = seq.min(EVENTS_MAX as u64 / 2) as usize;
        assert!(held(&tail, seq) >= least, "after {seq} events");
    }
    tail.clear();
    assert_eq!(tail.after(1_000), None, "what was purged is not found here");
    assert_eq!(tail.bytes(), 0);
}

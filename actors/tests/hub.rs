//! The hub: nobody who registered before a publication misses it, however large the crowd.

use std::time::Duration;

use rookery_actors::testing::HubBox;
use rookery_testkit::until;

use crate::support::paused;

#[test]
fn everybody_in_a_crowd_is_woken() {
    paused().block_on(async {
        for crowd in [1, 64, 65, 1_000] {
            let hub = HubBox::default();
            let waiting: Vec<_> = (0..crowd).map(|_| hub.next()).collect();
            hub.wake();
            for waiter in waiting {
                waiter.await.expect("it is woken");
            }
        }
    });
}

#[test]
fn a_crowd_is_woken_a_moment_later_in_slices_with_room_for_others_between_them() {
    paused().block_on(async {
        let hub = HubBox::default();
        let mut waiting: Vec<_> = (0..200).map(|_| hub.next()).collect();
        hub.wake();
        tokio::task::yield_now().await;
        let early = waiting.iter_mut().filter_map(|waiter| waiter.try_recv().ok()).count();
        assert_eq!(early, 0, "the cause's own answer goes first");
        tokio::time::advance(Duration::from_millis(2)).await;
        tokio::task::yield_now().await;
        let woken = waiting.iter_mut().filter_map(|waiter| waiter.try_recv().ok()).count();
        assert!((1..200).contains(&woken), "{woken} at once");
        until("the whole crowd is woken", || {
            waiting.iter_mut().filter_map(|waiter| waiter.try_recv().ok()).count() == 0
        })
        .await;
    });
}

#[test]
fn who_registers_after_a_publication_waits_for_the_next() {
    paused().block_on(async {
        let hub = HubBox::default();
        hub.wake();
        let mut late = hub.next();
        assert!(late.try_recv().is_err());
        hub.wake();
        late.await.expect("the next one wakes it");
    });
}

#[test]
fn followers_are_counted_while_they_are_there() {
    let hub = HubBox::default();
    let first = hub.enter();
    let second = hub.enter();
    assert_eq!(hub.present(), 2);
    drop(first);
    assert_eq!(hub.present(), 1);
    drop(second);
    assert_eq!(hub.present(), 0);
}

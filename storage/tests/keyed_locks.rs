//! Locks of keys: one holder at a time, whoever gives up.

use futures::FutureExt as _;
use rookery_storage::keyed_locks::KeyedLocks;

#[tokio::test]
async fn who_gives_up_leaves_the_key_to_the_next() {
    let locks = KeyedLocks::default();
    let first = locks.hold(1).await;
    // Each asks once, and gives up or has its lock.
    let mut given_up = Box::pin(locks.hold(1));
    let mut next = Box::pin(locks.hold(1));
    assert!((&mut given_up).now_or_never().is_none(), "another holds it");
    assert!((&mut next).now_or_never().is_none(), "another holds it");
    drop(locks.hold(2).await);
    drop(given_up);
    assert!((&mut next).now_or_never().is_none(), "the first one still holds it");
    drop(first);
    let held = next.await;
    assert!(locks.hold(1).now_or_never().is_none(), "the next one holds it");
    drop(held);
    assert_eq!(
        format!("{locks:?}"),
        format!("{:?}", KeyedLocks::<u8>::default()),
        "no entry stays"
    );
}

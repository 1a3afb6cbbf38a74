//! Permits for long jobs: who gets the next one, and that none is lost.

use std::{future::Future, pin::Pin, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use rookery_domain::{ErrorCode, Result};
use rookery_storage::offload::{Offload, Permit};

const PATIENCE: Duration = Duration::from_secs(30);

/// All permits that there are.
fn all(offload: &Offload) -> Vec<Permit> {
    (0..).map_while(|name: usize| offload.try_permit(name)).collect()
}

/// Somebody who waits in the turn of `whose` from now on.
fn waits<'a>(offload: &'a Offload, whose: &'a str) -> BoxFuture<'a, Result<Permit>> {
    let mut permit: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(offload.permit(whose));
    assert!((&mut permit).now_or_never().is_none(), "{whose} got a permit at once");
    permit
}

/// Whether the permit of `waiter` has come.
fn has_come(waiter: &mut BoxFuture<'_, Result<Permit>>) -> Option<Permit> {
    waiter.now_or_never().map(|permit| permit.expect("a permit"))
}

#[tokio::test]
async fn whoever_asks_once_is_next_but_one_however_often_others_ask() {
    let offload = Offload::new(PATIENCE);
    let mut held = all(&offload);
    let mut many: Vec<_> = (0..100).map(|_| waits(&offload, "many")).collect();
    let (mut one, mut other) = (waits(&offload, "one"), waits(&offload, "other"));
    let mut order = Vec::new();
    for _ in 0..4 {
        drop(held.pop());
        // Handed on: it is never free while somebody waits.
        assert!(offload.try_permit("another").is_none());
        let came = many.iter_mut().position(|waiter| {
            let permit = has_come(waiter);
            let came = permit.is_some();
            held.extend(permit);
            came
        });
        if let Some(at) = came {
            drop(many.remove(at));
            order.push(("many", at));
        }
        for (waiter, name) in [(&mut one, "one"), (&mut other, "other")] {
            if order.iter().any(|(came, _)| *came == name) {
                continue;
            }
            if let Some(permit) = has_come(waiter) {
                held.push(permit);
                order.push((name, 0));
            }
        }
    }
    // Of those who ask often the one who asked first.
    assert_eq!(order, [("many", 0), ("one", 0), ("other", 0), ("many", 0)]);
    assert_eq!(offload.waits().count, 98);
}

#[tokio::test]
async fn nobody_has_all_permits_and_who_has_as_many_as_may_be_keeps_nobody_waiting() {
    let offload = Offload::with_permits(3, PATIENCE);
    let mut held =
        vec![offload.permit("much").await.unwrap(), offload.permit("much").await.unwrap()];
    let mut third = waits(&offload, "much");
    assert!(offload.try_permit("much").is_none());
    // The last one is there at once, and comes back for whoever is next.
    for _ in 0..2 {
        drop(offload.permit("another").await.unwrap());
        assert!(has_come(&mut third).is_none(), "it has as many as it may");
    }
    let (last, mut other) = (offload.permit("another").await.unwrap(), waits(&offload, "other"));
    drop(held.pop());
    assert!(has_come(&mut third).is_none(), "others have none at all");
    let _others = has_come(&mut other).expect("a permit");
    drop(last);
    assert!(has_come(&mut third).is_some());
    let only = Offload::with_permits(1, PATIENCE);
    assert!(only.permit("a").now_or_never().is_some(), "where there is one it is anybody's");
}

#[tokio::test]
async fn whoever_had_the_only_permit_comes_after_others() {
    let offload = Offload::with_permits(1, PATIENCE);
    let first = offload.permit("many").await.unwrap();
    let (mut second, mut third) = (waits(&offload, "many"), waits(&offload, "many"));
    let mut one = waits(&offload, "one");
    drop(first);
    assert!(has_come(&mut second).is_none(), "it was many's turn just now");
    drop(has_come(&mut one).expect("a permit"));
    drop(has_come(&mut second).expect("a permit"));
    assert!(has_come(&mut third).is_some());
}

#[tokio::test]
async fn a_permit_goes_past_whoever_has_left() {
    let offload = Offload::new(PATIENCE);
    let mut held = all(&offload);
    let permits = held.len();
    let (left, mut stays) = (waits(&offload, "a"), waits(&offload, "b"));
    let (leaves_later, also) = (waits(&offload, "c"), waits(&offload, "c"));
    drop(left);
    assert_eq!(offload.waits().count, 3);
    drop(held.pop());
    held.push(has_come(&mut stays).expect("it is the turn of b"));
    // It was handed on, and whom it was handed to leaves without having looked.
    drop(held.pop());
    assert_eq!(offload.waits().count, 1);
    drop(leaves_later);
    assert_eq!(offload.waits().count, 0);
    drop(also);
    drop(held);
    assert_eq!(all(&offload).len(), permits);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_a_request() {
    let offload = Offload::new(PATIENCE);
    let held = all(&offload);
    let began = tokio::time::Instant::now();
    let (first, second) = tokio::join!(offload.permit("a"), async {
        tokio::time::advance(PATIENCE / 2).await;
        assert_eq!(offload.waits().longest, PATIENCE / 2);
        offload.permit("a").await
    });
    for refused in [first, second] {
        assert_eq!(refused.expect_err("all are held").code, ErrorCode::Unavailable);
    }
    assert_eq!(began.elapsed(), PATIENCE * 3 / 2);
    assert_eq!(offload.waits(), rookery_storage::offload::Waits::default());
    drop(held);
    assert!(offload.permit("a").await.is_ok());
}

#[tokio::test]
async fn so_many_wait_in_one_turn_and_no_more() {
    let offload = Offload::new(PATIENCE);
    let held = all(&offload);
    let mut crowd: Vec<_> = (0..8 << 10).map(|_| waits(&offload, "crowd")).collect();
    let refused = offload.permit("crowd").await.expect_err("too many wait");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    // Others have a turn of their own, and who leaves makes room.
    let mut other = waits(&offload, "other");
    drop(crowd.pop());
    crowd.push(waits(&offload, "crowd"));
    drop(held);
    assert!(has_come(&mut crowd[0]).is_some() && has_come(&mut other).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_jobs_run_at_once_than_there_are_permits_and_each_one_runs() {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    let offload = Offload::new(PATIENCE);
    let permits = all(&offload).len();
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (running, most) = (&*Box::leak(Box::new(running)), &*Box::leak(Box::new(most)));
    let jobs = (0..400_usize).map(|i| {
        let job = move || {
            most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::yield_now();
            running.fetch_sub(1, SeqCst);
            i
        };
        offload.run(i % 7, job)
    });
    let ended: Result<Vec<_>> = futures::future::join_all(jobs).await.into_iter().collect();
    assert_eq!(ended.expect("every job ends"), (0..400).collect::<Vec<_>>());
    assert!((1..=permits).contains(&most.load(SeqCst)));
    assert_eq!(all(&offload).len(), permits);
    let panicked = offload.run("a", || panic!("a job that panics")).await;
    assert_eq!(panicked.map(|()| "ended").expect_err("it panicked").code, ErrorCode::Internal);
    assert_eq!(all(&offload).len(), permits);
}

#[tokio::test]
async fn askers_of_one_name_take_turns_within_it() {
    let offload = Offload::new(PATIENCE);
    let mut held = all(&offload);
    let waits = |asker: &'static str| {
        let mut permit = Box::pin(offload.permit_for("owner", asker));
        assert!((&mut permit).now_or_never().is_none(), "{asker} got a permit at once");
        (asker, permit)
    };
    let crowd = ["stranger"; 50].into_iter().chain(["owner", "guest", "guest"]);
    let mut line: Vec<_> = crowd.map(waits).collect();
    // Whoever leaves counts for no turn.
    line.pop();
    let mut order = Vec::new();
    for _ in 0..5 {
        drop(held.pop());
        let came = line.iter_mut().enumerate().find_map(|(at, (asker, permit))| {
            permit.now_or_never().map(|permit| (at, *asker, permit.expect("a permit")))
        });
        let (at, asker, permit) = came.expect("it was handed on");
        drop(line.remove(at));
        held.push(permit);
        order.push(asker);
    }
    assert_eq!(order, ["stranger", "owner", "guest", "stranger", "stranger"]);
    assert_eq!(offload.waits().count, 47);
}

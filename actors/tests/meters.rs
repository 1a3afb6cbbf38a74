//! Counting while it is rolled up: nothing is lost, and memory stays bounded.

use rookery_actors::{RuntimeOptions, SlotState, meters::PageView, testing::MetersBox};
use rookery_domain::meters::{Flow, Flows, Window};
use rookery_storage::{faults::Faults, meters::roll_up::Source};

use crate::support::{NOW, asleep, real::House};

const TASKS: u64 = 4;
const EACH: u64 = 20_000;
/// More than are told apart between two roll-ups.
const VISITORS: u64 = 12_000;
const PLACES: u64 = 2_500;

async fn totals(house: &House, app: &rookery_actors::AppHandle) -> Flows {
    let window = Window::ending(house.clock.now(), 2);
    let mut sum = Flows::default();
    for (_, flows) in house.runtime.control().usage(app, window).await.unwrap() {
        sum += flows;
    }
    sum
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_counted_while_it_is_rolled_up_is_never_lost() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    let before = totals(&house, &app).await;
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let (app, clock) = (app.clone(), house.clock.clone());
        tasks.push(tokio::spawn(async move {
            for i in 0..EACH {
                app.count_use(Flow::Requests, 1);
                app.count_use(Flow::BytesOut, 3);
                if task == 0 && i % 5_000 == 0 {
                    // The turn of an hour meets additions and roll-ups.
                    clock.set(clock.now().plus_seconds(3_600));
                }
                if i % 500 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }));
    }
    for _ in 0..50 {
        totals(&house, &app).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    let after = totals(&house, &app).await;
    assert_eq!(after.requests - before.requests, TASKS * EACH);
    assert_eq!(after.bytes_out - before.bytes_out, 3 * TASKS * EACH);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_counted_whole_and_wakes_nothing() {
    let idle =
        RuntimeOptions { idle_after: std::time::Duration::ZERO, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), idle).await;
    let app = house.app("notes").await;
    asleep(&app).await;
    for i in 0..VISITORS {
        let referrer = Some(format!("site-{}.example", i % PLACES).into());
        let network = i.to_be_bytes();
        let source = Source { country: None, referrer };
        let view = PageView { network: &network, user_agent: b"browser", source };
        house.runtime.control().count_view(&app, view).await;
    }
    let found = house.runtime.control().analytics(&app, Window::ending(NOW, 1)).await.unwrap();
    assert_eq!(found.page_views, VISITORS);
    assert!((1_000..=VISITORS + 700).contains(&found.visitors), "{}", found.visitors);
    let listed: u64 = found.referrers.iter().map(|one| one.page_views).sum();
    assert_eq!((listed, found.referrers.len()), (VISITORS, 101));
    assert_eq!(app.state(), SlotState::Dormant);
    house.close().await;
}

#[test]
fn what_is_counted_while_storage_fails_stays_within_its_bounds() {
    let meters = MetersBox::default();
    let mut counted = 0;
    for round in 0..4 {
        // Taken out by a roll-up that fails, while as much again comes in.
        let taken = meters.take();
        for i in 0..VISITORS {
            let place = format!("site-{round}-{}.example", i % PLACES);
            let source = Source { country: None, referrer: Some(place.into()) };
            meters.view(7, round * VISITORS + i, source);
            counted += 1;
        }
        meters.give_back(taken);
    }
    let held = meters.take();
    assert_eq!(held.views.iter().map(|views| views.count).sum::<u64>(), counted);
    // One more for all others.
    assert!(held.views.len() <= 2_001, "{}", held.views.len());
    assert_eq!(held.visits.len(), 10_000);
    assert!(held.visits.iter().all(|visit| visit.visitor < VISITORS), "who came first stays");
}

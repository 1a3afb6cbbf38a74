//! A decision that takes long holds up its own app, and nothing else on its thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::available_parallelism,
};

use rookery_actors::{
    AppHandle,
    app::message::{AppOp, NewRow, Op, Reply, WriteRow},
};
use rookery_domain::ErrorCode;
use rookery_storage::faults::Faults;
use rookery_testkit::until;
use serde_json::json;

use crate::support::{Bench, Fate, object, real::House, record};

/// Branches that each item of a row is held against.
const BRANCHES: usize = 600;
/// Items of a row: 62 KB of text.
const ITEMS: usize = 31_000;
/// More rows than can be checked in the time that a batch has.
const ROWS: usize = 60;
/// More first rows than can be checked in the time that a deployment has.
const FIRST_ROWS: usize = 3 * ROWS;
/// Turns of another task that are many more than can fall beside the decision.
const TURNS: usize = 1_000;

/// A schema that is admitted and slow: no item is the first of its branches, nor the next.
fn manifest() -> String {
    let branches: Vec<_> = (1..=BRANCHES).map(|n| json!({"const": n})).chain([json!({})]).collect();
    json!({
        "collections": {"entries": {
            "schema": {"$ref": "#/$defs/Entry"},
            "permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"]},
        }},
        "$defs": {"Entry": {"type": "object", "properties": {
            "list": {"type": "array", "items": {"oneOf": branches}},
        }}},
    })
    .to_string()
}

fn batch() -> Op {
    let data = json!({"list": vec![0; ITEMS]}).to_string();
    let row = |n| {
        let data = object(&data);
        WriteRow::Create(NewRow { key: Some(format!("k{n}").into()), data })
    };
    Op::BatchWrite {
        collection: "entries".into(),
        items: (0..ROWS).map(row).collect(),
        atomic: false,
        challenge: None,
    }
}

/// A batch that is decided aside for the number of its entries, and quickly.
fn wide_batch() -> Op {
    let row =
        |n| WriteRow::Create(NewRow { key: Some(format!("k{n}").into()), data: object("{}") });
    Op::BatchWrite {
        collection: "entries".into(),
        items: (0..64).map(row).collect(),
        atomic: false,
        challenge: None,
    }
}

#[tokio::test]
async fn requests_that_wait_in_an_app_keep_no_place_that_others_need() {
    let bench = Bench::start().await;
    let (stuck, other) = (bench.app().await, bench.app().await);
    stuck.wake().await.expect("it wakes");
    other.wake().await.expect("it wakes");
    bench.store.hold();
    let send = |app: &AppHandle, op: Op| {
        let (app, caller) = (app.clone(), bench.caller.clone());
        tokio::spawn(async move { app.apply(caller, op).await })
    };
    // It has a group to itself, so whatever comes behind it waits in the actor.
    let alone = send(&stuck, Op::App(AppOp::Delete));
    until("a group with the writer", || bench.store.held() == 1).await;
    let alone = (alone, send(&stuck, Op::App(AppOp::Restore)));
    until("two in the queue", || stuck.observe().queued == 2).await;
    let more_than_permits = 2 + available_parallelism().map_or(2, usize::from);
    let waiting: Vec<_> = (0..more_than_permits).map(|_| send(&stuck, wide_batch())).collect();
    until("all in the queue", || stuck.observe().queued == 2 + more_than_permits).await;

    let elsewhere = send(&other, wide_batch());
    until("the other app's group", || bench.store.held() == 2).await;
    bench.store.go_on();
    while bench.store.end(Fate::Commit) {}
    elsewhere.await.expect("no panic").expect("another app has permits");
    for request in [alone.0, alone.1].into_iter().chain(waiting) {
        request.await.expect("no panic").expect("it goes on when the app does");
    }
}

/// What an app with the slow schema answers to `op`, and how many turns another task of its thread had
/// meanwhile.
async fn beside(op: Op, bytes: usize) -> (usize, Reply) {
    let bench = Bench::start().await;
    let record = record(bench.owner);
    let id = record.id;
    bench.store.deploy(record, &manifest());
    let app = bench.rig.apps.by_id(id).await.expect("it was deployed");
    app.wake().await.expect("it wakes");

    let caller = bench.caller.clone();
    turns_beside(async move { app.apply_with(caller, op, None, bytes).await.expect("an answer") })
        .await
}

/// What comes of `work`, and how many turns another task of its thread had meanwhile.
async fn turns_beside<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> (usize, T) {
    let (turns, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let beside = tokio::spawn({
        let (turns, over) = (turns.clone(), over.clone());
        async move {
            while !over.load(Ordering::Relaxed) {
                turns.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let done = tokio::spawn(work).await.expect("no panic");
    over.store(true, Ordering::Relaxed);
    beside.await.expect("no panic");
    (turns.load(Ordering::Relaxed), done)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_first_rows_leave_the_thread_to_others_and_are_refused_in_time() {
    let house = House::open(Faults::default()).await;
    let data = object(&json!({"list": vec![0; ITEMS]}).to_string());
    let mut request = house.request("notes", &manifest());
    let row = NewRow { key: None, data };
    request.input_data.insert("entries".to_owned(), vec![row; FIRST_ROWS]);
    let control = house.runtime.control().clone();
    let (turns, created) = turns_beside(async move { control.create(request).await }).await;
    assert!(turns > TURNS, "another task of the thread had {turns} turns");
    let refused = created.expect_err("they take more than a deployment may");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_short_row_of_a_slow_schema_leaves_the_thread_to_others() {
    let data = object(&json!({"list": vec![0; 1_900]}).to_string());
    let item = NewRow { key: None, data };
    let op = Op::Create { collection: "entries".into(), item, challenge: None };
    let (turns, reply) = beside(op, 3_900).await;
    assert!(turns > TURNS, "another task of the thread had {turns} turns");
    assert!(matches!(reply, Reply::Row(_)), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_slow_batch_leaves_the_thread_to_others_and_ends_in_time() {
    let (turns, reply) = beside(batch(), ROWS * ITEMS * 2).await;
    assert!(turns > TURNS, "another task of the thread had {turns} turns");
    let Reply::Batch(results) = reply else { panic!("another answer: {reply:?}") };
    assert_eq!(results.len(), ROWS);
    let written = results.iter().take_while(|result| result.is_ok()).count();
    assert!(written > 0 && written < ROWS, "{written} rows were checked in time");
    for late in &results[written..] {
        let error = late.as_ref().expect_err("the time was over");
        assert_eq!(error.code, ErrorCode::Unavailable);
    }
}

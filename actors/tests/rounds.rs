//! Rounds of workers that have more to do than one of them does: none keeps anybody waiting for
//! ever, and the next one comes soon.

use std::sync::Arc;

use rookery_actors::{
    RuntimeOptions, WorkerKind,
    app::message::{AppOp, Op},
};
use rookery_domain::{
    app::{AppRecord, AppStatus},
    event::{Event, EventType},
    field_patch::FieldPatch,
    idempotency::{IdempotentRequest, KEPT_FOR_S, StoredResponse},
    limits::Limits,
    retention::RetentionPatch,
};
use rookery_storage::{commit::IdempotencyWrite, faults::Faults, retention};

use crate::support::{MANIFEST, NOW, create, delete, real::House, record};

/// Whether the last round of `kind` says that the next one comes soon.
fn has_more(house: &House, kind: WorkerKind) -> bool {
    let all = house.runtime.workers().observe();
    all.iter().find(|worker| worker.kind == kind).expect("each is there").more
}

/// What a round dealt with, and whether the next one comes soon.
async fn round(house: &House, kind: WorkerKind) -> (u64, bool) {
    let done = house.runtime.workers().run(kind).await.unwrap();
    (done, has_more(house, kind))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apps_that_cannot_be_loaded_keep_no_due_app_from_being_destroyed() {
    let house = House::open(Faults::default()).await;
    let due = || AppRecord {
        status: AppStatus::Deleted,
        deleted_at: Some(NOW),
        purge_at: Some(NOW),
        ..record(house.owner)
    };
    // As many as one round destroys.
    for _ in 0..100 {
        house.store(due(), "no manifest", Vec::new()).await;
    }
    house.store(due(), MANIFEST, Vec::new()).await;
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (0, true));
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (1, false));
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (0, true), "and round again");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apps_whose_trash_stays_full_keep_no_other_from_being_trimmed() {
    let limits =
        Limits { max_storage_bytes_per_app: 40, max_apps_per_account: 1_000, ..Limits::default() };
    let options = RuntimeOptions::default();
    let house = House::open_limited(Faults::default(), options, limits).await;
    // As many as one round trims.
    for _ in 0..100 {
        let full = record(house.owner);
        house.store(full.clone(), "no manifest", Vec::new()).await;
        house.commit(full.id, |group| group.totals.trashed_bytes = 41).await;
    }
    let app = house.app("notes").await;
    for key in ["a", "b"] {
        let long = create(key, r#"{"text":"20 characters, or so"}"#);
        app.apply(house.caller.clone(), long).await.unwrap();
        app.apply(house.caller.clone(), delete(key)).await.unwrap();
    }
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (0, true));
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (1, false));
    assert_eq!(app.root().await.unwrap().totals.trashed, 1);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_feeds_than_one_round_prunes_are_gone_through_one_after_another() {
    let options = RuntimeOptions { feed_retention_events: 0, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), options).await;
    for _ in 0..501 {
        let busy = record(house.owner);
        house.store(busy.clone(), MANIFEST, Vec::new()).await;
        let event = Event {
            seq: 1,
            kind: EventType::AppWoken,
            at: NOW,
            by: house.caller.principal(),
            change: None,
            data: None,
            silent: false,
        };
        house
            .commit(busy.id, |group| (group.seq, group.writes.events) = (1, vec![Arc::new(event)]))
            .await;
    }
    assert_eq!(round(&house, WorkerKind::FeedRetention).await, (500, true));
    assert_eq!(round(&house, WorkerKind::FeedRetention).await, (1, false));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_responses_than_one_round_forgets_go_in_the_next_one_soon() {
    let house = House::open(Faults::default()).await;
    let app = record(house.owner);
    house.store(app.clone(), MANIFEST, Vec::new()).await;
    let response = |number: u64| {
        let mut scope = [0; 32];
        scope[..8].copy_from_slice(&number.to_be_bytes());
        IdempotencyWrite {
            request: IdempotentRequest { scope, body_hash: [9; 32] },
            response: StoredResponse { status: 201, location: None, body: "{}".into() },
            by_key: true,
            created_at: NOW,
            seq: 0,
            collection: None,
            row_keys: [].into(),
        }
    };
    house
        .commit(app.id, |group| group.writes.idempotency = (0..10_001).map(response).collect())
        .await;
    house.clock.set(NOW.plus_seconds(KEPT_FOR_S));
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (0, true));
    assert_eq!(round(&house, WorkerKind::Sweeper).await, (0, false), "the rest of them");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_is_looked_at_for_retention_while_its_manifest_or_its_owner_bounds_rows() {
    let house = House::open(Faults::default()).await;
    let found = async || retention::bounded(&house.db, None, 10).await.unwrap().len();
    let manifest = |bounds: &str| {
        format!(
            r#"{{"collections": {{"entries": {{"permissions": {{"read": ["owner"],
                "write": ["owner"], "update": ["owner"], "delete": ["owner"],
                "countRead": ["owner"]}}{bounds}}}}}}}"#
        )
    };
    let (free, bounds) = (manifest(""), manifest(r#", "retention": {"maxRows": 9}"#));
    let app = house.app_with("free", &free).await;
    assert_eq!(found().await, 0);
    house.app_with("bounded", &bounds).await;
    assert_eq!(found().await, 1);
    for (text, expected) in [(&bounds, 2), (&free, 1)] {
        house.deploy(&app, text).await;
        assert_eq!(found().await, expected);
    }
    for (max_rows, expected) in [(FieldPatch::Set(9), 2), (FieldPatch::Clear, 1)] {
        let patch = RetentionPatch { max_age_days: FieldPatch::Keep, max_rows };
        let op = AppOp::Retention { collection: "entries".into(), patch };
        app.apply(house.caller.clone(), Op::App(op)).await.unwrap();
        assert_eq!(found().await, expected);
    }
    house.close().await;
}

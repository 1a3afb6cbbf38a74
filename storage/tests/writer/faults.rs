//! Faults at every step of a commit: whatever happens, a group is applied as a whole or not at
//! all, and nobody is told of a success that is not durable.

use std::fs;

use rookery_domain::{event::EventType, id::AppId, idempotency::KEPT_FOR_S};
use rookery_storage::{
    Db, LaneStatus, StorageError, StorageOptions, Writer, WriterOptions,
    commit::{Abort, AppWrite, Outcome, RowState},
    faults::{self, Fault, Faults, Point},
    idempotency,
    load::{LoadOptions, load_app},
};
use rookery_testkit::until;
use sqlx::Executor as _;
use tempfile::TempDir;

use super::kit::{Draft, Hold, deploy, load, picture, start, start_with};
use crate::support::{NOW, TestDb, contract, number, on_postgres, on_sqlite, row};

/// A group with something in every table.
async fn everything(test: &TestDb, app: AppId) -> Draft {
    let mut record = load(&test.db, app).await.record;
    record.timezone = "Asia/Tokyo".into();
    Draft::new(app, 1)
        .create(row("a", r#"{"n":1}"#))
        .row(EventType::RowCreated, RowState::Live, row("b", "{}"))
        .purge(row("c", "{}"))
        .extras(5)
        .response([6; 32], &["a"])
        .with(|group| group.writes.app_write = Some(Box::new(AppWrite::of(record))))
}

/// Breaks one commit there and checks that storage agrees with what was told.
async fn broken_at(test: &TestDb, point: Point, fault: Fault) -> Outcome {
    let app = deploy(test, &format!("{point:?}-{fault:?}").to_lowercase()).await;
    let faults = Faults::listed([(point, 1, fault)]);
    let writer = start_with(&test.db, faults).await;
    supervise(&writer);
    let before = picture(&load(&test.db, app).await);
    let outcome = everything(test, app).await.commit(&writer).await;
    // Before it has another connection.
    let health = writer.health();
    writer.barrier(app).await;
    // A broken store loads nothing more: what it holds is what the next start finds.
    let next = match outcome {
        Outcome::StoreBroken => Some(next_start(&test.db).await),
        _ => None,
    };
    let db = next.as_ref().map_or(&test.db, |(_, db)| db);
    let after = load(db, app).await;
    let response = idempotency::find(db, [6; 32], NOW).await.unwrap();
    let applied = picture(&after) != before;
    assert_eq!(response.is_some(), applied, "{point:?} {fault:?}");
    if applied {
        assert_eq!(after.head.last_seq, 4, "{point:?} {fault:?}");
        assert_eq!(after.live_rows().count(), 2);
        assert_eq!(after.tombstones.len(), 1);
        assert_eq!(after.tail.len(), 4);
        assert_eq!(after.budgets.len(), 1);
        assert_eq!(after.spent_challenges.len(), 1);
        assert_eq!(&*after.record.timezone, "Asia/Tokyo");
    }
    match outcome {
        Outcome::Committed => assert!(applied, "{point:?} {fault:?}: told and not there"),
        Outcome::Aborted(_) => assert!(!applied, "{point:?} {fault:?}: refused and there"),
        Outcome::Unknown | Outcome::StoreBroken => {}
    }
    let is_lost = matches!((&test.db, fault), (Db::Postgres(_), Fault::Lose))
        && outcome != Outcome::Committed;
    assert_eq!(health.unreachable, is_lost, "{point:?} {fault:?}");
    if matches!(test.db, Db::Postgres(_)) {
        let is_full = outcome == Outcome::Aborted(Abort::Full);
        assert_eq!(writer.health().out_of_space, is_full, "{point:?} {fault:?}");
    }
    if outcome != Outcome::StoreBroken {
        // The writer works on.
        let next = Draft::new(app, after.head.last_seq).create(row("z", "{}")).commit(&writer);
        assert_eq!(next.await, Outcome::Committed, "{point:?} {fault:?}");
        assert!(!writer.health().unreachable, "{point:?} {fault:?}");
        forget_responses(test).await;
    }
    outcome
}

/// The database as the next start finds it, from a copy of its files, and the folder of these.
async fn next_start(db: &Db) -> (TempDir, Db) {
    let Db::Sqlite(db) = db else { unreachable!("PostgreSQL is not broken by a connection") };
    let (from, to) = (db.path().parent().unwrap(), tempfile::tempdir().unwrap());
    for name in ["rookery.db", "rookery.db-wal"] {
        fs::copy(from.join(name), to.path().join(name)).unwrap();
    }
    let db = Db::connect(&StorageOptions::sqlite(to.path())).await.unwrap();
    (to, db)
}

/// Restarts dead lanes, as the supervisor does.
fn supervise(writer: &Writer) {
    let writer = writer.clone();
    tokio::spawn(async move {
        while let LaneStatus::Dead(_) = writer.failed().await {
            writer.restart().unwrap();
        }
    });
}

/// Forgets all responses, so that every round starts from none.
async fn forget_responses(test: &TestDb) {
    let later = NOW.plus_seconds(2 * KEPT_FOR_S);
    idempotency::forget_expired(&test.db, later).await.unwrap();
}

contract! {
    async fn a_refused_statement_leaves_all_or_nothing(test: &TestDb) {
        for point in Point::ALL {
            broken_at(test, point, Fault::Refuse).await;
        }
    }

    async fn a_full_disk_leaves_all_or_nothing_and_the_writer_lives_on(test: &TestDb) {
        for point in Point::ALL {
            let outcome = broken_at(test, point, Fault::Full).await;
            assert_ne!(outcome, Outcome::Unknown, "{point:?}");
        }
    }

    async fn a_lost_connection_leaves_all_or_nothing(test: &TestDb) {
        // At COMMIT last: SQLite writes nothing any more once it does not know what it wrote.
        let others = Point::ALL.into_iter().filter(|point| *point != Point::AtCommit);
        for point in others.chain([Point::AtCommit]) {
            broken_at(test, point, Fault::Lose).await;
        }
    }

    async fn a_panic_leaves_all_or_nothing_and_a_restarted_lane_goes_on(test: &TestDb) {
        for point in Point::ALL {
            broken_at(test, point, Fault::Panic).await;
        }
    }

    async fn a_failed_fsync_ends_all_writing(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let faults = Faults::listed([(Point::AtCommit, 1, Fault::Fsync)]);
        let writer = start_with(&test.db, faults).await;
        let outcome = Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(outcome, Outcome::StoreBroken);
        // What it holds now may be what no later start finds.
        let options = LoadOptions { now: NOW, tail_events: 10 };
        let refused = load_app(&test.db, app, options).await;
        assert!(matches!(refused, Err(StorageError::Aborted(_))));
        assert!(matches!(writer.failed().await, LaneStatus::Broken(_)));
        writer.restart().unwrap();
        let late = Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(late, Outcome::StoreBroken);
        let health = writer.health();
        assert!(health.broken && !health.ok);
        writer.barrier(app).await;
    }

    async fn a_failed_fsync_of_a_cold_transaction_ends_all_writing(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start_with(&test.db, Faults::default()).await;
        let before = Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(before, Outcome::Committed);
        let broken = faults::break_transaction(&test.db).await;
        assert!(matches!(broken, Err(StorageError::Broken(_))));
        assert!(matches!(writer.failed().await, LaneStatus::Broken(_)));
        assert!(writer.health().broken);
        let late = Draft::new(app, 2).create(row("b", "{}")).commit(&writer).await;
        assert_eq!(late, Outcome::StoreBroken);
        let cold = test.db.next_epoch().await;
        assert!(matches!(cold, Err(StorageError::Broken(_))), "{cold:?}");
    }

    async fn groups_that_wait_behind_a_dead_lane_are_committed_by_its_successor(test: &TestDb) {
        let (first, second) = (deploy(test, "one").await, deploy(test, "two").await);
        let faults = Faults::listed([(Point::BeforeBegin, 1, Fault::Panic)]);
        let writer = start_with(&test.db, faults).await;
        let dies = Draft::new(first, 1).create(row("a", "{}")).commit(&writer).await;
        assert!(matches!(dies, Outcome::Aborted(_)));
        assert!(matches!(writer.failed().await, LaneStatus::Dead(_)));
        assert_eq!(writer.health().dead_lanes, 1);
        let again = Draft::new(first, 1).create(row("a", "{}")).submit(&writer);
        let other = Draft::new(second, 1).create(row("a", "{}")).submit(&writer);
        writer.restart().unwrap();
        assert_eq!(again.await, Ok(Outcome::Committed));
        assert_eq!(other.await, Ok(Outcome::Committed));
        let health = writer.health();
        assert!(health.ok);
        assert_eq!(health.restarts, 1);
    }

    async fn a_drain_settles_what_waits_behind_a_dead_lane(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let faults = Faults::listed([(Point::BeforeBegin, 1, Fault::Panic)]);
        let writer = start_with(&test.db, faults).await;
        Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
        writer.failed().await;
        let waits = Draft::new(app, 1).create(row("a", "{}")).submit(&writer);
        writer.drain().await;
        assert!(matches!(waits.await, Ok(Outcome::Aborted(_))));
    }

    async fn seeded_faults_never_lose_an_acknowledged_row(test: &TestDb) {
        let faults = vec![Fault::Refuse, Fault::Full, Fault::Panic];
        for seed in 0..6 {
            let app = deploy(test, &format!("seed-{seed}")).await;
            let plan = Faults::seeded(seed, 12, faults.clone());
            let writer = start_with(&test.db, plan.clone()).await;
            supervise(&writer);
            let (mut seq, mut told) = (1, Vec::new());
            for step in 0..60 {
                let key = format!("k{step:03}");
                let outcome = Draft::new(app, seq).create(row(&key, "{}")).commit(&writer).await;
                if outcome == Outcome::Committed {
                    told.push(key);
                }
                // What an actor does that is killed by an unknown outcome: it reads the truth.
                writer.barrier(app).await;
                seq = load(&test.db, app).await.head.last_seq;
            }
            assert!(plan.fired() > 0);
            let loaded = load(&test.db, app).await;
            let stored: Vec<_> = loaded.live_rows().map(|row| row.key().to_string()).collect();
            assert!(!told.is_empty(), "seed {seed}");
            assert!(told.iter().all(|key| stored.contains(key)), "seed {seed}");
            assert_eq!(loaded.tail.len() as u64, loaded.head.last_seq);
            assert_eq!(stored.len() as u64, loaded.head.last_seq - 1);
        }
        // A writer without faults finds everything in order.
        let app = deploy(test, "last").await;
        let writer = start(&test.db).await;
        assert_eq!(Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await, Outcome::Committed);
    }
}

#[test]
fn of_groups_tried_one_by_one_only_those_sent_have_an_unknown_outcome() {
    on_postgres(async |test| {
        let mut apps = Vec::new();
        for name in ["one", "two", "three"] {
            apps.push(deploy(test, name).await);
        }
        // The batch of two is refused as a whole; then the connection is lost with the first.
        let faults = Faults::listed([
            (Point::AtCommit, 2, Fault::Refuse),
            (Point::AtCommit, 3, Fault::Lose),
        ]);
        let options = WriterOptions { postgres_lanes: 1, faults, ..WriterOptions::default() };
        let epoch = test.db.next_epoch().await.unwrap();
        let writer = Writer::start(&test.db, epoch, options).unwrap();
        let hold = Hold::on(test, apps[0]).await;
        let first = Draft::new(apps[0], 1).create(row("a", "{}")).submit(&writer);
        until("a commit in flight", || writer.health().in_flight > 0).await;
        let second = Draft::new(apps[1], 1).create(row("a", "{}")).submit(&writer);
        let third = Draft::new(apps[2], 1).create(row("a", "{}")).submit(&writer);
        drop(hold);
        assert_eq!(first.await, Ok(Outcome::Committed));
        let (second, third) = (second.await.unwrap(), third.await.unwrap());
        assert_eq!(second, Outcome::Unknown);
        assert!(matches!(third, Outcome::Aborted(_)), "{third:?}");
        let again = Draft::new(apps[2], 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(again, Outcome::Committed);
    });
}

#[test]
fn a_lock_that_stops_every_group_is_not_waited_for_by_each() {
    const APPS: usize = 8;
    on_postgres(async |test| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let mut operator = postgres.connect().await.unwrap();
        let sql = "create sequence attempts;
                   create function locked() returns trigger language plpgsql as $$
                   begin
                       perform nextval('attempts');
                       raise exception 'canceling statement due to lock timeout'
                           using errcode = '55P03';
                   end $$;
                   create trigger locked before insert on rows for each row execute function locked()";
        operator.execute(sql).await.unwrap();
        let mut apps = Vec::new();
        for i in 0..=APPS {
            apps.push(deploy(test, &format!("app-{i}")).await);
        }
        let options = WriterOptions { postgres_lanes: 1, ..WriterOptions::default() };
        let epoch = test.db.next_epoch().await.unwrap();
        let writer = Writer::start(&test.db, epoch, options).unwrap();
        let hold = Hold::on(test, apps[0]).await;
        let first = Draft::new(apps[0], 1).create(row("a", "{}")).submit(&writer);
        until("a commit in flight", || writer.health().in_flight > 0).await;
        let create = |app| Draft::new(app, 1).create(row("a", "{}"));
        let plain: Vec<_> = apps[1..APPS].iter().map(|app| create(*app).submit(&writer)).collect();
        // It has a transaction of its own, after the others.
        let alone = Draft::new(apps[APPS], 1).purge(row("a", "{}")).submit(&writer);
        drop(hold);
        for told in std::iter::once(first).chain(plain).chain([alone]) {
            let outcome = told.await.unwrap();
            assert!(matches!(outcome, Outcome::Aborted(Abort::Refused(_))), "{outcome:?}");
        }
        // The first group, the batch of the others as a whole, and two of them.
        assert_eq!(number(&test.db, "select last_value from attempts").await, 4);

        operator.execute("drop trigger locked on rows").await.unwrap();
        for app in apps {
            assert_eq!(create(app).commit(&writer).await, Outcome::Committed);
        }
    });
}

#[test]
fn a_full_disk_has_the_log_moved_to_the_file_at_once() {
    on_sqlite(async |test| {
        let app = deploy(test, "notes").await;
        let writer =
            start_with(&test.db, Faults::listed([(Point::AtCommit, 2, Fault::Full)])).await;
        let first = Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(first, Outcome::Committed);
        let refused = Draft::new(app, 2).create(row("b", "{}")).commit(&writer).await;
        assert_eq!(refused, Outcome::Aborted(Abort::Full));
        assert!(writer.health().out_of_space, "though the log could be moved");
        // It is committed after what followed the refusal.
        let again = Draft::new(app, 2).create(row("b", "{}")).commit(&writer).await;
        assert_eq!(again, Outcome::Committed);
        assert_eq!(writer.health().checkpoints, 1, "long before its turn");
    });
}

#[test]
fn space_that_returns_to_a_full_disk_is_the_files_before_it_is_the_logs() {
    on_sqlite(async |test| {
        let app = deploy(test, "notes").await;
        let faults = Faults::listed([
            (Point::AtCommit, 2, Fault::Full),
            (Point::AtCheckpoint, 1, Fault::Full),
            (Point::AtCheckpoint, 2, Fault::Full),
        ]);
        let writer = start_with(&test.db, faults).await;
        let write =
            async |seq, key| Draft::new(app, seq).create(row(key, "{}")).commit(&writer).await;
        assert_eq!(write(1, "a").await, Outcome::Committed);
        assert_eq!(write(2, "b").await, Outcome::Aborted(Abort::Full));
        // The log would take this one, but the file has no room yet for what is in the log.
        assert_eq!(write(2, "b").await, Outcome::Aborted(Abort::Full));
        assert_eq!(writer.health().checkpoints, 0);
        assert!(writer.health().out_of_space);
        assert_eq!(write(2, "b").await, Outcome::Committed);
        until("it was full lately", || !writer.health().out_of_space).await;
        assert_eq!(writer.health().checkpoints, 1, "before the commit");
    });
}

//! Loading brings back what was written, in one picture, and survives a row that it cannot read.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rookery_domain::{
    Principal, PrincipalKind, app::AppStatus, budget::BudgetScope, event::EventType, id::AppId,
    row::Row, time::DAY_S,
};
use rookery_storage::{
    Db,
    apps::{self, AppHead, purge},
    commit::{AppWrite, Outcome, RowState, Totals},
    faults,
    load::{LoadOptions, LoadedRows, load_app},
};

use sqlx::AssertSqlSafe;

use super::kit::{Draft, ENTRIES, deploy, deploy_with, extra_counts, keys, load, mark, start};
use crate::support::{NOW, TestDb, contract, on_sqlite, row, writer};

/// Rows of an app that are worth a second thread.
const MANY: i64 = 400;
/// Loads beside somebody who changes the app.
const LOADS: usize = 200;

fn row_at(key: &str, seconds: i64) -> Arc<Row> {
    let mut row = Row::clone(&row(key, r#"{"text":"Grüße, 😀 \"quoted\" \\ \u00e9"}"#));
    row.created_at = NOW.plus_seconds(seconds);
    row.updated_at = NOW.plus_seconds(seconds + 1);
    row.version = 3;
    row.editor = Principal::new(PrincipalKind::Anonymous, uuid::Uuid::now_v7());
    Arc::new(row)
}

/// Damages a column of a stored row behind the service's back.
async fn damage(test: &TestDb, key: &str, column: &str) {
    let (what, how) = match (&test.db, column) {
        (Db::Sqlite(_), "creator") => (column, "x'00'"),
        (Db::Postgres(_), "creator") => (column, "'\\x00'"),
        _ => (column, "7"),
    };
    match &test.db {
        Db::Sqlite(db) => {
            let file = rusqlite::Connection::open(db.path()).unwrap();
            let sql = format!("update rows set {what} = {how} where key = ?1");
            assert_eq!(file.execute(&sql, [key]).unwrap(), 1);
        }
        Db::Postgres(db) => {
            let mut server = db.connect().await.unwrap();
            let sql = format!("update rows set {what} = {how} where key = $1");
            let done =
                sqlx::query(AssertSqlSafe(sql)).bind(key).execute(&mut server).await.unwrap();
            assert_eq!(done.rows_affected(), 1);
        }
    }
}

contract! {
    async fn a_row_is_as_it_was_written_last_whatever_it_was_before(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let states =
            |at| [RowState::Live, RowState::Trashed(at), RowState::Purged(at), RowState::Detached];
        let (mut first, mut second) = (Draft::new(app, 1), Draft::new(app, 17));
        for (from, before) in ('a'..).zip(states(NOW)) {
            for (to, after) in ('a'..).zip(states(NOW.plus_seconds(1))) {
                let key = format!("{from}{to}");
                first = first.row(EventType::RowCreated, before, row(&key, r#"{"n":1}"#));
                second = second.row(EventType::RowUpdated, after, row_at(&key, 0));
            }
        }
        let mut written = Vec::new();
        let second = second.with(|group| written.clone_from(&group.writes.rows));
        assert_eq!(first.commit(&writer).await, Outcome::Committed);
        assert_eq!(second.commit(&writer).await, Outcome::Committed);

        let loaded = load(&test.db, app).await;
        let (live, rest): (Vec<_>, Vec<_>) =
            written.iter().partition(|write| write.state == RowState::Live);
        assert!(loaded.live_rows().eq(live.iter().map(|write| &write.row)));
        let stored = loaded.tombstones.iter().map(|t| (&*t.key, t.version, t.state));
        assert!(stored.eq(rest.iter().map(|one| (one.row.key(), one.row.version, one.state))));
    }

    async fn a_load_equals_what_was_written(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let (late, early, same) = (row_at("late", 9), row_at("b", 1), row_at("a", 1));
        let (trashed, kept) = (row_at("trashed", 2), row_at("kept", 3));
        let draft = Draft::new(app, 1)
            .create(Arc::clone(&late))
            .create(Arc::clone(&early))
            .create(Arc::clone(&same))
            .row(EventType::RowDeleted, RowState::Trashed(NOW), Arc::clone(&trashed))
            .row(EventType::RowUpdated, RowState::Detached, Arc::clone(&kept))
            .event(EventType::Custom("ping".into()), None, Some(r#"{"x":1}"#))
            .event(EventType::AppWoken, None, None)
            .extras(4);
        let mut events = Vec::new();
        let draft = draft.with(|group| events.extend(group.writes.events.iter().cloned()));
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);

        let loaded = load(&test.db, app).await;
        assert_eq!(keys(&loaded), ["a", "b", "late"]);
        let rows = LoadedRows { collection: ENTRIES.into(), rows: vec![same, early, late] };
        assert_eq!(loaded.rows, [rows]);

        let states: Vec<_> =
            loaded.tombstones.iter().map(|t| (&*t.key, t.version, t.state, t.bytes)).collect();
        assert_eq!(
            states,
            [
                ("kept", 3, RowState::Detached, kept.stored_bytes()),
                ("trashed", 3, RowState::Trashed(NOW), trashed.stored_bytes()),
            ]
        );
        let totals =
            Totals { live: 7, trashed: 2, detached: 1, bytes: 4_711, trashed_bytes: 17 };
        assert_eq!((loaded.head.last_seq, loaded.head.floor_seq), (8, 0));
        assert_eq!(loaded.head.totals, totals);
        let head = AppHead { seq: 8, totals, collections: extra_counts().into() };
        assert_eq!(apps::head(&test.db, app).await.unwrap(), Some(head));
        assert_eq!(loaded.poison, []);
        assert_eq!(&*loaded.manifest, r#"{"collections":{}}"#);
        assert_eq!(loaded.budgets[0].scope, BudgetScope::Network(u64::MAX - 4));
        assert_eq!(loaded.spent_challenges[0].id, [4; 32]);

        // A delete keeps no content in the feed; everything else is as it was written.
        assert_eq!(loaded.tail.len(), 8);
        for (stored, written) in loaded.tail[1..].iter().zip(&events) {
            if written.kind == EventType::RowDeleted {
                assert_eq!(stored.change.as_ref().unwrap().row.data(), "");
            } else {
                assert_eq!(stored, written);
            }
        }
    }

    async fn budgets_and_challenges_that_no_longer_matter_stay_behind(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        Draft::new(app, 1).create(row("a", "{}")).extras(1).commit(&writer).await;
        for (days, budgets, challenges) in
            [(-3, 0, 1), (-2, 1, 1), (0, 1, 1), (1, 1, 0), (2, 0, 0)]
        {
            let now = NOW.plus_seconds(days * DAY_S);
            let options = LoadOptions { now, tail_events: 1 };
            let loaded = load_app(&test.db, app, options).await.unwrap().unwrap();
            assert_eq!((loaded.budgets.len(), loaded.spent_challenges.len()), (budgets, challenges));
            assert_eq!(loaded.tail.len(), 1);
            assert_eq!(loaded.tail[0].seq, 2);
        }
    }

    async fn a_row_that_cannot_be_read_is_set_aside_and_the_app_starts(test: &TestDb) {
        let rows = ["bad", "good", "lost"].map(|key| row(key, "{}"));
        let app = deploy_with(test, "notes", &rows).await;
        let writer = start(&test.db).await;
        let broken = Draft::new(app, 4).create(row("worse", r#"{"cut":"#));
        assert_eq!(broken.commit(&writer).await, Outcome::Committed);
        damage(test, "bad", "creator").await;
        damage(test, "lost", "state").await;
        let loaded = load(&test.db, app).await;
        assert_eq!(keys(&loaded), ["good"]);
        let poison: Vec<_> = loaded
            .poison
            .iter()
            .map(|row| (&*row.collection, &*row.key, row.version, row.bytes))
            .collect();
        let expected = [("bad", 5), ("lost", 6), ("worse", 12)];
        assert_eq!(poison, expected.map(|(key, bytes)| (ENTRIES, key, 1, bytes)));
    }

    async fn a_budget_that_cannot_be_read_begins_anew_and_the_app_starts(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let draft = Draft::new(app, 1).create(row("a", "{}")).extras(1);
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        assert_eq!(load(&test.db, app).await.budgets.len(), 1);
        assert!(faults::damage::budgets(&test.db, app).await.unwrap());
        let loaded = load(&test.db, app).await;
        assert_eq!((loaded.budgets.len(), loaded.spent_challenges.len()), (0, 1));
        assert_eq!(keys(&loaded), ["a"]);
    }

    async fn what_two_threads_share_is_loaded_as_by_one(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let mut draft = Draft::new(app, 1);
        let mut expected = [ENTRIES, "others"].map(|name| LoadedRows {
            collection: name.into(),
            rows: Vec::new(),
        });
        let (mut trashed, mut poison) = (Vec::new(), Vec::new());
        // In the order of keys; by creation they stand otherwise.
        for n in 0..MANY {
            let key = format!("k{n:03}");
            let collection = usize::from(n >= MANY / 4);
            if n % 10 == 3 {
                draft = draft.row(EventType::RowDeleted, RowState::Trashed(NOW), row(&key, "{}"));
                trashed.push(key);
            } else if n % 100 == 50 {
                draft = draft.create(row(&key, r#"{"cut":"#));
                poison.push(key);
            } else {
                let row = row_at(&key, n * 7 % MANY);
                draft = draft.create(Arc::clone(&row));
                expected[collection].rows.push(row);
            }
        }
        for of_collection in &mut expected {
            of_collection.rows.sort_by_key(|row| row.created_at);
        }
        let live = expected.iter().map(|of_collection| of_collection.rows.len() as u64).sum();
        let draft = draft.with(|group| {
            group.totals = Totals { live, trashed: trashed.len() as u64, ..Totals::default() };
            for (n, write) in group.writes.rows.iter_mut().enumerate() {
                write.collection = ["others", ENTRIES][usize::from(n < MANY as usize / 4)].into();
            }
        });
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);

        // With others beside it, a load finds no second thread.
        for loads in [1, 2, 9] {
            let loads = (0..loads).map(|_| load(&test.db, app));
            for loaded in futures::future::join_all(loads).await {
                assert_eq!(loaded.rows, expected);
                let keys: Vec<_> = loaded.tombstones.iter().map(|tomb| &*tomb.key).collect();
                assert_eq!(keys, trashed);
                let keys: Vec<_> = loaded.poison.iter().map(|row| &*row.key).collect();
                assert_eq!(keys, poison);
            }
        }
    }

    async fn an_app_that_is_purged_or_unknown_is_not_loaded(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer_handle = start(&test.db).await;
        let options = LoadOptions { now: NOW, tail_events: 1 };
        assert!(load_app(&test.db, AppId::new(), options).await.unwrap().is_none());
        let mut record = load(&test.db, app).await.record;
        record.status = AppStatus::Deleted;
        record.deleted_at = Some(NOW);
        let outcome = Draft::new(app, 1)
            .event(EventType::AppDeleted, None, None)
            .with(|group| {
                let write = AppWrite::of(record);
                group.writes.app_write = Some(Box::new(write));
            })
            .commit(&writer_handle)
            .await;
        assert_eq!(outcome, Outcome::Committed);
        assert_eq!(load(&test.db, app).await.record.status, AppStatus::Deleted);
        mark(&test.db, app).await;
        assert!(load_app(&test.db, app, options).await.unwrap().is_none());
        while purge::step(&test.db, app).await.unwrap() {}
        let late = Draft::new(app, 2).create(row("a", "{}")).commit(&start(&test.db).await).await;
        assert_eq!(late, Outcome::Aborted(rookery_storage::commit::Abort::Fenced));
        let _ = writer();
    }
}

/// Pruning an app's history takes rows of what was purged with it, also while the app is loaded.
#[test]
fn two_threads_never_show_an_app_at_two_moments() {
    on_sqlite(async |test: &TestDb| {
        let Db::Sqlite(db) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let rows = (0..MANY).map(|n| row(&format!("k{n:03}"), "{}"));
        let draft = rows.fold(Draft::new(app, 1), Draft::create).with(|group| {
            group.totals = Totals { live: MANY.unsigned_abs(), ..Totals::default() };
        });
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);

        let mut file = rusqlite::Connection::open(db.path()).unwrap();
        file.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
        let loaded = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&loaded);
        let changing = std::thread::spawn(move || {
            let mut moments = 1;
            while !done.load(Ordering::Acquire) {
                moments += 1;
                let change = file.transaction().unwrap();
                change.execute("update app_head set floor_seq = ?1", [moments]).unwrap();
                let sql = "update rows set version = ?1 where key in ('k000', 'k399')";
                assert_eq!(change.execute(sql, [moments]).unwrap(), 2);
                change.commit().unwrap();
            }
        });
        let mut torn = Vec::new();
        for _ in 0..LOADS {
            let loaded = load(&test.db, app).await;
            let rows = &loaded.rows[0].rows;
            let seen = [rows[0].version, rows[rows.len() - 1].version];
            if rows.len() != MANY as usize || seen[0] != seen[1] {
                torn.push((loaded.head.floor_seq, rows.len(), seen));
            }
        }
        loaded.store(true, Ordering::Release);
        changing.join().unwrap();
        assert_eq!(torn, []);
    });
}

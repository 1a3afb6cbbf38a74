//! Rows that are not served, and what a full disk does.

use rookery_domain::{event::EventType, time::STEP_BACK_S};
use rookery_storage::{
    StorageError,
    commit::{Abort, Outcome, RowState},
    faults, feed,
    trash::{self, DuePage, TrashCursor},
};
use rookery_testkit::until;

use super::kit::{Draft, ENTRIES, deploy, keys, load, start, start_with_pages};
use crate::support::{NOW, TestDb, contract, on_sqlite, row, spoil};

async fn with_trash(test: &TestDb) -> rookery_domain::id::AppId {
    let app = deploy(test, "notes").await;
    let writer = start(&test.db).await;
    let trashed = |seconds| RowState::Trashed(NOW.plus_seconds(seconds));
    let draft = Draft::new(app, 1)
        .create(row("live", "{}"))
        .row(EventType::RowDeleted, trashed(1), row("old", r#"{"n":1}"#))
        .row(EventType::RowDeleted, trashed(5), row("b", "{}"))
        .row(EventType::RowDeleted, trashed(5), row("a", "{}"))
        .row(EventType::RowUpdated, RowState::Detached, row("kept", r#"{"n":2}"#));
    assert_eq!(draft.commit(&writer).await, Outcome::Committed);
    app
}

fn names(rows: &[trash::TrashedRow]) -> Vec<&str> {
    rows.iter().map(|trashed| trashed.row.key()).collect()
}

fn due_keys(rows: &[trash::DueRow]) -> Vec<&str> {
    rows.iter().map(|due| &*due.place.key).collect()
}

contract! {
    async fn the_trash_is_listed_newest_first_page_by_page(test: &TestDb) {
        let app = with_trash(test).await;
        let db = &test.db;
        let page = trash::list(db, app, ENTRIES, None, 2).await.unwrap();
        let first = page.rows;
        assert_eq!(names(&first), ["b", "a"]);
        let last = TrashCursor { deleted_at: NOW.plus_seconds(5), key: "a".into() };
        assert_eq!((page.next, page.seq), (Some(last), 6));
        assert_eq!(first[0].deleted_at, NOW.plus_seconds(5));
        for (last, rest) in [(0, vec!["a", "old"]), (1, vec!["old"])] {
            let TrashCursor { deleted_at, key } = TrashCursor {
                deleted_at: first[last].deleted_at,
                key: first[last].row.key().into(),
            };
            let cursor = Some(TrashCursor { deleted_at, key });
            let page = trash::list(db, app, ENTRIES, cursor, rest.len() as u32).await.unwrap();
            assert_eq!((names(&page.rows), page.next), (rest, None));
        }
        let others = trash::list(db, app, "others", None, 9).await.unwrap();
        assert_eq!((others.rows, others.next), (vec![], None));
    }

    async fn a_page_of_the_trash_ends_with_its_bytes(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let (db, large) = (&test.db, format!(r#"{{"text":"{}"}}"#, "x".repeat(300_000)));
        let all = ["g", "f", "e", "d", "c", "b", "a"];
        let trashed = |draft: Draft, key: &&str| {
            draft.row(EventType::RowDeleted, RowState::Trashed(NOW), row(key, &large))
        };
        let draft = all.iter().fold(Draft::new(app, 1), trashed);
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let (mut cursor, mut pages) = (None, Vec::new());
        loop {
            let page = trash::list(db, app, ENTRIES, cursor, 9).await.unwrap();
            pages.push(names(&page.rows).join(""));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages, ["gfed", "cba"], "the row with which it has a megabyte is its last");
    }

    async fn content_that_is_no_json_is_shown_nowhere(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let cut = |key| row(key, r#"{"cut":"#);
        let draft = Draft::new(app, 1)
            .row(EventType::RowUpdated, RowState::Trashed(NOW), cut("cut"))
            .row(EventType::RowUpdated, RowState::Trashed(NOW), row("whole", "{}"))
            .row(EventType::RowUpdated, RowState::Detached, cut("apart"))
            .event(EventType::Custom("ping".into()), None, Some("[1,"));
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let page = trash::list(&test.db, app, ENTRIES, None, 9).await.unwrap();
        assert_eq!(names(&page.rows), ["whole"]);
        let found = trash::find(&test.db, app, ENTRIES, "cut").await;
        assert!(matches!(found, Err(StorageError::Corrupt { .. })), "{found:?}");
        assert_eq!(trash::detached(&test.db, app, ENTRIES).await.unwrap(), []);
        for (after, told) in [(1, vec![]), (2, vec![3]), (3, vec![])] {
            let page = feed::events_after(&test.db, app, after, 5, 9).await.unwrap();
            assert_eq!(page.iter().map(|event| event.seq).collect::<Vec<_>>(), told);
        }
    }

    async fn contents_of_the_trash_and_of_detached_rows_come_back(test: &TestDb) {
        let app = with_trash(test).await;
        let db = &test.db;
        let old = trash::find(db, app, ENTRIES, "old").await.unwrap().unwrap();
        assert_eq!(old.row.data(), r#"{"n":1}"#);
        for key in ["live", "kept", "none"] {
            assert_eq!(trash::find(db, app, ENTRIES, key).await.unwrap(), None);
        }
        assert_eq!(trash::detached(db, app, "others").await.unwrap(), []);
        let kept = trash::detached(db, app, ENTRIES).await.unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!((kept[0].key(), kept[0].data()), ("kept", r#"{"n":2}"#));
    }

    async fn rows_due_for_purge_are_the_oldest_of_all_apps(test: &TestDb) {
        let app = with_trash(test).await;
        let db = &test.db;
        let due = trash::due_for_purge(db, None, NOW.plus_seconds(5), 10).await.unwrap();
        assert_eq!(due.rows.len(), 1);
        let place = &due.rows[0].place;
        assert_eq!((place.app, &*place.collection, &*place.key), (app, ENTRIES, "old"));
        assert_eq!(place.deleted_at, NOW.plus_seconds(1));
        // Behind a row come those of its time, too.
        let all = trash::due_for_purge(db, None, NOW.plus_seconds(6), 10).await.unwrap();
        let all = all.rows;
        assert_eq!(due_keys(&all), ["old", "a", "b"]);
        for (last, after) in [(None, 0), (Some(&all[0]), 1), (Some(&all[1]), 2), (Some(&all[2]), 3)] {
            let last = last.map(|row| &row.place);
            let rest = trash::due_for_purge(db, last, NOW.plus_seconds(6), 2).await.unwrap();
            assert_eq!(rest.rows, all[after..all.len().min(after + 2)]);
        }
        // Purged as the actor decides, it is due no more.
        let writer = start(db).await;
        let purge = Draft::new(app, 6).purge(row("old", ""));
        assert_eq!(purge.commit(&writer).await, Outcome::Committed);
        let none = trash::due_for_purge(db, None, NOW.plus_seconds(5), 10).await.unwrap();
        assert_eq!(none, DuePage::default());
    }

    async fn a_damaged_row_is_purged_in_its_time_like_any_other(test: &TestDb) {
        let app = with_trash(test).await;
        let db = &test.db;
        assert!(faults::damage::row(db, app, "old").await.unwrap());
        assert!(trash::find(db, app, ENTRIES, "old").await.is_err());
        let due = trash::due_for_purge(db, None, NOW.plus_seconds(5), 10).await.unwrap();
        assert_eq!(due_keys(&due.rows), ["old"]);
        assert_eq!(due_keys(&trash::oldest(db, app, NOW, 9).await.unwrap()), ["old", "a", "b"]);
        // Where not even that can be read which decides about it, the way leads past it.
        spoil(db, "update rows set version = -1 where key = 'old'").await;
        let due = trash::due_for_purge(db, None, NOW.plus_seconds(6), 1).await.unwrap();
        assert_eq!(due.rows, []);
        let rest = trash::due_for_purge(db, due.last.as_ref(), NOW.plus_seconds(6), 9).await.unwrap();
        assert_eq!(due_keys(&rest.rows), ["a", "b"]);
    }

    async fn rows_to_be_purged_come_in_portions_of_bounded_bytes(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let db = &test.db;
        let writer = start(db).await;
        let big = format!(r#""{}""#, "x".repeat((1 << 20) - 2));
        let keys = ["a", "b", "c", "d", "e", "f"];
        for (at, key) in keys.iter().enumerate() {
            let state = RowState::Trashed(NOW);
            let draft =
                Draft::new(app, 1 + at as u64).row(EventType::RowDeleted, state, row(key, &big));
            assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        }
        let later = NOW.plus_seconds(1);
        let due = trash::due_for_purge(db, None, later, 10).await.unwrap();
        assert_eq!(due_keys(&due.rows), keys[..4]);
        let rest = trash::due_for_purge(db, due.last.as_ref(), later, 10).await.unwrap();
        assert_eq!(due_keys(&rest.rows), keys[4..]);
        assert_eq!(trash::oldest(db, app, NOW, 10).await.unwrap(), due.rows);
    }

    async fn a_trash_with_more_than_it_has_room_for_is_found_by_rows_and_by_bytes(test: &TestDb) {
        let app = with_trash(test).await;
        let db = &test.db;
        let found = |rows, bytes| async move { trash::overfull(db, rows, bytes, None, 10).await.unwrap() };
        assert_eq!(found(0, 0).await, [], "no sum was written");
        let writer = start(db).await;
        let outcome = Draft::new(app, 6).extras(0).commit(&writer).await;
        assert_eq!(outcome, Outcome::Committed);
        assert_eq!(found(2, 17).await, []);
        assert_eq!(found(1, 17).await, [app]);
        assert_eq!(found(2, 16).await, [app]);
        assert_eq!(trash::overfull(db, 0, 0, None, 0).await.unwrap(), []);
        assert_eq!(trash::overfull(db, 0, 0, Some(app), 10).await.unwrap(), []);
        let oldest = trash::oldest(db, app, NOW, 2).await.unwrap();
        assert_eq!(due_keys(&oldest), ["old", "a"]);
        assert_eq!(oldest[0].place.deleted_at, NOW.plus_seconds(1));
        // A clock that was ahead when all but one were deleted has been set right.
        let right = NOW.plus_seconds(1 - STEP_BACK_S);
        let oldest = trash::oldest(db, app, right, 9).await.unwrap();
        assert_eq!(due_keys(&oldest), ["a", "b", "old"]);
    }
}

#[test]
fn a_full_file_refuses_the_batch_and_the_writer_lives_on() {
    on_sqlite(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        let full = start_with_pages(&test.db, 1).await;
        let before = format!("{:?}", load(&test.db, app).await);
        let big = format!(r#"{{"text":"{}"}}"#, "x".repeat(400_000));
        for _ in 0..2 {
            let outcome = Draft::new(app, 1).create(row("a", &big)).commit(&full).await;
            assert_eq!(outcome, Outcome::Aborted(Abort::Full));
        }
        assert_eq!(format!("{:?}", load(&test.db, app).await), before);
        assert!(full.health().out_of_space, "whoever looks after the server is told");
        // A batch that needs no new page still commits.
        let small = Draft::new(app, 1).event(EventType::AppWoken, None, None).commit(&full).await;
        assert_eq!(small, Outcome::Committed);
        until("nothing was refused lately", || full.health().ok).await;
        drop(full);
        let roomy = start(&test.db).await;
        let outcome = Draft::new(app, 2).create(row("a", &big)).commit(&roomy).await;
        assert_eq!(outcome, Outcome::Committed);
        assert_eq!(keys(&load(&test.db, app).await), ["a"]);
    });
}

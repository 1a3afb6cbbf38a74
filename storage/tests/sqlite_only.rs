//! What only SQLite has: a folder with one process, a file with an identity, backup and restore.

use std::{
    fs,
    future::{Future as _, poll_fn},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    task::Poll,
};

use rookery_domain::{app::AppRecord, id::AppId};
use rookery_storage::{
    Db, StorageError, StorageOptions, apps,
    apps::create,
    backup::{backup, restore},
    humans,
    load::{LoadOptions, load_app},
    meta,
};

use crate::support::{NOW, TestDb, at_once, human, new_app, on_sqlite, row};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn one_line(error: &StorageError) -> String {
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn a_second_process_on_one_folder_is_refused_until_the_first_has_ended() {
    on_sqlite(async |test: &TestDb| {
        let folder = tempfile::tempdir().unwrap();
        let options = StorageOptions::sqlite(folder.path());
        let first = Db::connect(&options).await.unwrap();
        let error = Db::connect(&options).await.unwrap_err();
        assert!(one_line(&error).contains("another rookery process"), "{error}");
        first.close().await;
        drop(first);
        Db::connect(&options).await.unwrap().close().await;
        assert!(matches!(test.db, Db::Sqlite(_)));
    });
}

#[test]
fn a_closed_database_opens_no_connection_for_a_load() {
    on_sqlite(async |_: &TestDb| {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::connect(&StorageOptions::sqlite(folder.path())).await.unwrap();
        let load = || load_app(&db, AppId::new(), LoadOptions { now: NOW, tail_events: 0 });
        assert!(load().await.unwrap().is_none());
        db.close().await;
        let refused = load().await.unwrap_err();
        assert!(matches!(refused, StorageError::Aborted(_)), "{refused}");
        assert!(one_line(&refused).contains("closed"));
    });
}

#[test]
fn only_the_owner_reads_the_database() {
    on_sqlite(async |test: &TestDb| {
        human(&test.db, "ada@example.com").await;
        let folder = &test.options.data_dir;
        assert_eq!(mode(folder), 0o700);
        for name in ["rookery.db", "rookery.db-wal", "rookery.lock"] {
            assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
        }
    });
}

#[test]
fn the_connections_are_set_up_for_durability() {
    on_sqlite(async |test: &TestDb| {
        let Db::Sqlite(db) = &test.db else { unreachable!() };
        let pragma = async |sql: &'static str| -> i64 {
            sqlx::query_scalar(sql).fetch_one(db.readers()).await.unwrap()
        };
        assert_eq!(pragma("pragma synchronous").await, 2, "FULL");
        assert_eq!(pragma("pragma trusted_schema").await, 0);
        assert_eq!(pragma("pragma query_only").await, 1, "readers cannot write");
        assert_eq!(pragma("pragma foreign_keys").await, 1);
        let journal: String =
            sqlx::query_scalar("pragma journal_mode").fetch_one(db.readers()).await.unwrap();
        assert_eq!(journal, "wal");
        assert!(sqlx::query("delete from meta").execute(db.readers()).await.is_err());
    });
}

#[test]
fn who_holds_the_baton_keeps_cold_writes_waiting() {
    on_sqlite(async |test: &TestDb| {
        let Db::Sqlite(sqlite) = &test.db else { unreachable!() };
        let write_lock = sqlite.write_lock();
        let held = write_lock.lock().await;
        let db = test.db.clone();
        let write = tokio::spawn(async move { meta::set(&db, "k", "v").await });
        // Another write connection gets the file's lock at once, because nobody else has it.
        let path = sqlite.path().to_owned();
        tokio::task::spawn_blocking(move || {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.execute_batch("begin immediate; rollback").unwrap();
        })
        .await
        .unwrap();
        assert!(!write.is_finished());
        assert_eq!(meta::get(&test.db, "k").await.unwrap(), None, "readers do not wait");
        drop(held);
        write.await.unwrap().unwrap();
        assert_eq!(meta::get(&test.db, "k").await.unwrap().as_deref(), Some("v"));
    });
}

#[test]
fn the_writer_waits_for_one_cold_write_however_many_there_are() {
    on_sqlite(async |test: &TestDb| {
        let Db::Sqlite(sqlite) = &test.db else { unreachable!() };
        let write_lock = sqlite.write_lock();
        let held = write_lock.lock().await;
        let cold: Vec<_> = (0..20)
            .map(|n| {
                let db = test.db.clone();
                tokio::spawn(async move { meta::set(&db, &format!("k{n}"), "v").await })
            })
            .collect();
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let mut writer = Box::pin(write_lock.clone().lock_owned());
        let asked = poll_fn(|cx| Poll::Ready(writer.as_mut().poll(cx))).await;
        assert!(asked.is_pending());
        drop(held);
        let turn = writer.await;
        let mut written = 0;
        for n in 0..20 {
            written += usize::from(meta::get(&test.db, &format!("k{n}")).await.unwrap().is_some());
        }
        assert!(written <= 1, "{written} went before it");
        drop(turn);
        for write in cold {
            write.await.unwrap().unwrap();
        }
    });
}

#[test]
fn a_file_of_another_program_is_refused() {
    on_sqlite(async |_: &TestDb| {
        for theirs in [
            "create table t (x)",
            // One that notes its migrations as we do.
            "create table _sqlx_migrations (version bigint primary key);
             insert into _sqlx_migrations values (7)",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("rookery.db");
            rusqlite::Connection::open(&file).unwrap().execute_batch(theirs).unwrap();
            let options = StorageOptions::sqlite(folder.path());
            let before = fs::read(&file).unwrap();
            let error = Db::connect(&options).await.unwrap_err();
            assert!(one_line(&error).contains("not a database of rookery"), "{error}");
            assert_eq!(fs::read(&file).unwrap(), before, "it is left as it was");
            fs::write(&file, [b'x'; 8_192]).unwrap();
            one_line(&Db::connect(&options).await.unwrap_err());
        }
    });
}

#[test]
fn a_first_start_that_was_interrupted_is_gone_on_with() {
    on_sqlite(async |_: &TestDb| {
        // What there is after each step of it: a file, the mark, the table of migrations.
        for left in [
            "",
            "pragma application_id = 0x526f6f6b",
            "create table _sqlx_migrations (version bigint primary key, description text not null,
                 installed_on timestamp not null default current_timestamp,
                 success boolean not null, checksum blob not null, execution_time bigint not null)",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = rusqlite::Connection::open(folder.path().join("rookery.db")).unwrap();
            file.execute_batch("pragma journal_mode = wal").unwrap();
            file.execute_batch(left).unwrap();
            drop(file);
            let db = Db::connect(&StorageOptions::sqlite(folder.path())).await.expect(left);
            meta::set(&db, "k", "v").await.unwrap();
            db.close().await;
        }
    });
}

#[test]
fn a_further_connection_that_cannot_be_opened_is_a_failure_that_passes() {
    on_sqlite(async |_: &TestDb| {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::connect(&StorageOptions::sqlite(folder.path())).await.unwrap();
        let file = folder.path().join("rookery.db");
        let elsewhere = folder.path().join("elsewhere.db");
        fs::rename(&file, &elsewhere).unwrap();
        let error = meta::get(&db, "k").await.unwrap_err();
        assert!(matches!(error, StorageError::Aborted(_)), "{error:?}");
        fs::rename(&elsewhere, &file).unwrap();
        assert_eq!(meta::get(&db, "k").await.unwrap(), None);
    });
}

#[test]
fn a_backup_under_concurrent_writes_is_one_whole_moment() {
    on_sqlite(async |test: &TestDb| {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("copy.db");
        let (writing, backing_up) = tokio::join!(
            at_once(64, |i| {
                let db = db.clone();
                async move {
                    let app = new_app(owner, &format!("app-{i}"), &[row("a", "{}")]);
                    create::create(&db, app).await.unwrap();
                }
            }),
            backup(&test.options, &file, std::future::pending()),
        );
        backing_up.unwrap();
        assert_eq!(writing.len(), 64);
        assert_eq!(mode(&file), 0o600);
        let names: Vec<_> =
            fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["copy.db"], "a single file");
        let copy = rusqlite::Connection::open(&file).unwrap();
        let count = |sql: &str| -> i64 { copy.query_row(sql, [], |row| row.get(0)).unwrap() };
        let apps = count("select count(*) from apps");
        for sql in [
            "select count(*) from versions",
            "select count(*) from app_head",
            "select count(*) from rows",
        ] {
            assert_eq!(count(sql), apps, "no half app: {sql}");
        }
        let error = backup(&test.options, &file, std::future::pending()).await.unwrap_err();
        assert!(one_line(&error).contains("exists"), "{error}");
    });
}

#[test]
fn a_backup_that_is_given_up_leaves_nothing() {
    on_sqlite(async |test: &TestDb| {
        human(&test.db, "ada@example.com").await;
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("copy.db");
        let error = backup(&test.options, &file, std::future::ready(())).await.unwrap_err();
        assert!(one_line(&error).contains("copy.db: interrupted"), "{error}");
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
    });
}

#[test]
fn of_backups_to_one_file_at_once_one_is_written() {
    on_sqlite(async |test: &TestDb| {
        human(&test.db, "ada@example.com").await;
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("copy.db");
        let results = at_once(8, |_| {
            let (options, file) = (test.options.clone(), file.clone());
            async move { backup(&options, &file, std::future::pending()).await }
        })
        .await;
        let (written, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(written.len(), 1, "{refused:?}");
        for error in refused {
            assert!(one_line(&error.unwrap_err()).contains("never overwrite"));
        }
        let names: Vec<_> =
            fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["copy.db"], "a single file");
        assert_eq!(mode(&file), 0o600);
        let folder = tempfile::tempdir().unwrap();
        restore(&StorageOptions::sqlite(folder.path()), &file, false).await.unwrap();
    });
}

#[test]
fn a_restored_backup_is_what_was_backed_up_with_feeds_that_begin_anew() {
    on_sqlite(async |test: &TestDb| {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let app = new_app(owner, "guestbook", &[row("a", "{}")]);
        let record = app.record.clone();
        create::create(db, app).await.unwrap();
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("copy.db");
        backup(&test.options, &file, std::future::pending()).await.unwrap();
        human(db, "later@example.com").await;

        let options = StorageOptions::sqlite(out.path().join("new/data"));
        restore(&options, &file, false).await.unwrap();
        let restored = Db::connect(&options).await.unwrap();
        let found = apps::by_slug(&restored, "guestbook").await.unwrap().unwrap();
        assert_ne!(found.history, record.history, "an old cursor must not fit");
        let same = AppRecord { history: record.history, ..found };
        assert_eq!(same, record);
        let later = humans::by_verified_email(&restored, "later@example.com").await.unwrap();
        assert_eq!(later, None);
        restored.close().await;
    });
}

#[test]
fn a_restore_overwrites_nothing_unless_it_is_told_to() {
    on_sqlite(async |test: &TestDb| {
        human(&test.db, "ada@example.com").await;
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("copy.db");
        backup(&test.options, &file, std::future::pending()).await.unwrap();

        let error = restore(&test.options, &file, true).await.unwrap_err();
        assert!(one_line(&error).contains("another rookery process"), "{error}");

        let options = StorageOptions::sqlite(out.path().join("other"));
        let other = Db::connect(&options).await.unwrap();
        human(&other, "eve@example.com").await;
        other.close().await;
        drop(other);
        fs::write(options.data_dir.join("server.key"), "kept").unwrap();
        let error = restore(&options, &file, false).await.unwrap_err();
        assert!(one_line(&error).contains("not empty"), "{error}");
        restore(&options, &file, true).await.unwrap();
        assert_eq!(fs::read(options.data_dir.join("server.key")).unwrap(), b"kept");
        let restored = Db::connect(&options).await.unwrap();
        let found = async |email| humans::by_verified_email(&restored, email).await.unwrap();
        assert!(found("ada@example.com").await.is_some());
        assert!(found("eve@example.com").await.is_none());
        restored.close().await;
    });
}

#[test]
fn a_damaged_foreign_or_newer_file_is_not_restored() {
    on_sqlite(async |test: &TestDb| {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let rows: Vec<_> = (0..500).map(|i| row(&format!("k{i}"), r#"{"n":1}"#)).collect();
        create::create(db, new_app(owner, "app", &rows)).await.unwrap();
        let out = tempfile::tempdir().unwrap();
        let good = out.path().join("good.db");
        backup(&test.options, &good, std::future::pending()).await.unwrap();
        let options = StorageOptions::sqlite(out.path().join("target"));

        let damaged = out.path().join("damaged.db");
        let mut bytes = fs::read(&good).unwrap();
        let middle = bytes.len() / 2 / 4_096 * 4_096;
        bytes[middle..middle + 4_096].fill(0xff);
        fs::write(&damaged, bytes).unwrap();
        let foreign = out.path().join("foreign.db");
        rusqlite::Connection::open(&foreign).unwrap().execute_batch("create table t (x)").unwrap();
        let newer = out.path().join("newer.db");
        fs::copy(&good, &newer).unwrap();
        rusqlite::Connection::open(&newer)
            .unwrap()
            .execute("update _sqlx_migrations set version = 999999 where version = 1", [])
            .unwrap();
        let text = out.path().join("text.db");
        fs::write(&text, "not a database at all").unwrap();

        // Somebody's copy of a running database: what was written last is in its log.
        let copied = out.path().join("copied.db");
        fs::copy(&good, &copied).unwrap();
        fs::write(out.path().join("copied.db-wal"), [1; 4_096]).unwrap();

        for file in [&damaged, &foreign, &text, &copied, &out.path().join("absent.db")] {
            let error = restore(&options, file, false).await.unwrap_err();
            assert!(matches!(error, StorageError::Open(_)), "{error:?}");
            one_line(&error);
        }
        let error = restore(&options, &newer, false).await.unwrap_err();
        assert!(matches!(error, StorageError::Newer { found: 999_999, .. }), "{error:?}");
        assert!(!options.data_dir.join("rookery.db").exists());
    });
}

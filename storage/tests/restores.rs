//! A restore that a crash cuts short: what the next start finds after each of its steps.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, chown},
    path::Path,
};

use rookery_storage::{
    Db, StorageOptions,
    backup::{backup, restore},
    humans,
};

use crate::support::{TestDb, human, on_sqlite};

/// Who is in the database of this folder.
async fn found(folder: &Path) -> [bool; 2] {
    let db = Db::connect(&StorageOptions::sqlite(folder)).await.unwrap();
    let is_there = async |email| humans::by_verified_email(&db, email).await.unwrap().is_some();
    let found = [is_there("old@example.com").await, is_there("new@example.com").await];
    db.close().await;
    found
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("rookery.db."))
        .collect();
    names.sort();
    names
}

#[test]
fn a_restore_that_is_cut_short_has_happened_or_has_not() {
    on_sqlite(async |test: &TestDb| {
        let out = tempfile::tempdir().unwrap();
        human(&test.db, "new@example.com").await;
        let new = out.path().join("new.db");
        backup(&test.options, &new, std::future::pending()).await.unwrap();
        // A database that was killed: what is in it is in its log.
        let old = out.path().join("old");
        let db = Db::connect(&StorageOptions::sqlite(&old)).await.unwrap();
        human(&db, "old@example.com").await;
        let [file, log] =
            ["", "-wal"].map(|suffix| fs::read(old.join(format!("rookery.db{suffix}"))).unwrap());
        db.close().await;

        let (partial, whole) = ("rookery.db.restoring", "rookery.db.restored");
        for (step, copy, has_log, has_file, expected) in [
            ("while it copies", partial, true, true, [true, false]),
            ("once the copy is whole", whole, true, true, [false, true]),
            ("once the old log is gone", whole, false, true, [false, true]),
            ("into an empty folder", whole, false, false, [false, true]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            fs::copy(&new, path(copy)).unwrap();
            if has_file {
                fs::write(path("rookery.db"), &file).unwrap();
            }
            if has_log {
                fs::write(path("rookery.db-wal"), &log).unwrap();
            }
            if copy == whole {
                // Nobody takes what is to be replaced for the database.
                let options = StorageOptions::sqlite(folder.path());
                let refused =
                    backup(&options, &out.path().join(step), std::future::pending()).await;
                assert!(refused.unwrap_err().to_string().contains("cut short"), "{step}");
            }
            assert_eq!(found(folder.path()).await, expected, "{step}");
            assert_eq!(names(folder.path()), Vec::<String>::new(), "{step}");
        }

        // Another restore ends the first one, and is what counts.
        let options = StorageOptions::sqlite(out.path().join("again"));
        fs::create_dir(&options.data_dir).unwrap();
        fs::write(options.data_dir.join(whole), &file).unwrap();
        restore(&options, &new, true).await.unwrap();
        assert_eq!(found(&options.data_dir).await, [false, true]);
    });
}

#[test]
fn a_restore_whose_last_step_fails_says_that_the_next_start_takes_it() {
    on_sqlite(async |test: &TestDb| {
        human(&test.db, "new@example.com").await;
        let out = tempfile::tempdir().unwrap();
        let new = out.path().join("new.db");
        backup(&test.options, &new, std::future::pending()).await.unwrap();
        // Nothing that can be removed as a file.
        let in_the_way = out.path().join("old/rookery.db-wal");
        fs::create_dir_all(&in_the_way).unwrap();
        let options = StorageOptions::sqlite(out.path().join("old"));
        let error = restore(&options, &new, true).await.unwrap_err().to_string();
        assert!(error.contains("rookery.db-wal") && error.contains("the next start"), "{error}");
        fs::remove_dir(&in_the_way).unwrap();
        assert_eq!(found(&options.data_dir).await, [false, true]);
    });
}

#[test]
fn what_is_only_called_a_whole_restore_replaces_nothing() {
    on_sqlite(async |test: &TestDb| {
        human(&test.db, "old@example.com").await;
        let out = tempfile::tempdir().unwrap();
        let backed_up = out.path().join("backup.db");
        backup(&test.options, &backed_up, std::future::pending()).await.unwrap();
        let half = fs::read(&backed_up).unwrap();
        let foreign = out.path().join("foreign.db");
        let other = rusqlite::Connection::open(&foreign).unwrap();
        other.execute_batch("create table x (a)").unwrap();
        drop(other);

        let whole = "rookery.db.restored";
        for (what, content) in [
            ("empty", vec![]),
            ("text", b"not a database, whatever it is called".repeat(100)),
            ("another program's", fs::read(&foreign).unwrap()),
            ("half", half[..half.len() / 2].to_vec()),
        ] {
            let folder = out.path().join(what);
            fs::create_dir(&folder).unwrap();
            // A database that was killed, with its log.
            for suffix in ["", "-wal"] {
                let name = format!("rookery.db{suffix}");
                fs::copy(test.options.data_dir.join(&name), folder.join(&name)).unwrap();
            }
            fs::write(folder.join(whole), &content).unwrap();
            let options = StorageOptions::sqlite(&folder);
            let refused = Db::connect(&options).await.map(drop).unwrap_err().to_string();
            let named = folder.join(whole).display().to_string();
            assert!(refused.contains(&named), "{what}: {refused}");
            assert!(refused.contains("move it away"), "{what}: {refused}");
            assert_eq!(fs::read(folder.join(whole)).unwrap(), content, "{what}");
            assert!(restore(&options, &backed_up, false).await.is_err(), "{what}");
            fs::remove_file(folder.join(whole)).unwrap();
            assert_eq!(found(&folder).await, [true, false], "{what}");
            // A restore that is meant takes the place of whatever is there.
            fs::write(folder.join(whole), &content).unwrap();
            restore(&options, &backed_up, true).await.unwrap();
            assert_eq!(names(&folder), Vec::<String>::new(), "{what}");
            assert_eq!(found(&folder).await, [true, false], "{what}");
        }
    });
}

#[test]
fn what_root_restores_is_the_services() {
    // Debian's nobody.
    const SERVICE: u32 = 65_534;
    on_sqlite(async |test: &TestDb| {
        let out = tempfile::tempdir().unwrap();
        if fs::metadata(out.path()).unwrap().uid() != 0 {
            // Only root gives files away.
            return;
        }
        let backed_up = out.path().join("backup.db");
        backup(&test.options, &backed_up, std::future::pending()).await.unwrap();
        let folder = out.path().join("data");
        let path = |name: &str| folder.join(name);
        let owner = |name: &str| {
            let made = fs::metadata(path(name)).unwrap();
            (made.uid(), made.gid())
        };
        let options = StorageOptions::sqlite(&folder);
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(SERVICE), Some(SERVICE)).unwrap();
        restore(&options, &backed_up, false).await.unwrap();
        assert_eq!(owner("rookery.db"), (SERVICE, SERVICE));
        assert_eq!(owner("rookery.lock"), (SERVICE, SERVICE));
        // In a folder that the service may only write in.
        chown(&folder, Some(0), Some(SERVICE)).unwrap();
        restore(&options, &backed_up, true).await.unwrap();
        assert_eq!(owner("rookery.db"), (SERVICE, SERVICE));
        // Where nobody else has anything, it stays with root.
        chown(path("rookery.db"), Some(0), Some(0)).unwrap();
        restore(&options, &backed_up, true).await.unwrap();
        assert_eq!(owner("rookery.db"), (0, 0));
    });
}

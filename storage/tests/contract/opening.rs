//! Opening a database: migrations, epochs, and facts about the installation.

use rookery_storage::{Db, StorageError, StorageOptions, meta};

use crate::support::{at_once, contract, human, number};

contract! {
    async fn opening_again_migrates_nothing_and_keeps_everything(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await;
        let migrations = number(&test.db, "select count(*) from _sqlx_migrations").await;
        test.db.close().await;
        let options = match &test.db {
            // Its folder stays locked while the test holds it; a copy of the file is as good.
            Db::Sqlite(db) => {
                let folder = test.options.data_dir.join("copy");
                std::fs::create_dir(&folder).unwrap();
                std::fs::copy(db.path(), folder.join("rookery.db")).unwrap();
                StorageOptions::sqlite(folder)
            }
            Db::Postgres(_) => test.options.clone(),
        };
        let db = Db::connect(&options).await.unwrap();
        assert_eq!(number(&db, "select count(*) from _sqlx_migrations").await, migrations);
        let found = rookery_storage::humans::by_id(&db, ada.id).await.unwrap();
        assert_eq!(found, Some(ada));
        db.close().await;
    }

    async fn each_epoch_is_higher_than_all_before(test: &TestDb) {
        let first = test.db.next_epoch().await.unwrap();
        let mut epochs = at_once(16, |_| {
            let db = test.db.clone();
            async move { db.next_epoch().await.unwrap() }
        })
        .await;
        epochs.sort_unstable();
        epochs.dedup();
        assert_eq!(epochs.len(), 16);
        assert!(first < epochs[0]);
    }

    async fn facts_are_set_once_or_again(test: &TestDb) {
        let db = &test.db;
        assert_eq!(meta::get(db, "site").await.unwrap(), None);
        let values = at_once(16, |i| {
            let db = db.clone();
            async move { meta::get_or_set(&db, "site", &i.to_string()).await.unwrap() }
        })
        .await;
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
        meta::set(db, "site", "other").await.unwrap();
        assert_eq!(meta::get(db, "site").await.unwrap().as_deref(), Some("other"));
    }

    async fn a_database_of_a_newer_build_is_refused_with_one_line(test: &TestDb) {
        let newer = "insert into _sqlx_migrations
                         (version, description, success, checksum, execution_time)
                     values (999998, 'from the future', true, 'x', 0),
                            (999999, 'from the future', true, 'x', 0)";
        // None of these is ours: another program numbers its own, many by dates.
        let foreign = "delete from _sqlx_migrations where version < 999999";
        let folder = test.options.data_dir.join("newer");
        let file = folder.join("rookery.db");
        let options = match &test.db {
            Db::Sqlite(db) => {
                std::fs::create_dir(&folder).unwrap();
                test.db.close().await;
                std::fs::copy(db.path(), &file).unwrap();
                StorageOptions::sqlite(folder)
            }
            Db::Postgres(_) => test.options.clone(),
        };
        let change = async |sql| match &test.db {
            Db::Sqlite(_) => drop(rusqlite::Connection::open(&file).unwrap().execute(sql, []).unwrap()),
            Db::Postgres(db) => drop(sqlx::query(sql).execute(db.pool()).await.unwrap()),
        };
        change(newer).await;
        let error = Db::connect(&options).await.unwrap_err();
        assert!(matches!(error, StorageError::Newer { found: 999_999, .. }), "{error:?}");
        assert!(!error.to_string().contains('\n'));
        change(foreign).await;
        let error = Db::connect(&options).await.unwrap_err().to_string();
        assert!(error.contains("another program's") && !error.contains('\n'), "{error}");
    }
}

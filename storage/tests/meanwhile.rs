//! What meets, on PostgreSQL, a transaction that is not committed yet: it waits for that, and is decided
//! by what it finds then.

use rookery_storage::{
    Db, apps,
    idempotency::KeepResponse,
    push::{self, NewSubscription},
    sessions,
    versions::{self, Asset, VersionAsset},
};
use rookery_testkit::until_async;
use sqlx::Executor as _;

use crate::support::{NOW, TestDb, hash, human, new_app, new_session, number, on_postgres};

/// How many wait for a lock.
const WAITING: &str = "select count(*) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'";

#[test]
fn a_version_that_is_dropped_while_it_is_read_is_whole_or_none() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let owner = human(&test.db, "ann@example.org").await.id;
        let mut new = new_app(owner, "notes", &[]);
        let file = Asset::new("a.txt".into(), "text/plain".into(), b"a"[..].into());
        new.version.assets = [VersionAsset::New(file)].into();
        let app = new.record.id;
        apps::create::create(&test.db, new).await.unwrap();
        let whole = versions::content(&test.db, app, 1).await.unwrap().unwrap();
        assert_eq!(whole.assets[0].path, "a.txt");

        let mut drops = postgres.connect().await.unwrap();
        let lock = "begin; lock table assets in access exclusive mode;
                    delete from assets; delete from versions";
        drops.execute(lock).await.unwrap();
        let db = test.db.clone();
        let reading = tokio::spawn(async move { versions::content(&db, app, 1).await });
        until_async("the files are waited for", async || number(&test.db, WAITING).await > 0).await;
        drops.execute("commit").await.unwrap();
        assert_eq!(reading.await.unwrap(), Ok(None));
    });
}

#[test]
fn a_browser_that_subscribes_while_its_session_ends_is_told_so() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let ada = human(&test.db, "ada@example.org").await.id;
        let open = sessions::create(&test.db, ada, new_session(), NOW).await.unwrap();
        let mut ends = postgres.connect().await.unwrap();
        ends.execute("begin; delete from sessions").await.unwrap();
        let sealed = "one".into();
        let new = NewSubscription {
            hash: hash(),
            human: ada,
            session: open.id,
            sealed,
            expires_at: None,
        };
        let db = test.db.clone();
        let saving =
            tokio::spawn(async move { push::keep(&db, new, NOW, KeepResponse::nothing()).await });
        until_async("the session is waited for", async || {
            saving.is_finished() || number(&test.db, WAITING).await > 0
        })
        .await;
        assert!(!saving.is_finished(), "the session may stay");
        ends.execute("commit").await.unwrap();
        assert_eq!(saving.await.unwrap(), Ok(None));
    });
}

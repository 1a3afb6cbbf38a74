//! A PostgreSQL database that is another one after the connections to it were lost.

use rookery_storage::{
    Db, LaneStatus, StorageError,
    commit::{Abort, Outcome},
    meta,
};
use rookery_testkit::until_async;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::{
    support::{TestDb, on_postgres, row},
    writer::kit::{Draft, deploy, load, start},
};

/// Cuts all connections to the database but one.
const CUT: &str = "select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid()";

#[test]
fn a_database_that_takes_the_place_of_another_is_not_written_to() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        writer.connected().await.unwrap();
        let mut operator = postgres.connect().await.unwrap();
        let create = |seq, key| Draft::new(app, seq).create(row(key, "{}")).commit(&writer);

        // The same database, as after a restart of its server: which group meets the loss is not told.
        operator.execute(CUT).await.unwrap();
        let mut seq = 0;
        let is_committed = async || {
            seq = load(&test.db, app).await.head.last_seq;
            create(seq, "a").await == Outcome::Committed
        };
        until_async("a commit by a new connection", is_committed).await;

        // A copy that was restored beneath the server: the same rows, in other tables.
        let sql = "begin;
                   alter table app_head rename to former;
                   create table app_head (like former including all);
                   insert into app_head select * from former;
                   commit";
        operator.execute(sql).await.unwrap();
        operator.execute(CUT).await.unwrap();
        assert_ne!(create(seq + 1, "b").await, Outcome::Committed);
        let LaneStatus::Broken(why) = writer.failed().await else { panic!("a lane has died") };
        assert!(why.contains("another database"), "{why}");
        assert!(writer.health().broken);
        let error = meta::set(&test.db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::Broken(_)), "{error:?}");
        assert_eq!(load(&test.db, app).await.head.last_seq, seq + 1);
    });
}

#[test]
fn a_standby_is_not_connected_to_before_it_has_taken_over() {
    on_postgres(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        writer.connected().await.unwrap();
        let database = test.database.as_ref().expect("PostgreSQL");
        let create = |key| Draft::new(app, 1).create(row(key, "{}")).commit(&writer);
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        let say = "create or replace function public.pg_is_in_recovery() returns boolean
                   language sql as $$ select true $$";
        operator.execute(say).await.unwrap();
        // Which cuts the connections, too.
        database.set("search_path", "public, pg_catalog").await;
        let refused = async || {
            let outcome = create("a").await;
            assert_ne!(outcome, Outcome::Committed);
            matches!(outcome, Outcome::Aborted(Abort::Refused(why)) if why.contains("a standby"))
        };
        until_async("it is found to be a standby", refused).await;
        assert!(writer.health().unreachable);

        // It takes over, and is another database.
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        let sql = "begin;
                   alter table app_head rename to former;
                   create table app_head (like former including all);
                   insert into app_head select * from former;
                   drop function public.pg_is_in_recovery();
                   commit";
        operator.execute(sql).await.unwrap();
        let LaneStatus::Broken(why) = writer.failed().await else { panic!("a lane has died") };
        assert!(why.contains("another database"), "{why}");
    });
}

#[test]
fn a_database_that_does_not_tell_which_one_it_is_is_not_written_to() {
    on_postgres(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        writer.connected().await.unwrap();
        let database = test.database.as_ref().expect("PostgreSQL");
        let create = |key| Draft::new(app, 1).create(row(key, "{}")).commit(&writer);
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        let say = "create function public.pg_current_wal_lsn() returns pg_lsn language plpgsql
                   as $$ begin raise exception 'not for you' using errcode = '42501'; end $$";
        operator.execute(say).await.unwrap();
        database.set("search_path", "public, pg_catalog").await;
        let refused = async || {
            let outcome = create("a").await;
            assert_ne!(outcome, Outcome::Committed);
            matches!(outcome, Outcome::Aborted(Abort::Refused(why)) if why.contains("which database"))
        };
        until_async("it does not tell", refused).await;
        assert!(writer.health().unreachable && !writer.health().broken);

        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        operator.execute("drop function public.pg_current_wal_lsn()").await.unwrap();
        until_async("it tells again", async || create("a").await == Outcome::Committed).await;
    });
}

//! A PostgreSQL database that is another one after the connections to it were lost.

use std::time::{Duration, Instant};

use rookery_domain::id::AppId;
use rookery_storage::{
    Db, LaneStatus, StorageError, Writer, WriterOptions,
    commit::{Abort, Outcome},
    load::{LoadOptions, load_app},
    meta,
};
use rookery_testkit::{until, until_async};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, query_scalar};

use crate::{
    support::{NOW, TestDb, on_postgres, row},
    writer::kit::{Draft, deploy, load, start},
};

/// Cuts all connections to the database but one.
const CUT: &str = "select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid()";

/// Makes it another database: the same rows, in other tables.
const RESTORE: &str = "begin;
    alter table app_head rename to former;
    create table app_head (like former including all);
    insert into app_head select * from former;
    commit";

const LOOK: LoadOptions = LoadOptions { now: NOW, tail_events: 0 };

/// An app, and a writer that has its connections.
async fn written_to(test: &TestDb) -> (AppId, Writer) {
    let app = deploy(test, "notes").await;
    let writer = start(&test.db).await;
    writer.connected().await.unwrap();
    (app, writer)
}

#[test]
fn a_database_that_takes_the_place_of_another_is_not_written_to() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let (app, writer) = written_to(test).await;
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

        // A copy that was restored beneath the server.
        operator.execute(RESTORE).await.unwrap();
        operator.execute(CUT).await.unwrap();
        assert_ne!(create(seq + 1, "b").await, Outcome::Committed);
        let LaneStatus::Broken(why) = writer.failed().await else { panic!("a lane has died") };
        assert!(why.contains("another database"), "{why}");
        assert!(writer.health().broken);
        let error = meta::set(&test.db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::Broken(_)), "{error:?}");
        let last_seq = query_scalar("select last_seq from app_head");
        let last_seq: i64 = last_seq.fetch_one(&mut operator).await.unwrap();
        assert_eq!(last_seq.cast_unsigned(), seq + 1);
    });
}

#[test]
fn a_second_standby_of_the_same_timeline_is_another_database() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let (app, writer) = written_to(test).await;
        let mut operator = postgres.connect().await.unwrap();
        // It took over with the timeline that is open here, and was not told of this start: it still
        // notes the one before.
        let before = "update meta set value = regexp_replace(value, '/[0-9A-F]{8}/', '/FFFFFFFE/')
                      where key = 'origin'";
        assert_eq!(operator.execute(before).await.unwrap().rows_affected(), 1);
        operator.execute(CUT).await.unwrap();
        assert_ne!(
            Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await,
            Outcome::Committed
        );
        let LaneStatus::Broken(why) = writer.failed().await else { panic!("a lane has died") };
        assert!(why.contains("another database"), "{why}");
    });
}

#[test]
fn a_session_that_was_made_to_read_only_is_left_when_writes_are_taken_again() {
    on_postgres(async |test: &TestDb| {
        let (app, writer) = written_to(test).await;
        let database = test.database.as_ref().expect("PostgreSQL");
        let create = |key| Draft::new(app, 1).create(row(key, "{}")).commit(&writer);
        // Which cuts the connections: the next ones are made so.
        database.set("default_transaction_read_only", "on").await;
        let refused = async || {
            let outcome = create("a").await;
            matches!(outcome, Outcome::Aborted(Abort::Refused(why)) if why.contains("read-only"))
        };
        until_async("it is refused", refused).await;
        let error = meta::set(&test.db, "k", "v").await.unwrap_err();
        assert!(error.to_string().contains("read-only"), "{error}");
        let is_down = || writer.health().unreachable;
        until("the writer knows it while nobody writes", is_down).await;

        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        operator.execute("set default_transaction_read_only = off").await.unwrap();
        let reset = "do $$ begin execute format(
            'alter database %I reset default_transaction_read_only', current_database());
        end $$";
        operator.execute(reset).await.unwrap();
        until("the writer can write", || !is_down()).await;
        assert_eq!(create("a").await, Outcome::Committed, "at once");
        let set = async || meta::set(&test.db, "k", "v").await.is_ok();
        until_async("an account is written", set).await;
    });
}

#[test]
fn a_session_that_has_prepared_for_a_table_of_before_is_left() {
    on_postgres(async |test: &TestDb| {
        let (app, writer) = written_to(test).await;
        let create = |seq, key| Draft::new(app, seq).create(row(key, "{}")).commit(&writer);
        assert_eq!(create(1, "a").await, Outcome::Committed);
        meta::set(&test.db, "k", "v").await.unwrap();
        // Every connection of the pool has its statements.
        for _ in 0..20 {
            assert!(load_app(&test.db, app, LOOK).await.unwrap().is_some());
            meta::get(&test.db, "k").await.unwrap();
        }
        let database = test.database.as_ref().expect("PostgreSQL");
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        for change in ["rows alter column key", "meta alter column value"] {
            let change = format!("alter table {change} type varchar(512)");
            operator.execute(AssertSqlSafe(change)).await.unwrap();
        }
        assert_eq!(meta::get(&test.db, "k").await.unwrap().as_deref(), Some("v"));
        until_async("an account is written", async || meta::set(&test.db, "k", "w").await.is_ok())
            .await;
        let load = async || match load_app(&test.db, app, LOOK).await {
            Ok(found) => found.is_some(),
            // Not now, never that it may have happened.
            Err(error) => {
                assert!(matches!(error, StorageError::Aborted(_)), "{error:?}");
                false
            }
        };
        until_async("the app is loaded", load).await;
        until_async("it is written", async || create(2, "b").await == Outcome::Committed).await;
    });
}

#[test]
fn a_group_that_waited_too_long_for_its_lane_is_not_begun() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let (one, other) = (deploy(test, "one").await, deploy(test, "other").await);
        let wait_max = Duration::from_millis(300);
        let options = WriterOptions {
            postgres_lanes: 1,
            postgres_wait_max: wait_max,
            ..WriterOptions::default()
        };
        let epoch = test.db.next_epoch().await.unwrap();
        let writer = Writer::start(&test.db, epoch, options).unwrap();
        writer.connected().await.unwrap();
        let mut operator = postgres.connect().await.unwrap();
        operator.execute("begin; lock table events in exclusive mode").await.unwrap();
        let first = tokio::spawn({
            let writer = writer.clone();
            async move { Draft::new(one, 1).create(row("a", "{}")).commit(&writer).await }
        });
        until("it is with the database", || writer.health().in_flight == 1).await;
        let began = Instant::now();
        let second = tokio::spawn({
            let writer = writer.clone();
            async move { Draft::new(other, 1).create(row("a", "{}")).commit(&writer).await }
        });
        until("it has waited too long", || began.elapsed() > wait_max * 2).await;
        assert_eq!(writer.health().queued, 1);
        operator.execute("commit").await.unwrap();
        assert_eq!(first.await.unwrap(), Outcome::Committed);
        let outcome = second.await.unwrap();
        let is_told =
            matches!(&outcome, Outcome::Aborted(Abort::Refused(why)) if why.contains("too long"));
        assert!(is_told, "{outcome:?}");
        assert_eq!(load(&test.db, other).await.head.last_seq, 1);
        assert_eq!(writer.health().queued, 0);
    });
}

#[test]
fn a_standby_is_not_connected_to_before_it_has_taken_over() {
    on_postgres(async |test: &TestDb| {
        let (app, writer) = written_to(test).await;
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
        operator.execute(RESTORE).await.unwrap();
        operator.execute("drop function public.pg_is_in_recovery()").await.unwrap();
        let LaneStatus::Broken(why) = writer.failed().await else { panic!("a lane has died") };
        assert!(why.contains("another database"), "{why}");
    });
}

#[test]
fn a_database_that_does_not_tell_which_one_it_is_is_not_written_to() {
    on_postgres(async |test: &TestDb| {
        let (app, writer) = written_to(test).await;
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

#[test]
fn accounts_are_not_written_to_a_database_that_takes_the_place_of_another() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        meta::set(&test.db, "k", "before").await.unwrap();
        let mut operator = postgres.connect().await.unwrap();
        operator.execute(CUT).await.unwrap();
        meta::set(&test.db, "k", "the same").await.unwrap();

        operator.execute(RESTORE).await.unwrap();
        operator.execute(CUT).await.unwrap();
        // Told at once, and not when the time to wait for a connection is over.
        let error = meta::set(&test.db, "k", "other").await.unwrap_err();
        let is_told =
            matches!(&error, StorageError::Aborted(why) if why.contains("another database"));
        assert!(is_told, "{error:?}");
        let error = meta::set(&test.db, "k", "other").await.unwrap_err();
        assert!(matches!(error, StorageError::Broken(_)), "{error:?}");
        let value = query_scalar("select value from meta where key = 'k'");
        let value: String = value.fetch_one(&mut operator).await.unwrap();
        assert_eq!(value, "the same");
    });
}

#[test]
fn accounts_are_not_written_to_a_standby_or_a_database_that_does_not_tell() {
    for (function, answers) in [
        ("pg_is_in_recovery", "boolean language sql as $$ select nextval('public.asked') > 0 $$"),
        (
            "pg_current_wal_lsn",
            "pg_lsn language plpgsql as $$ begin
                 perform nextval('public.asked');
                 raise exception 'not for you' using errcode = '42501';
             end $$",
        ),
    ] {
        on_postgres(async |test: &TestDb| {
            let database = test.database.as_ref().expect("PostgreSQL");
            let mut operator = PgConnection::connect(&database.url).await.unwrap();
            let say = format!(
                "create sequence public.asked;
                 create function public.{function}() returns {answers}"
            );
            operator.execute(AssertSqlSafe(say)).await.unwrap();
            database.set("search_path", "public, pg_catalog").await;
            let mut operator = PgConnection::connect(&database.url).await.unwrap();
            let db = test.db.clone();
            let setting = tokio::spawn(async move { meta::set(&db, "k", "v").await });
            let asked = "select is_called from public.asked";
            let refused = async || {
                assert!(!setting.is_finished(), "{function}");
                query_scalar(asked).fetch_one(&mut operator).await.unwrap()
            };
            until_async("a new connection is asked", refused).await;
            // It is in order again before the time to wait for a connection is over.
            let mend = format!("drop function public.{function}()");
            operator.execute(AssertSqlSafe(mend)).await.unwrap();
            setting.await.unwrap().unwrap();
            assert_eq!(meta::get(&test.db, "k").await.unwrap().as_deref(), Some("v"));
        });
    }
}

/// Starts anew: the history of all apps' feeds, and what is noted of the database.
async fn started(test: &TestDb) -> (String, String) {
    let db = Db::connect(&test.options).await.unwrap();
    let Db::Postgres(postgres) = &db else { unreachable!() };
    let noted = "select (select string_agg(distinct history::text, ' ') from apps), value
                 from meta where key = 'origin'";
    let noted = sqlx::query_as(noted).fetch_one(postgres.pool()).await.unwrap();
    db.close().await;
    noted
}

#[test]
fn a_part_that_is_not_told_is_no_other_one() {
    on_postgres(async |test: &TestDb| {
        deploy(test, "notes").await;
        let database = test.database.as_ref().expect("PostgreSQL");
        let (history, noted) = started(test).await;
        let (cluster, rest) = noted.split_once('/').unwrap();
        let (timeline, tables) = rest.split_once('/').unwrap();
        assert!([cluster, timeline].iter().all(|part| !part.is_empty()), "{noted}");
        assert!(tables.contains('/'), "{noted}");

        // A right is lost. What is noted stays, be it more or as much as it tells now.
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        let refuse = "create function public.pg_control_system(out system_identifier bigint)
                      language plpgsql as $$
                      begin raise exception 'not for you' using errcode = '42501'; end $$";
        operator.execute(refuse).await.unwrap();
        database.set("search_path", "public, pg_catalog").await;
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        let mut note = async |value: &str| {
            let note = format!("update meta set value = '{value}' where key = 'origin'");
            operator.execute(AssertSqlSafe(note)).await.unwrap();
        };
        assert_eq!(started(test).await, (history.clone(), noted.clone()));
        let less = format!("/{rest}");
        note(&less).await;
        assert_eq!(started(test).await, (history.clone(), less.clone()));
        note("//").await;
        assert_eq!(started(test).await, (history.clone(), less));

        // A part that both know is another one.
        note(&format!("{cluster}/0000000F/{tables}")).await;
        let (copied, found) = started(test).await;
        assert_ne!(copied, history);
        assert_eq!(found, noted);
        // An operator says so.
        note("").await;
        let (restored, found) = started(test).await;
        assert_ne!(restored, copied);
        assert_eq!(found, format!("/{rest}"));

        // The right is given back.
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        operator.execute("drop function public.pg_control_system()").await.unwrap();
        assert_eq!(started(test).await, (restored, noted));
    });
}

#[test]
fn an_error_is_no_part_that_cannot_be_told() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        deploy(test, "notes").await;
        let database = test.database.as_ref().expect("PostgreSQL");
        let before = started(test).await;
        database.set("search_path", "public, pg_catalog").await;
        let mut operator = PgConnection::connect(&database.url).await.unwrap();
        // A service without a log of PostgreSQL's kind says several things; a standby, one of them.
        for (sqlstate, is_standby, is_untold) in [
            ("57014", false, false),
            ("XX000", false, false),
            ("55000", true, false),
            ("55000", false, true),
            ("0A000", false, true),
            ("42883", false, true),
            ("42809", false, true),
        ] {
            let say = format!(
                "create or replace function public.pg_current_wal_lsn() returns pg_lsn
                     language plpgsql as $$
                     begin raise exception 'no' using errcode = '{sqlstate}'; end $$;
                 create or replace function public.pg_is_in_recovery() returns boolean
                     language sql as $$ select {is_standby} $$"
            );
            operator.execute(AssertSqlSafe(say)).await.unwrap();
            let opened = Db::connect(&test.options).await;
            assert_eq!(opened.is_ok(), is_untold, "{sqlstate}: {opened:?}");
            if let Ok(db) = opened {
                db.close().await;
            }
            let error = postgres.connect().await.unwrap_err().to_string();
            assert_eq!(error.contains("which database"), is_untold, "{sqlstate}: {error}");
        }
        let clean = "drop function public.pg_current_wal_lsn(), public.pg_is_in_recovery()";
        operator.execute(clean).await.unwrap();
        assert_eq!(started(test).await, before);
    });
}

//! What only PostgreSQL has: connections that a server can cut.

use std::time::Duration;

use rookery_domain::id::{AgentId, KeyId};
use rookery_storage::{
    Db, StorageError, StorageOptions, agents, apps,
    backup::{backup, restore},
    db::PostgresDb,
    directory::{self, Entry},
    load::{LoadOptions, load_app},
    meta,
};
use rookery_testkit::{postgres, until_async};

use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use crate::{
    support::{NOW, TestDb, at_once, human, new_key, number, on_postgres},
    writer::kit::deploy,
};

#[test]
fn connections_that_the_server_has_cut_are_replaced() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        // Several pooled connections, all of them idle when they are cut.
        at_once(8, |i| {
            let db = test.db.clone();
            async move { meta::set(&db, &i.to_string(), "x").await.unwrap() }
        })
        .await;
        for _ in 0..3 {
            let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                       where datname = current_database() and pid <> pg_backend_pid()";
            sqlx::query(cut).execute(postgres.pool()).await.unwrap();
            meta::set(&test.db, "after", "x").await.unwrap();
            assert!(meta::get(&test.db, "after").await.unwrap().is_some());
        }
    });
}

#[test]
fn a_load_waits_until_a_commit_that_was_given_up_has_ended() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        // What a writer has sent that nobody waits for any more.
        let mut late = postgres.connect().await.unwrap();
        late.execute("begin").await.unwrap();
        sqlx::query("update app_head set last_seq = 9 where app_id = $1")
            .bind(app.uuid().as_bytes().to_vec())
            .execute(&mut late)
            .await
            .unwrap();
        let db = test.db.clone();
        let loading = tokio::spawn(async move {
            load_app(&db, app, LoadOptions { now: NOW, tail_events: 0 }).await.unwrap().unwrap()
        });
        let waiting = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock'";
        while number(&test.db, waiting).await == 0 && !loading.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(!loading.is_finished(), "it would not see what lands later");
        late.execute("commit").await.unwrap();
        assert_eq!(loading.await.unwrap().head.last_seq, 9);
    });
}

#[test]
fn the_directory_waits_until_a_commit_that_was_given_up_has_ended() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        human(&test.db, "ann@example.org").await;
        let mut late = postgres.connect().await.unwrap();
        late.execute("begin; update humans set name = 'Ann'").await.unwrap();
        let db = test.db.clone();
        let loading = tokio::spawn(async move {
            let mut names = Vec::new();
            let visit = |entry| {
                if let Entry::Human(human) = entry {
                    names.push(human.name);
                }
            };
            directory::load(&db, NOW, visit).await.unwrap();
            names
        });
        let waiting = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock'";
        while number(&test.db, waiting).await == 0 && !loading.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(!loading.is_finished(), "it would not see what lands later");
        late.execute("commit").await.unwrap();
        assert_eq!(loading.await.unwrap(), [Some("Ann".into())]);
    });
}

#[test]
fn a_load_that_does_not_get_its_turn_ends_and_leaves_its_connection_sound() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let mut hangs = postgres.connect().await.unwrap();
        hangs.execute("begin; lock table app_head in access exclusive mode").await.unwrap();
        let options = StorageOptions {
            postgres_connections_max: 1,
            ..StorageOptions::postgres(&test.database.as_ref().unwrap().url, "unused")
        };
        let hasty = Db::connect(&options).await.unwrap();
        let Db::Postgres(pool) = &hasty else { unreachable!() };
        pool.pool().execute("set lock_timeout = '1ms'").await.unwrap();
        let load = || load_app(&hasty, app, LoadOptions { now: NOW, tail_events: 0 });
        load().await.expect_err("somebody has the lock");
        hangs.execute("rollback").await.unwrap();
        assert!(load().await.unwrap().is_some());
        hasty.close().await;
    });
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_told_by_its_own_error() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://ann:hunter2@{closed}/rookery");
    let folder = tempfile::tempdir().unwrap();
    let error = Db::connect(&StorageOptions::postgres(url, folder.path())).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Connection refused"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains('\n'), "{text}");
}

#[test]
fn a_transaction_that_loses_a_deadlock_is_tried_again() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let db = &test.db;
        let mut keys = Vec::new();
        for _ in 0..2 {
            let (_, key) =
                agents::register(db, AgentId::new(), "robin".into(), new_key(), NOW).await.unwrap();
            keys.push(key.id);
        }
        keys.sort_unstable();
        let lock = async |connection: &mut PgConnection, key: KeyId| {
            sqlx::query("update agent_keys set prefix = prefix where id = $1")
                .bind(key.uuid().as_bytes().to_vec())
                .execute(connection)
                .await
                .unwrap();
        };
        // Somebody locks the keys in the other order, and never notices a deadlock itself.
        let mut other = postgres.connect().await.unwrap();
        other.execute("set deadlock_timeout = '60s'; set lock_timeout = 0").await.unwrap();
        other.execute("begin").await.unwrap();
        lock(&mut other, keys[1]).await;
        let uses = keys.iter().map(|key| (*key, NOW)).collect();
        let touch = tokio::spawn({
            let db = db.clone();
            async move { agents::keys::touch(&db, uses, NOW).await }
        });
        let waiting = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock'";
        until_async("somebody waits for a lock", async || number(db, waiting).await > 0).await;
        lock(&mut other, keys[0]).await;
        other.execute("commit").await.unwrap();
        touch.await.unwrap().unwrap();
        let used = "select count(*) from agent_keys where last_used_at is not null";
        assert_eq!(number(db, used).await, 2);
    });
}

/// Makes the first `count` commits that touch `meta` fail with this SQLSTATE, at COMMIT itself.
pub(crate) async fn refuse_commits(postgres: &PostgresDb, count: u32, sqlstate: &str) {
    refuse_commits_saying(postgres, count, sqlstate, "refused").await;
}

async fn refuse_commits_saying(postgres: &PostgresDb, count: u32, sqlstate: &str, why: &str) {
    let sql = format!(
        "create sequence attempts;
         create function refuse() returns trigger language plpgsql as $$
         begin
             if nextval('attempts') <= {count} then
                 raise exception '{why}' using errcode = '{sqlstate}';
             end if;
             return null;
         end $$;
         create constraint trigger refuse after insert or update on meta
             deferrable initially deferred for each row execute function refuse();"
    );
    postgres.pool().execute(AssertSqlSafe(sql)).await.unwrap();
}

#[test]
fn a_commit_that_certainly_failed_is_tried_again() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        refuse_commits(postgres, 2, "40001").await;
        meta::set(&test.db, "k", "v").await.unwrap();
        assert_eq!(number(&test.db, "select last_value from attempts").await, 3);
        assert_eq!(meta::get(&test.db, "k").await.unwrap().as_deref(), Some("v"));
    });
}

#[test]
fn a_commit_that_goes_on_failing_is_given_up_and_leaves_nothing() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        refuse_commits(postgres, 1_000, "40001").await;
        let error = meta::set(&test.db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::Aborted(_)), "{error:?}");
        assert_eq!(number(&test.db, "select last_value from attempts").await, 4);
        assert_eq!(meta::get(&test.db, "k").await.unwrap(), None);
    });
}

#[test]
fn a_lock_that_was_waited_for_in_vain_is_not_waited_for_again() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let sql = "create sequence attempts;
                   create function locked() returns trigger language plpgsql as $$
                   begin
                       perform nextval('attempts');
                       raise exception 'refused' using errcode = '55P03';
                   end $$;
                   create trigger locked before insert on meta
                       for each row execute function locked()";
        postgres.pool().execute(sql).await.unwrap();
        let error = meta::set(&test.db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::Aborted(_)), "{error:?}");
        assert_eq!(number(&test.db, "select last_value from attempts").await, 1);
    });
}

#[test]
fn a_commit_of_unknown_outcome_is_never_tried_again() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        // What a server says that shuts down, which may have committed already.
        refuse_commits(postgres, 1, "57P01").await;
        let error = meta::set(&test.db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::MaybeCommitted(_)), "{error:?}");
        assert!(!error.is_certain());
        assert_eq!(number(&test.db, "select last_value from attempts").await, 1);
        meta::set(&test.db, "k", "v").await.unwrap();
    });
}

#[test]
fn a_server_that_falls_silent_keeps_nobody_waiting() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        // Each time the one connection of the pool is given up, and another takes its place.
        let options = StorageOptions {
            postgres_connections_max: 1,
            postgres_answer_timeout: Duration::from_secs(3),
            ..StorageOptions::postgres(&test.database.as_ref().unwrap().url, "unused")
        };
        let hasty = Db::connect(&options).await.unwrap();
        let load = || load_app(&hasty, app, LoadOptions { now: NOW, tail_events: 0 });
        let mut hangs = postgres.connect().await.unwrap();

        hangs.execute("begin; lock table meta, app_head in access exclusive mode").await.unwrap();
        for error in [
            meta::get(&hasty, "k").await.unwrap_err(),
            meta::set(&hasty, "k", "lost").await.unwrap_err(),
            load().await.unwrap_err(),
        ] {
            assert!(matches!(error, StorageError::Aborted(_)), "{error:?}");
        }
        hangs.execute("rollback").await.unwrap();
        assert_eq!(meta::get(&hasty, "k").await.unwrap(), None);
        assert!(load().await.unwrap().is_some());

        let sql = "create function wait() returns trigger language plpgsql as $$
                   begin
                       perform pg_advisory_xact_lock(1);
                       return null;
                   end $$;
                   create constraint trigger wait after insert on meta
                       deferrable initially deferred for each row execute function wait()";
        hangs.execute(sql).await.unwrap();
        hangs.execute("begin; select pg_advisory_xact_lock(1)").await.unwrap();
        let error = meta::set(&hasty, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::MaybeCommitted(_)), "{error:?}");
        hangs.execute("rollback").await.unwrap();
        let has_landed = async || meta::get(&hasty, "k").await.unwrap().as_deref() == Some("v");
        until_async("the commit of which nobody heard", has_landed).await;
        hasty.close().await;
    });
}

#[test]
fn a_full_disk_is_told_apart() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        refuse_commits(postgres, 1, "53100").await;
        assert_eq!(meta::set(&test.db, "k", "v").await.unwrap_err(), StorageError::Full);
        meta::set(&test.db, "k", "v").await.unwrap();
    });
}

#[test]
fn what_an_operator_can_put_right_is_no_bug_of_ours() {
    // Only reads; an I/O error; a password that was changed; a database that is being replaced; a
    // process that was stopped in the middle; a standby, whose code is also that of what no server can.
    for (sqlstate, why, is_known) in [
        ("25006", "refused", true),
        ("58030", "refused", true),
        ("28P01", "refused", true),
        ("3D000", "refused", true),
        ("25P03", "refused", true),
        ("0A000", "cannot set transaction read-write mode during recovery", true),
        ("55000", "cannot acquire lock mode while recovery is in progress", true),
        ("0A000", "refused", false),
    ] {
        on_postgres(async |test: &TestDb| {
            let Db::Postgres(postgres) = &test.db else { unreachable!() };
            refuse_commits_saying(postgres, 1_000, sqlstate, why).await;
            let error = meta::set(&test.db, "k", "v").await.unwrap_err();
            let is_aborted = matches!(error, StorageError::Aborted(_));
            assert_eq!(is_aborted, is_known, "{sqlstate}: {error:?}");
        });
    }
}

#[test]
fn nodes_that_start_together_migrate_once() {
    let Some(cluster) = rookery_testkit::postgres() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let database = cluster.empty_database().await;
        let epochs = at_once(4, |_| {
            let url = database.url.clone();
            async move {
                let db = Db::connect(&StorageOptions::postgres(url, "unused")).await.unwrap();
                let epoch = db.next_epoch().await.unwrap();
                db.close().await;
                epoch
            }
        })
        .await;
        assert_eq!(epochs.iter().map(|epoch| epoch.0).sum::<i64>(), 1 + 2 + 3 + 4);
    });
}

#[test]
fn a_database_that_cannot_hold_every_text_is_refused() {
    let Some(cluster) = rookery_testkit::postgres() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let open = async |encoding: &str| {
            let options = format!("encoding '{encoding}' template template0");
            let database = cluster.database_with(&options).await;
            let options = StorageOptions::postgres(database.url.clone(), "unused");
            Db::connect(&options).await.map(|db| (db, database))
        };
        let text = open("LATIN1").await.unwrap_err().to_string();
        assert!(text.contains("LATIN1") && text.contains("UTF8"), "{text}");
        let (db, _database) = open("SQL_ASCII").await.unwrap();
        meta::set(&db, "bird", "🐦 ü").await.unwrap();
        assert_eq!(meta::get(&db, "bird").await.unwrap().as_deref(), Some("🐦 ü"));
        db.close().await;
    });
}

#[test]
fn a_commit_is_durable_and_isolated_whatever_the_database_is_set_to() {
    on_postgres(async |test: &TestDb| {
        let database = test.database.as_ref().expect("PostgreSQL");
        database.set("default_transaction_isolation", "serializable").await;
        database.set("idle_session_timeout", "'10min'").await;
        database.set("standard_conforming_strings", "off").await;
        database.set("statement_timeout", "'10s'").await;
        for (set, found) in [("off", "on"), ("on", "on"), ("remote_write", "remote_write")] {
            database.set("synchronous_commit", set).await;
            let db = Db::connect(&test.options).await.unwrap();
            let Db::Postgres(postgres) = &db else { unreachable!() };
            // What the session has set itself is not changed by a reload of the server.
            let show = "select string_agg(setting || ' by ' || source, ', ' order by name)
                        from pg_settings where name in ('synchronous_commit',
                            'default_transaction_isolation', 'idle_session_timeout',
                            'standard_conforming_strings', 'statement_timeout')";
            let pooled: String = sqlx::query_scalar(show).fetch_one(postgres.pool()).await.unwrap();
            let mut lane = postgres.connect().await.unwrap();
            let lane = sqlx::query_scalar(show).fetch_one(&mut lane).await;
            let found = format!(
                "read committed by session, 0 by session, on by session, 0 by session, \
                 {found} by session"
            );
            assert_eq!((pooled, lane.unwrap()), (found.clone(), found));
            db.close().await;
        }
    });
}

#[test]
fn feeds_begin_a_new_history_in_a_copy_and_only_there() {
    on_postgres(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        let history = async |options: &StorageOptions| {
            let db = Db::connect(options).await.unwrap();
            let record = apps::by_id(&db, app).await.unwrap().expect("the app");
            db.close().await;
            record.history
        };
        let before = history(&test.options).await;
        assert_eq!(history(&test.options).await, before, "it was only started again");
        test.db.close().await;
        let original = test.database.as_ref().expect("PostgreSQL");
        let copy = postgres().expect("PostgreSQL").copy_of(original).await;
        let options = StorageOptions::postgres(&copy.url, "unused");
        let copied = history(&options).await;
        assert_ne!(copied, before, "what came after the copy was made is not in it");
        assert_eq!(history(&options).await, copied, "once is enough");
    });
}

#[test]
fn a_pooler_that_shares_sessions_is_named() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        // What two sessions are told that one process serves in turn.
        let shared =
            "create function public.pg_backend_pid() returns int language sql as 'select 7'";
        postgres.pool().execute(shared).await.unwrap();
        let database = test.database.as_ref().expect("PostgreSQL");
        database.set("search_path", "public, pg_catalog").await;
        let text = Db::connect(&test.options).await.unwrap_err().to_string();
        assert!(text.contains("pooler") && text.contains("session mode"), "{text}");
    });
}

#[test]
fn a_wrong_address_is_refused_without_quoting_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for url in [
            "postgres://u:canary@[bad/x",
            "postgres://u:canary@127.0.0.1:1/x",
            "mysql://u:canary@127.0.0.1:1/x",
            "canary",
        ] {
            let options = StorageOptions::postgres(url, "unused");
            let error = Db::connect(&options).await.unwrap_err();
            assert!(matches!(error, StorageError::Open(_)), "{error:?}");
            assert!(!format!("{error} {error:?} {options:?}").contains("canary"), "{error}");
        }
    });
}

#[test]
fn backup_and_restore_point_to_the_tools_of_postgresql() {
    on_postgres(async |test: &TestDb| {
        human(&test.db, "ada@example.com").await;
        let file = test.options.data_dir.join("copy.db");
        for result in [
            backup(&test.options, &file, std::future::pending()).await,
            restore(&test.options, &file, true).await,
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, StorageError::Unsupported(_)), "{error:?}");
            assert!(error.to_string().contains("pg_dump"));
        }
    });
}

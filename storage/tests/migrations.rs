//! What a migration makes of what is there, on both databases.

use std::{fmt::Write as _, fs, ops::RangeInclusive, path::Path};

use rookery_storage::{
    Db, StorageOptions,
    commit::{Abort, Epoch, Outcome},
};
use rookery_testkit::until_async;
use rusqlite::Connection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, migrate::Migrate as _};

use crate::{
    support::{TestDb, number, on_postgres, row},
    writer::kit::{Draft, deploy, start},
};

/// The migrations of a database with these numbers, as one script.
fn migrations(database: &str, numbers: RangeInclusive<u32>) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_str().unwrap();
        numbers.contains(&name[..4].parse().unwrap())
    });
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// What `ask` finds, one text for each row, on each database that there is: it is filled as the
/// migration before `number` left it, then migrated. `blob'01'` is a literal of bytes.
fn found_after(number: u32, fill: &str, ask: &'static str) -> Vec<Vec<String>> {
    let sqlite = Connection::open_in_memory().unwrap();
    sqlite.pragma_update(None, "foreign_keys", "off").unwrap();
    sqlite.execute_batch(&migrations("sqlite", 1..=number - 1)).unwrap();
    sqlite.execute_batch(&fill.replace("blob'", "x'")).unwrap();
    sqlite.execute_batch(&migrations("sqlite", number..=number)).unwrap();
    let mut query = sqlite.prepare(ask).unwrap();
    let mut found =
        vec![query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()];
    let Some(cluster) = rookery_testkit::postgres() else { return found };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    found.push(runtime.block_on(async {
        let database = cluster.empty_database().await;
        let mut server = PgConnection::connect(&database.url).await.unwrap();
        let script = [
            migrations("postgres", 1..=number - 1),
            // No foreign key is asked.
            format!("set session_replication_role = replica; {}", fill.replace("blob'", "'\\x")),
            migrations("postgres", number..=number),
        ];
        for sql in script {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut server).await.unwrap();
        }
        sqlx::query_scalar(ask).fetch_all(&mut server).await.unwrap()
    }));
    found
}

/// An app whose id is its number, and its versions with these manifests.
fn app(number: u8, slug: &str, retention: &str, manifests: &[&str]) -> String {
    let mut sql = format!(
        "insert into apps (id, owner, slug, status, visibility, timezone, version, unrestricted,
                           retention, history, created_at, updated_at)
         values (blob'{number:02x}', blob'01', '{slug}', 0, 0, 'UTC', {}, 0, '{retention}',
                 blob'02', 0, 0);",
        manifests.len(),
    );
    for (at, manifest) in (1..).zip(manifests) {
        let _ = write!(
            sql,
            "insert into versions (app_id, number, html, manifest, created_by, created_at)
             values (blob'{number:02x}', {at}, '', '{manifest}', blob'03', 0);"
        );
    }
    sql
}

#[test]
fn apps_that_may_bound_their_rows_are_known_for_it_from_the_beginning() {
    let bounds = r#"{"retention": {"maxRows": 9}}"#;
    let before = r#"{"collections": {}}"#;
    let fill = [
        app(1, "free", "{}", &[bounds, before]),
        app(2, "by-its-manifest", "{}", &[before, bounds]),
        app(3, "by-an-escape", "{}", &[before, r#"{"\u0072etention": {"maxRows": 9}}"#]),
        app(4, "by-its-owner", r#"{"entries": {"max_rows": 9}}"#, &[before, before]),
    ];
    let ask = "select slug from apps where bounded = 1 order by id";
    for found in found_after(20, &fill.concat(), ask) {
        assert_eq!(found, ["by-its-manifest", "by-an-escape", "by-its-owner"]);
    }
}

#[test]
fn heads_know_the_counts_of_what_is_there() {
    let old = r#"{"collections": {"gone": {}}}"#;
    let manifest =
        r#"{"collections": {"b": {"description": "\u0000 \\u0000"}, "B_2": {}, "a": {}}}"#;
    let mut fill = [
        app(1, "full", "{}", &[old, manifest]),
        app(2, "empty", "{}", &[manifest]),
        app(3, "bare", "{}", &["{}"]),
        app(4, "damaged", "{}", &["no manifest"]),
    ]
    .concat();
    for app in 1..=4 {
        let _ = write!(
            fill,
            "insert into app_head (app_id, epoch, last_seq) values (blob'{app:02x}', 0, 0);"
        );
    }
    // Two live ones, one in the trash, one purged, one detached; one of each in removed ones.
    let states = [("a", 0), ("a", 0), ("a", 1), ("b", 2), ("b", 3), ("gone", 3), ("away", 1)];
    for (at, (collection, state)) in states.into_iter().enumerate() {
        let _ = write!(
            fill,
            "insert into rows (app_id, collection, key, version, creator, editor, created_at,
                               updated_at, state)
             values (blob'01', '{collection}', 'k{at}', 1, blob'', blob'', 0, 0, {state});"
        );
    }
    let ask = "select collections from app_head order by app_id";
    for found in found_after(21, &fill, ask) {
        let found: Vec<String> = found.iter().map(|text| text.replace(' ', "")).collect();
        let full = r#"[["B_2",0,0,0],["a",2,1,0],["b",0,0,1],["away",0,1,0],["gone",0,0,1]]"#;
        let empty = r#"[["B_2",0,0,0],["a",0,0,0],["b",0,0,0]]"#;
        assert_eq!(found, [full, empty, "[]", "[]"], "and a damaged one stops nothing");
    }
}

/// Takes a migration back.
const UNDO: &str = "alter table links drop column spent;
                    delete from _sqlx_migrations where version = 22";

#[test]
fn who_started_before_a_migration_is_fenced_by_it() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let before = start(&test.db).await;
        let draft = |seq| Draft::new(app, seq).create(row("a", "{}"));
        assert_eq!(draft(1).commit(&before).await, Outcome::Committed);
        let again = Db::connect(&test.options).await.unwrap();
        assert_eq!(draft(2).commit(&before).await, Outcome::Committed, "nothing was migrated");
        again.close().await;
        // As if this one were new.
        postgres.pool().execute(UNDO).await.unwrap();
        assert!(!before.is_superseded().await.unwrap());
        let migrated = Db::connect(&test.options).await.unwrap();
        assert!(before.is_superseded().await.unwrap(), "it is not ready any more");
        assert_eq!(draft(3).commit(&before).await, Outcome::Aborted(Abort::Fenced));
        assert_eq!(migrated.newest_epoch().await.unwrap(), Epoch(2), "above the one of before");
        assert_eq!(migrated.next_epoch().await.unwrap(), Epoch(3));
        let after = start(&migrated).await;
        assert_eq!(draft(3).commit(&after).await, Outcome::Committed);
        assert!(!after.is_superseded().await.unwrap());
        migrated.close().await;
    });
}

#[test]
fn rows_can_be_written_while_all_tables_are_published() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let publication = "create publication everything for all tables";
        postgres.pool().execute(publication).await.unwrap();
        for seq in 1..=2 {
            let draft = Draft::new(app, seq).create(row("a", "{}"));
            assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        }
        let without_identity = "select count(*) from pg_class
             where relkind = 'r' and relnamespace = current_schema()::regnamespace
               and relreplident = 'd'
               and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)";
        assert_eq!(number(&test.db, without_identity).await, 0);
    });
}

#[test]
fn who_is_beside_a_server_migrates_nothing_under_it() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let server = start(&test.db).await;
        let beside = Db::connect_beside(&test.options).await.unwrap();
        assert_eq!(beside.newest_epoch().await.unwrap(), Epoch(1), "none is drawn");
        beside.close().await;
        // As if this one were new.
        postgres.pool().execute(UNDO).await.unwrap();
        let text = Db::connect_beside(&test.options).await.unwrap_err().to_string();
        assert!(text.contains("start the server of this version first"), "{text}");
        let migrated = "select count(*) from _sqlx_migrations where version = 22";
        assert_eq!(number(&test.db, migrated).await, 0);
        assert!(!server.is_superseded().await.unwrap());
        let draft = Draft::new(app, 1).create(row("a", "{}"));
        assert_eq!(draft.commit(&server).await, Outcome::Committed);
    });
}

#[test]
fn a_start_waits_for_another_process_that_migrates() {
    let Some(cluster) = rookery_testkit::postgres() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let database = cluster.empty_database().await;
        let mut other = PgConnection::connect(&database.url).await.unwrap();
        other.lock().await.unwrap();
        let options = StorageOptions::postgres(&database.url, "unused");
        let starting = tokio::spawn(async move { Db::connect(&options).await.unwrap() });
        let waits = async || {
            let waiting =
                "select count(*) from pg_locks where locktype = 'advisory' and not granted";
            let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&mut other).await.unwrap();
            waiting > 0
        };
        until_async("the start waits", waits).await;
        other.unlock().await.unwrap();
        starting.await.unwrap().close().await;
    });
}

#[test]
fn tables_are_not_made_beside_those_that_there_are() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        // As "$user" does, once somebody makes a schema that is called like the role.
        postgres.pool().execute("create schema first").await.unwrap();
        let database = test.database.as_ref().expect("PostgreSQL");
        database.set("search_path", "first, public").await;
        let text = Db::connect(&test.options).await.unwrap_err().to_string();
        assert!(text.contains("\"first\"") && text.contains("\"public\""), "{text}");
        let made = "select count(*) from pg_tables where schemaname = 'first'";
        assert_eq!(number(&test.db, made).await, 0);
        database.set("search_path", "nowhere").await;
        let text = Db::connect(&test.options).await.unwrap_err().to_string();
        assert!(text.contains("search_path names no schema"), "{text}");
        database.set("search_path", "first").await;
        Db::connect(&test.options).await.unwrap().close().await;
    });
}

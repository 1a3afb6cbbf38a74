//! The file layer under SQLite's log: what it gathers is neither missed by anybody nor lost.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rookery_domain::{event::EventType, id::AppId, row::Row};
use rookery_storage::{
    Db, StorageOptions, Writer, WriterOptions,
    commit::{Abort, Outcome},
    integrity,
};
use rookery_testkit::until;
use rusqlite::{Connection, OpenFlags, params};

use super::kit::{Draft, deploy, keys, load, picture, start, start_with_pages};
use crate::support::{TestDb, on_sqlite, row};

/// Rows of 4 KiB, each of which is also in its event: more than twice the writer's page cache (8
/// MiB).
const ROWS: usize = 2_500;

fn large(number: usize) -> Arc<Row> {
    row(&format!("k{number:04}"), &format!(r#"{{"text":"{}"}}"#, "x".repeat(4_096)))
}

fn commit_of(app: AppId, rows: &[Arc<Row>]) -> Draft {
    rows.iter().fold(Draft::new(app, 1), |draft, row| draft.create(Arc::clone(row)))
}

fn large_rows() -> Vec<Arc<Row>> {
    (0..ROWS).map(large).collect()
}

#[test]
fn a_commit_larger_than_the_page_cache_is_whole() {
    on_sqlite(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let rows = large_rows();
        assert_eq!(commit_of(app, &rows).commit(&writer).await, Outcome::Committed);
        let mut stored: Vec<_> = load(&test.db, app).await.live_rows().cloned().collect();
        stored.sort_by(|a, b| a.key().cmp(b.key()));
        assert!(stored == rows, "what was committed is not what is stored");
        integrity::check(&test.db).await.unwrap();
    });
}

#[test]
fn a_commit_that_outgrows_the_file_after_its_first_pages_left_the_cache_leaves_nothing() {
    on_sqlite(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        // 12 MiB: the log has most of the commit's pages by then.
        let writer = start_with_pages(&test.db, 3_072).await;
        let before = picture(&load(&test.db, app).await);
        let outcome = commit_of(app, &large_rows()).commit(&writer).await;
        assert_eq!(outcome, Outcome::Aborted(Abort::Full));
        assert_eq!(picture(&load(&test.db, app).await), before);
        // What the refused commit left in the log is written over.
        let small = Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(small, Outcome::Committed);
        assert_eq!(keys(&load(&test.db, app).await), ["a"]);
        integrity::check(&test.db).await.unwrap();
    });
}

#[test]
fn whoever_reads_meanwhile_sees_whole_commits() {
    // About 60 pages each, more than what is written to the log at once.
    const ROWS_PER_COMMIT: usize = 25;
    const COMMITS: usize = 40;
    on_sqlite(async |test: &TestDb| {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let write = async {
            let mut seq = 1;
            for commit in 0..COMMITS {
                let mut draft = Draft::new(app, seq).event(EventType::AppWoken, None, None);
                for number in 0..ROWS_PER_COMMIT {
                    draft = draft.create(large(commit * ROWS_PER_COMMIT + number));
                }
                assert_eq!(draft.commit(&writer).await, Outcome::Committed);
                seq += 1 + ROWS_PER_COMMIT as u64;
            }
        };
        let read = async {
            loop {
                let rows = load(&test.db, app).await.live_rows().count();
                assert_eq!(rows % ROWS_PER_COMMIT, 0);
                if rows == COMMITS * ROWS_PER_COMMIT {
                    break;
                }
            }
        };
        futures::join!(write, read);
        integrity::check(&test.db).await.unwrap();
    });
}

/// What the table of [`random_transactions`] is to hold.
type Model = BTreeMap<u8, Vec<u8>>;

fn open(path: &Path, vfs: Option<&str>) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
        None => Connection::open_with_flags(path, flags),
    };
    connection.unwrap()
}

fn stored(connection: &Connection) -> Model {
    let mut all = connection.prepare_cached("select key, value from t").unwrap();
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn change(connection: &Connection, model: &mut Model, random: &mut StdRng) {
    let key: u8 = random.random();
    if random.random_ratio(1, 4) {
        connection.prepare_cached("delete from t where key = ?1").unwrap().execute([key]).unwrap();
        model.remove(&key);
        return;
    }
    let value = vec![random.random::<u8>(); random.random_range(0..12_000)];
    let mut put = connection.prepare_cached("insert or replace into t values (?1, ?2)").unwrap();
    put.execute(params![key, value]).unwrap();
    model.insert(key, value);
}

fn random_transactions(seed: u64, synchronous: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let writes = open(&path, Some("rookery-log"));
    // So small a cache writes pages to the log, reads them back and writes them over within one
    // transaction.
    let setup = format!(
        "pragma journal_mode = wal; pragma synchronous = {synchronous}; pragma cache_size = 10; \
         pragma wal_autocheckpoint = 0; create table t (key integer primary key, value blob);"
    );
    writes.execute_batch(&setup).unwrap();
    let reads = open(&path, None);
    let mut random = StdRng::seed_from_u64(seed);
    let mut model = Model::new();
    for _ in 0..60 {
        let before = model.clone();
        writes.execute_batch("begin immediate").unwrap();
        for _ in 0..random.random_range(1..40) {
            change(&writes, &mut model, &mut random);
        }
        if random.random_ratio(1, 4) {
            let kept = model.clone();
            writes.execute_batch("savepoint one").unwrap();
            for _ in 0..random.random_range(1..20) {
                change(&writes, &mut model, &mut random);
            }
            writes.execute_batch("rollback to one").unwrap();
            model = kept;
        }
        assert_eq!(stored(&writes), model, "seed {seed}: the transaction sees itself");
        assert_eq!(stored(&reads), before, "seed {seed}: nobody else does");
        if random.random_ratio(1, 4) {
            writes.execute_batch("rollback").unwrap();
            model = before;
        } else {
            writes.execute_batch("commit").unwrap();
        }
        assert_eq!(stored(&reads), model, "seed {seed}: a commit is seen at once");
        if random.random_ratio(1, 8) {
            let how = ["passive", "restart", "truncate"][random.random_range(0..3)];
            let run = format!("pragma wal_checkpoint({how})");
            let busy: i64 = writes.query_row(&run, [], |row| row.get(0)).unwrap();
            assert_eq!(busy, 0);
        }
    }
    let verdict: String = reads.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "seed {seed}");
}

#[test]
fn random_transactions_with_a_tiny_cache_are_seen_whole_or_not_at_all() {
    on_sqlite(async |test: &TestDb| {
        // It brings the file layer with it.
        let _writer = start(&test.db).await;
        for seed in 0..8 {
            random_transactions(seed, "full");
            random_transactions(seed, "off");
        }
    });
}

#[test]
fn a_commit_of_any_length_is_seen_at_once_where_no_sync_follows_it() {
    on_sqlite(async |test: &TestDb| {
        let _writer = start(&test.db).await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let writes = open(&path, Some("rookery-log"));
        let setup = "pragma journal_mode = wal; pragma synchronous = off; \
             pragma wal_autocheckpoint = 0; create table t (key integer primary key, value blob);";
        writes.execute_batch(setup).unwrap();
        let reads = open(&path, None);
        // One page more each time, past twice what is gathered at most.
        for pages in 0..80 {
            let value = vec![b'x'; pages * 4_092];
            let mut put = writes.prepare_cached("insert or replace into t values (1, ?1)").unwrap();
            put.execute([&value]).unwrap();
            assert!(stored(&reads)[&1] == value, "{pages} pages");
        }
    });
}

/// How often `text` stands in the files of the database.
fn found(folder: &Path, text: &[u8]) -> usize {
    let files = fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    files.map(|bytes| bytes.windows(text.len()).filter(|window| *window == text).count()).sum()
}

/// Purged content is overwritten in the file, and the log is emptied once nobody has written for a
/// while.
#[test]
fn nothing_of_a_purged_row_stays_in_any_file() {
    const CANARY: &str = "purged-canary";
    on_sqlite(async |test| {
        let Db::Sqlite(db) = &test.db else { unreachable!("it runs on SQLite") };
        let folder = db.path().parent().unwrap().to_owned();
        let app = deploy(test, "notes").await;
        let options =
            WriterOptions { sqlite_log_idle: Duration::from_millis(1), ..WriterOptions::default() };
        let writer = Writer::start(&test.db, test.db.next_epoch().await.unwrap(), options).unwrap();
        // A small one within a page of others, and one over several pages.
        let small = row("small", &format!(r#"{{"text":"{CANARY}"}}"#));
        let large = row("large", &format!(r#"{{"text":"{}"}}"#, CANARY.repeat(2_000)));
        let create = Draft::new(app, 1).create(Arc::clone(&small)).create(Arc::clone(&large));
        assert_eq!(create.commit(&writer).await, Outcome::Committed);
        let log = folder.join("rookery.db-wal");
        let is_empty = || fs::metadata(&log).unwrap().len() == 0;
        until("the log is emptied", is_empty).await;
        assert!(found(&folder, CANARY.as_bytes()) > 2_000);

        let purge = Draft::new(app, 3).purge(row("small", "")).purge(row("large", ""));
        assert_eq!(purge.commit(&writer).await, Outcome::Committed);
        until("the log is emptied again", is_empty).await;
        assert_eq!(found(&folder, CANARY.as_bytes()), 0);
        writer.drain().await;
    });
}

/// Pages of it may be in the system's cache alone, where a sync of an earlier process failed.
#[test]
fn what_a_process_left_in_the_log_is_moved_before_anything_is_appended_to_it() {
    on_sqlite(async |test| {
        let Db::Sqlite(db) = &test.db else { unreachable!("it runs on SQLite") };
        let folder = db.path().parent().unwrap();
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let create = Draft::new(app, 1).create(row("left", "{}"));
        assert_eq!(create.commit(&writer).await, Outcome::Committed);

        let killed = tempfile::tempdir().unwrap();
        for name in ["rookery.db", "rookery.db-wal"] {
            fs::copy(folder.join(name), killed.path().join(name)).unwrap();
        }
        let log = killed.path().join("rookery.db-wal");
        assert!(fs::metadata(&log).unwrap().len() > 0);
        let next = Db::connect(&StorageOptions::sqlite(killed.path())).await.unwrap();
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
        assert_eq!(keys(&load(&next, app).await), ["left"]);
        next.close().await;
        writer.drain().await;
    });
}

//! A database for one test: SQLite in a folder of its own, or a database of the temporary
//! PostgreSQL cluster. And the values that tests fill records with.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rookery_domain::{
    Principal, PrincipalKind, Timestamp,
    app::{AppRecord, AppStatus, ShareToken},
    event::{Event, EventType, RowChange},
    id::{AgentId, AppId, HistoryId, HumanId, KeyId, ParticipantId, SessionId, TransferId},
    limits::AppsMax,
    manifest::Visibility,
    row::{Row, RowText},
    secret::SecretHash,
};
use rookery_storage::{
    Db, StorageOptions,
    agents::{Agent, keys::NewKey},
    apps::{CollectionCounts, KeptCounts, create::NewApp},
    commit::{RowState, RowWrite, Totals},
    directory::{self, Entry},
    humans::{self, Human},
    participants::{CameBy, Participant},
    session_grants::SessionGrant,
    sessions::{NewSession, Session},
    transfers::Transfer,
    versions::{Asset, NewVersion, VersionAsset},
};
use rookery_testkit::Database;

/// The present of all tests.
pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

/// An open database for one test.
pub(crate) struct TestDb {
    /// The database.
    pub(crate) db: Db,
    /// How it was opened.
    pub(crate) options: StorageOptions,
    /// The database on PostgreSQL. Dropped after the connections to it, as the folder is.
    pub(crate) database: Option<Database>,
    _folder: tempfile::TempDir,
}

/// Makes the tests of both databases from one body each. The body gets a `&TestDb`.
macro_rules! contract {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: &TestDb) $body:block)*) => {
        $($(#[$meta])* async fn $name($db: &$crate::support::TestDb) $body)*

        mod sqlite {
            $(#[test] fn $name() {
                $crate::support::on_sqlite(async |db| super::$name(db).await);
            })*
        }

        mod postgres {
            $(#[test] fn $name() {
                $crate::support::on_postgres(async |db| super::$name(db).await);
            })*
        }
    };
}
pub(crate) use contract;

/// Runs a test on SQLite.
pub(crate) fn on_sqlite(body: impl AsyncFnOnce(&TestDb)) {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let options = StorageOptions::sqlite(folder.path().join("data"));
        let db = Db::connect(&options).await.unwrap();
        let test = TestDb { db, options, database: None, _folder: folder };
        body(&test).await;
        test.db.close().await;
    });
}

/// Runs a test on PostgreSQL, or puts it on the list of what could not run.
pub(crate) fn on_postgres(body: impl AsyncFnOnce(&TestDb)) {
    let Some(cluster) = rookery_testkit::postgres() else { return };
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let database = cluster
            .database(async |url| {
                let options = StorageOptions::postgres(url, "unused");
                Db::connect(&options).await.unwrap().close().await;
            })
            .await;
        let options = StorageOptions::postgres(&database.url, folder.path());
        let db = Db::connect(&options).await.unwrap();
        let test = TestDb { db, options, database: Some(database), _folder: folder };
        body(&test).await;
        test.db.close().await;
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs `count` calls at once and answers what each of them answered.
pub(crate) async fn at_once<T, F>(count: u64, call: impl Fn(u64) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count).map(|i| tokio::spawn(call(i))).collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// A hash that no other call has answered.
pub(crate) fn hash() -> SecretHash {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut bytes = [0xab; 32];
    bytes[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    SecretHash(bytes)
}

/// A key to be made.
pub(crate) fn new_key() -> NewKey {
    NewKey { id: KeyId::new(), hash: hash(), prefix: "rk_agent_AbCdEf".into() }
}

/// A session to be opened, which ends an hour from [`NOW`].
pub(crate) fn new_session() -> NewSession {
    NewSession { id: SessionId::new(), hash: hash(), expires_at: NOW.plus_seconds(3_600) }
}

/// What the directory is filled with at `now`.
async fn loaded(db: &Db, now: Timestamp) -> Vec<Entry> {
    let mut entries = Vec::new();
    directory::load(db, now, |entry| entries.push(entry)).await.unwrap();
    entries
}

/// The session with this token, if it is open at `now`.
pub(crate) async fn open_session(db: &Db, hash: SecretHash, now: Timestamp) -> Option<Session> {
    loaded(db, now).await.into_iter().find_map(|entry| match entry {
        Entry::Session(session) if session.hash == hash => Some(session),
        _ => None,
    })
}

pub(crate) async fn agents_of(db: &Db, owner: HumanId) -> Vec<Agent> {
    let mut agents = agents(db).await;
    agents.retain(|agent| agent.owner == Some(owner));
    agents
}

pub(crate) async fn known_agent(db: &Db, id: AgentId) -> Option<Agent> {
    agents(db).await.into_iter().find(|agent| agent.id == id)
}

async fn agents(db: &Db) -> Vec<Agent> {
    let entries = loaded(db, NOW).await.into_iter();
    let agents = entries.filter_map(|entry| match entry {
        Entry::Agent(agent) => Some(agent),
        _ => None,
    });
    agents.collect()
}

/// A sign-in to `app` that waits for `human` for a minute from [`NOW`].
pub(crate) fn session_grant(app: AppId, human: HumanId) -> SessionGrant {
    let expires_at = NOW.plus_seconds(60);
    SessionGrant { hash: hash(), app, human, minted_by: None, expires_at }
}

/// Somebody who came to some app in this way, for a minute from [`NOW`].
pub(crate) fn visitor(came_by: CameBy) -> Participant {
    Participant {
        id: ParticipantId::new(),
        hash: hash(),
        app: AppId::new(),
        came_by,
        minted_by: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(60),
        lasting: false,
    }
}

/// A human with this address.
pub(crate) async fn human(db: &Db, email: &str) -> Human {
    humans::find_or_create(db, email.into(), HumanId::new(), NOW).await.unwrap()
}

/// Somebody who writes.
pub(crate) fn writer() -> Principal {
    Principal::new(PrincipalKind::Agent, AgentId::new().uuid())
}

pub(crate) fn row(key: &str, data: &str) -> Arc<Row> {
    Arc::new(Row {
        text: RowText::new(key, data),
        version: 1,
        creator: writer(),
        editor: writer(),
        created_at: NOW,
        updated_at: NOW,
    })
}

/// The files of [`new_app`].
pub(crate) fn assets() -> [Asset; 2] {
    [
        Asset::new("style.css".into(), "text/css".into(), b"body{}"[..].into()),
        Asset::new("logo.svg".into(), "image/svg+xml".into(), b"<svg/>"[..].into()),
    ]
}

/// An app of this account with these rows in the collection `entries`.
pub(crate) fn new_app(owner: HumanId, slug: &str, rows: &[Arc<Row>]) -> NewApp {
    let collection: Arc<str> = "entries".into();
    let deployed = Event {
        seq: 1,
        kind: EventType::AppDeployed,
        at: NOW,
        by: writer(),
        change: None,
        data: Some(r#"{"version":1}"#.into()),
        silent: false,
    };
    let created = rows.iter().zip(2..).map(|(row, seq)| Event {
        seq,
        kind: EventType::RowCreated,
        at: NOW,
        by: row.creator,
        change: Some(RowChange::new(Arc::clone(&collection), Arc::clone(row))),
        data: None,
        silent: false,
    });
    NewApp {
        record: record(owner, slug),
        bounded: true,
        version: NewVersion {
            number: 1,
            html: "<!doctype html><title>Test</title>".into(),
            manifest: r#"{"collections":{}}"#.into(),
            assets: assets().map(VersionAsset::New).into(),
            by: writer(),
            created_at: NOW,
            drop_through: 0,
        },
        events: std::iter::once(deployed).chain(created).map(Arc::new).collect(),
        totals: Totals {
            live: rows.len() as u64,
            bytes: rows.iter().map(|row| row.stored_bytes()).sum(),
            ..Totals::default()
        },
        collections: KeptCounts::of([CollectionCounts::of_live(
            collection.clone(),
            rows.len() as u64,
        )]),
        rows: rows
            .iter()
            .map(|row| RowWrite {
                collection: Arc::clone(&collection),
                row: Arc::clone(row),
                state: RowState::Live,
            })
            .collect(),
        apps_max: AppsMax { kept: 100, trashed: 100 },
        response: None,
    }
}

/// The record of a new app.
pub(crate) fn record(owner: HumanId, slug: &str) -> AppRecord {
    AppRecord {
        id: AppId::new(),
        owner,
        org: None,
        created_by: Some(AgentId::new()),
        slug: slug.into(),
        status: AppStatus::Live,
        visibility: Visibility::Link,
        timezone: "Europe/Berlin".into(),
        version: 1,
        share: Some(ShareToken { hash: hash(), sealed: "sealed".into() }),
        migration_until: Some(NOW.plus_seconds(60)),
        unrestricted: false,
        retention: [(
            "entries".to_owned(),
            rookery_domain::manifest::Retention { max_age_days: Some(30), max_rows: None },
        )]
        .into(),
        history: HistoryId::new(),
        opened_seq: 0,
        created_at: NOW,
        updated_at: NOW,
        deleted_at: None,
        purge_at: None,
    }
}

/// An offer of `app` by `by`, the `n`th.
pub(crate) fn offer(app: AppId, by: HumanId, n: i64) -> Transfer {
    Transfer {
        id: TransferId::new(),
        app,
        email: "bob@example.com".into(),
        offered_by: by,
        created_at: NOW.plus_seconds(n),
    }
}

/// The number that a query answers, straight from the database.
pub(crate) async fn number(db: &Db, sql: &'static str) -> i64 {
    match db {
        Db::Sqlite(db) => sqlx::query_scalar(sql).fetch_one(db.readers()).await.unwrap(),
        Db::Postgres(db) => sqlx::query_scalar(sql).fetch_one(db.pool()).await.unwrap(),
    }
}

/// Changes something behind everybody's back.
pub(crate) async fn spoil(db: &Db, sql: &'static str) {
    match db {
        Db::Sqlite(db) => {
            rusqlite::Connection::open(db.path()).unwrap().execute(sql, []).unwrap();
        }
        Db::Postgres(db) => {
            sqlx::query(sql).execute(db.pool()).await.unwrap();
        }
    }
}

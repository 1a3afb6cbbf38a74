//! A writer on a test's database, groups to submit to it, and what storage says afterwards.

use std::{pin::Pin, sync::Arc, task::Poll};

use rookery_domain::{
    Timestamp,
    app::{AppRecord, AppStatus},
    budget::{BudgetRecord, BudgetScope},
    event::{Event, EventType, RowChange},
    id::{AppId, HumanId},
    idempotency::{IdempotentRequest, StoredResponse},
    row::Row,
};
use rookery_storage::{
    Db, Writer, WriterOptions,
    apps::{
        CollectionCounts, KeptCounts,
        create::{CreateOutcome, create},
    },
    commit::{
        AppWrite, Epoch, Group, IdempotencyWrite, Outcome, RowState, RowWrite, Scrub,
        SpentChallenge, Ticket, Totals, Writes,
    },
    faults::Faults,
    load::{LoadOptions, LoadedApp, load_app},
};
use sqlx::{Executor as _, PgConnection};
use tokio::sync::{OwnedMutexGuard, oneshot};

use crate::support::{NOW, TestDb, human, new_app, writer};

/// The collection of all rows here.
pub(super) const ENTRIES: &str = "entries";

/// A ticket that passes its outcome on.
struct Reply(oneshot::Sender<Outcome>);

impl Ticket for Reply {
    fn resolve(self: Box<Self>, outcome: Outcome) {
        let _ = self.0.send(outcome);
    }
}

/// A group in the making.
pub(crate) struct Draft(Group, oneshot::Receiver<Outcome>);

impl Draft {
    /// An empty group of the app that builds on `prev_seq`.
    pub(crate) fn new(app: AppId, prev_seq: u64) -> Self {
        let (sender, receiver) = oneshot::channel();
        let group = Group {
            app,
            owner: HumanId::new(),
            prev_seq,
            seq: prev_seq,
            totals: Totals::default(),
            collections: KeptCounts::of([]),
            writes: Writes::default(),
            traces: Vec::new(),
            ticket: Box::new(Reply(sender)),
        };
        Self(group, receiver)
    }

    /// The same of `owner`'s app.
    pub(super) fn of(mut self, owner: HumanId) -> Self {
        self.0.owner = owner;
        self
    }

    /// Adds a row and its event.
    pub(super) fn row(mut self, kind: EventType, state: RowState, row: Arc<Row>) -> Self {
        self.0.writes.rows.retain(|write| write.row.key() != row.key());
        self.0.writes.rows.push(RowWrite {
            collection: ENTRIES.into(),
            row: Arc::clone(&row),
            state,
        });
        self.event(kind, Some(row), None)
    }

    /// Adds a live row that is created.
    pub(crate) fn create(self, row: Arc<Row>) -> Self {
        self.row(EventType::RowCreated, RowState::Live, row)
    }

    /// Adds a row that is purged at [`NOW`], and the scrub of its content.
    pub(super) fn purge(mut self, row: Arc<Row>) -> Self {
        self.0.writes.scrubs.push(Scrub { collection: ENTRIES.into(), key: row.key().into() });
        self.row(EventType::RowPurged, RowState::Purged(NOW), row)
    }

    /// Adds an event.
    pub(super) fn event(
        mut self,
        kind: EventType,
        row: Option<Arc<Row>>,
        data: Option<&str>,
    ) -> Self {
        self.0.seq += 1;
        self.0.writes.events.push(Arc::new(Event {
            seq: self.0.seq,
            kind,
            at: NOW,
            by: writer(),
            change: row.map(|row| RowChange {
                collection: ENTRIES.into(),
                row,
                previous_editor: Some(writer()),
            }),
            data: data.map(Box::from),
            silent: self.0.seq.is_multiple_of(2),
        }));
        self
    }

    /// Adds one of everything else that a group may hold.
    pub(super) fn extras(mut self, seed: u8) -> Self {
        self.0.totals =
            Totals { live: 7, trashed: 2, detached: 1, bytes: 4_711, trashed_bytes: 17 };
        self.0.collections = KeptCounts::of(extra_counts());
        self.0.writes.budgets.push(BudgetRecord {
            collection: ENTRIES.into(),
            scope: BudgetScope::Network(u64::MAX - u64::from(seed)),
            day: NOW.utc_day(),
            count: 3,
        });
        let expires_at = NOW.plus_seconds(60);
        self.0.writes.spent_challenges.push(SpentChallenge { id: [seed; 32], expires_at });
        self.response([seed; 32], &[])
    }

    /// Adds a response that quotes these rows.
    pub(super) fn response(mut self, scope: [u8; 32], keys: &[&str]) -> Self {
        let seq = self.0.seq;
        self.0.writes.idempotency.push(IdempotencyWrite { seq, ..response(scope, keys, NOW) });
        self
    }

    /// Changes what the builder has no word for.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Group)) -> Self {
        change(&mut self.0);
        self
    }

    /// Submits the group; the receiver answers how it ended.
    pub(super) fn submit(self, writer: &Writer) -> oneshot::Receiver<Outcome> {
        writer.submit(self.0);
        self.1
    }

    /// Submits the group and waits for its outcome.
    pub(crate) async fn commit(self, writer: &Writer) -> Outcome {
        self.submit(writer).await.expect("every group is settled")
    }
}

/// The counts of [`Draft::extras`].
pub(super) fn extra_counts() -> [CollectionCounts; 2] {
    let entries = CollectionCounts { name: ENTRIES.into(), live: 7, trashed: 2, detached: 0 };
    let gone =
        CollectionCounts { name: "a \"removed\" one".into(), detached: 1, ..entries.clone() };
    [entries, gone]
}

/// A response made at this time.
pub(super) fn response(scope: [u8; 32], keys: &[&str], at: Timestamp) -> IdempotencyWrite {
    IdempotencyWrite {
        request: IdempotentRequest { scope, body_hash: [9; 32] },
        response: StoredResponse {
            status: 201,
            location: Some("/there".into()),
            body: r#"{"key":"k"}"#.into(),
        },
        by_key: true,
        created_at: at,
        seq: 0,
        collection: Some(ENTRIES.into()),
        row_keys: keys.iter().map(|key| Box::from(*key)).collect(),
    }
}

/// A writer without faults.
pub(crate) async fn start(db: &Db) -> Writer {
    start_with(db, Faults::default()).await
}

/// A writer that meets these faults.
pub(crate) async fn start_with(db: &Db, faults: Faults) -> Writer {
    let options = WriterOptions { faults, ..WriterOptions::default() };
    Writer::start(db, db.next_epoch().await.unwrap(), options).unwrap()
}

/// A writer whose file has at most so many pages.
pub(crate) async fn start_with_pages(db: &Db, pages: u32) -> Writer {
    let options = WriterOptions { sqlite_max_pages: Some(pages), ..WriterOptions::default() };
    Writer::start(db, db.next_epoch().await.unwrap(), options).unwrap()
}

/// A writer of an older process start.
pub(super) fn start_at(db: &Db, epoch: Epoch) -> Writer {
    Writer::start(db, epoch, WriterOptions::default()).unwrap()
}

/// A new app whose feed stands at 1, without rows.
pub(crate) async fn deploy(test: &TestDb, slug: &str) -> AppId {
    deploy_with(test, slug, &[]).await
}

/// A new app with these rows; its feed stands at 1 and one more for each.
pub(crate) async fn deploy_with(test: &TestDb, slug: &str, rows: &[Arc<Row>]) -> AppId {
    let owner = human(&test.db, "ada@example.com").await.id;
    let app = new_app(owner, slug, rows);
    let id = app.record.id;
    assert_eq!(create(&test.db, app).await.unwrap(), CreateOutcome::Created);
    id
}

/// Marks an app as being purged, by a group, as its actor does.
pub(crate) async fn mark(db: &Db, app: AppId) {
    let loaded = load(db, app).await;
    put(db, AppRecord { status: AppStatus::Purging, purge_at: Some(NOW), ..loaded.record }).await;
}

/// Closes an app, by a group, as its actor does.
pub(crate) async fn close(db: &Db, app: AppId) {
    put(db, AppRecord { status: AppStatus::Closed, ..load(db, app).await.record }).await;
}

async fn put(db: &Db, record: AppRecord) {
    let app = record.id;
    let loaded = load(db, app).await;
    let draft = Draft::new(app, loaded.head.last_seq).with(|group| {
        group.totals = loaded.head.totals;
        group.writes.app_write = Some(Box::new(AppWrite::of(record)));
    });
    let writer = start(db).await;
    assert_eq!(draft.commit(&writer).await, Outcome::Committed);
    writer.drain().await;
}

/// The app as it is stored.
pub(crate) async fn load(db: &Db, app: AppId) -> LoadedApp {
    let options = LoadOptions { now: NOW, tail_events: 1_000 };
    load_app(db, app, options).await.unwrap().expect("the app is there")
}

/// All that a group may change, for comparison.
pub(super) fn picture(app: &LoadedApp) -> String {
    format!("{app:?}")
}

/// The keys of the live rows.
pub(super) fn keys(app: &LoadedApp) -> Vec<&str> {
    app.live_rows().map(|row| row.key()).collect()
}

/// Keeps the writer from committing groups of one app, until it is dropped.
pub(super) enum Hold {
    Sqlite { _held: OwnedMutexGuard<()> },
    Postgres { _locks: PgConnection },
}

impl Hold {
    pub(super) async fn on(test: &TestDb, app: AppId) -> Self {
        match &test.db {
            Db::Sqlite(db) => Self::Sqlite { _held: db.write_lock().lock_owned().await },
            Db::Postgres(db) => {
                let mut locks = db.connect().await.unwrap();
                locks.execute("begin").await.unwrap();
                sqlx::query("select 1 from app_head where app_id = $1 for update")
                    .bind(&app.uuid().as_bytes()[..])
                    .execute(&mut locks)
                    .await
                    .unwrap();
                Self::Postgres { _locks: locks }
            }
        }
    }
}

/// Whether the future is not ready now.
pub(super) async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_pending()))
        .await
}

//! The whole runtime over a real SQLite file and its real writer.

use std::{collections::BTreeMap, sync::Arc};

use rookery_actors::{
    AppHandle, Directory, DirectoryOptions, Runtime, RuntimeOptions,
    app::message::RowReply,
    control::{Bundle, CreateApp, Redeploy},
    store::SqlStore,
};
use rookery_domain::{
    Result,
    app::AppRecord,
    id::{AgentId, AppId, HumanId},
    limits::{AppsMax, Limits},
    principal::Caller,
    row::{Row, RowText},
    sealed::ServerKey,
    time::Clock,
};
use rookery_storage::{
    Db, StorageOptions, Writer, WriterOptions,
    apps::{
        self, KeptCounts,
        create::{self, CreateOutcome, NewApp},
    },
    commit::{Group, Outcome, RowState, RowWrite, Ticket, Totals, Writes},
    faults::Faults,
    humans,
    load::{LoadOptions, load_app},
    versions::NewVersion,
};
use tokio::sync::oneshot;

use super::{MANIFEST, NOW, row};

/// A ticket that passes its outcome on.
struct Reply(oneshot::Sender<Outcome>);

impl Ticket for Reply {
    fn resolve(self: Box<Self>, outcome: Outcome) {
        let _ = self.0.send(outcome);
    }
}

/// A document with this manifest.
fn bundle(manifest: &str) -> Bundle {
    Bundle {
        html: "<!doctype html>".into(),
        manifest: Some(manifest.to_owned()),
        ..Bundle::default()
    }
}

/// A running house, with one account in it.
pub(crate) struct House {
    pub(crate) runtime: Runtime,
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) owner: HumanId,
    pub(crate) caller: Caller,
    writer: Writer,
    _folder: tempfile::TempDir,
}

impl House {
    pub(crate) async fn open(faults: Faults) -> Self {
        Self::open_with(faults, RuntimeOptions::default()).await
    }

    pub(crate) async fn open_with(faults: Faults, options: RuntimeOptions) -> Self {
        Self::open_limited(faults, options, Limits::default()).await
    }

    pub(crate) async fn open_limited(
        faults: Faults,
        options: RuntimeOptions,
        limits: Limits,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::connect(&StorageOptions::sqlite(folder.path())).await.unwrap();
        let epoch = db.next_epoch().await.unwrap();
        let writer_options = WriterOptions { faults, ..WriterOptions::default() };
        let writer = Writer::start(&db, epoch, writer_options).unwrap();
        let clock = Clock::manual(NOW);
        let store = Arc::new(SqlStore::new(db.clone(), writer.clone(), clock.clone()));
        let key = ServerKey::new(&[7; 32]);
        // Whatever a disk takes to store what a test is about, no round comes before it is asked for.
        let options = RuntimeOptions { timed_rounds: false, ..options };
        let runtime =
            Runtime::start(db.clone(), store, limits, options, clock.clone(), key).await.unwrap();
        let human = humans::find_or_create(&db, "ada@example.com".into(), HumanId::new(), NOW);
        let owner = human.await.unwrap().id;
        let caller = Caller::Agent { agent: AgentId::new(), owner: Some(owner) };
        Self { runtime, db, clock, owner, caller, writer, _folder: folder }
    }

    /// An app with the tests' manifest, dormant.
    pub(crate) async fn app(&self, slug: &str) -> AppHandle {
        self.app_with(slug, MANIFEST).await
    }

    /// An app with this manifest, dormant.
    pub(crate) async fn app_with(&self, slug: &str, manifest: &str) -> AppHandle {
        let created = self
            .runtime
            .control()
            .create(self.request(slug, manifest))
            .await
            .unwrap()
            .fresh()
            .unwrap();
        self.runtime.apps().by_id(created.record.id).await.unwrap()
    }

    pub(crate) fn request(&self, slug: &str, manifest: &str) -> CreateApp {
        CreateApp {
            owner: self.owner,
            org: None,
            agent: None,
            by: self.caller.principal(),
            bundle: bundle(manifest),
            slug: Some(slug.to_owned()),
            input_data: BTreeMap::new(),
            dry_run: false,
            idempotency: None,
        }
    }

    /// Puts an app into storage behind everybody's back, with any manifest.
    pub(crate) async fn store(&self, record: AppRecord, manifest: &str, rows: Vec<RowWrite>) {
        let app = NewApp {
            bounded: true,
            version: NewVersion {
                number: 1,
                html: "<!doctype html>".into(),
                manifest: manifest.into(),
                assets: [].into(),
                by: self.caller.principal(),
                created_at: NOW,
                drop_through: 0,
            },
            rows,
            events: Vec::new(),
            totals: Totals::default(),
            collections: KeptCounts::of([]),
            apps_max: AppsMax { kept: u64::MAX >> 1, trashed: u64::MAX >> 1 },
            response: None,
            record,
        };
        assert_eq!(create::create(&self.db, app).await.unwrap(), CreateOutcome::Created);
    }

    /// Commits the first group of a stored app behind everybody's back.
    pub(crate) async fn commit(&self, app: AppId, fill: impl FnOnce(&mut Group)) {
        let (sender, outcome) = oneshot::channel();
        let mut group = Group {
            app,
            owner: self.owner,
            prev_seq: 0,
            seq: 0,
            totals: Totals::default(),
            collections: KeptCounts::of([]),
            writes: Writes::default(),
            traces: Vec::new(),
            ticket: Box::new(Reply(sender)),
        };
        fill(&mut group);
        self.writer.submit(group);
        assert_eq!(outcome.await.unwrap(), Outcome::Committed);
    }

    /// So many rows of `entries` in this state.
    pub(crate) fn rows(&self, count: usize, state: RowState) -> Vec<RowWrite> {
        let by = self.caller.principal();
        let row = |i| Row {
            text: RowText::new(&format!("k{i}"), "{}"),
            version: 1,
            creator: by,
            editor: by,
            created_at: NOW,
            updated_at: NOW,
        };
        let write = |i| RowWrite { collection: "entries".into(), row: Arc::new(row(i)), state };
        (0..count).map(write).collect()
    }

    /// Deploys this manifest, whatever it breaks.
    pub(crate) async fn deploy(&self, app: &AppHandle, manifest: &str) {
        let request = Redeploy {
            caller: self.caller.clone(),
            bundle: bundle(manifest),
            expected: None,
            force: true,
            dry_run: false,
            idempotency: None,
        };
        self.runtime.control().deploy(app, request).await.unwrap();
    }

    /// A directory of the same accounts.
    pub(crate) async fn directory(&self) -> Directory {
        self.directory_with(DirectoryOptions::default()).await
    }

    /// The same, with these settings.
    pub(crate) async fn directory_with(&self, options: DirectoryOptions) -> Directory {
        let key = ServerKey::new(&[7; 32]);
        let (db, clock) = (self.db.clone(), self.clock.clone());
        Directory::start(db, clock, key, &self.runtime, options).await.unwrap()
    }

    /// Creates a row in `entries`.
    pub(crate) async fn create(&self, app: &AppHandle, key: &str) -> Result<RowReply> {
        row(app.apply(self.caller.clone(), super::create(key, "{}")).await)
    }

    /// Keys of the live rows in storage.
    pub(crate) async fn stored_keys(&self, app: AppId) -> Vec<String> {
        let options = LoadOptions { now: NOW, tail_events: 0 };
        let loaded = load_app(&self.db, app, options).await.unwrap().expect("it is there");
        loaded.live_rows().map(|row| row.key().to_string()).collect()
    }

    /// Rows of the account, as storage sums them up.
    pub(crate) async fn account_rows(&self) -> u64 {
        apps::account_sums(&self.db, self.owner).await.unwrap().rows
    }

    /// Ends everything in order.
    pub(crate) async fn close(&self) {
        self.runtime.stop().await;
        self.writer.drain().await;
        self.db.close().await;
    }
}

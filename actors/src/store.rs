//! What an app needs of storage, as one interface: the real one, or a test's, which commits,
//! aborts, forgets and dies in an order that a seed decides.

use std::sync::Arc;

use futures::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use rookery_domain::{
    app::AppRecord,
    event::Event,
    id::{AppId, HumanId},
    idempotency::FirstResponse,
    row::Row,
    time::Clock,
};
use rookery_storage::{
    Db, StorageError, apps,
    commit::Group,
    feed, idempotency,
    load::{self, LoadOptions, LoadedApp},
    trash::{self, TrashCursor, TrashPage},
    writer::Writer,
};

use crate::app::{read::SeenRow, tail};

/// An answer of storage, on its way.
pub type Stored<T> = BoxFuture<'static, Result<T, StorageError>>;

/// The storage of apps, as the runtime sees it.
pub trait AppStore: Send + Sync + 'static {
    /// Hands a sealed group to the writer. Returns at once; the group's ticket is told the outcome.
    fn submit(&self, group: Group);

    /// Completes when every group of an app that was submitted before has ended.
    fn barrier(&self, app: AppId) -> BoxFuture<'static, ()>;

    /// Everything an incarnation starts from; `None` when there is no such app (any more).
    fn load(&self, app: AppId) -> Stored<Option<LoadedApp>>;

    /// The record of an app by its id.
    fn record(&self, app: AppId) -> Stored<Option<AppRecord>>;

    /// The record of an app by its slug.
    fn record_by_slug(&self, slug: &str) -> Stored<Option<AppRecord>>;

    /// Rows of an account's live and closed apps: live ones and detached ones (decision 23).
    fn account_rows(&self, owner: HumanId) -> Stored<u64>;

    /// The unbroken events with `after < seq <= through`, in order, at most `limit`.
    fn events(&self, app: AppId, after: u64, through: u64, limit: usize)
    -> Stored<Vec<Arc<Event>>>;

    /// The content of a row in the trash.
    fn trashed_row(&self, app: AppId, collection: &str, key: &str) -> Stored<Option<SeenRow>>;

    /// A page of the rows of a collection that are in the trash, the last deleted first, behind
    /// `after`.
    fn trash(
        &self,
        app: AppId,
        collection: &str,
        after: Option<TrashCursor>,
        limit: usize,
    ) -> Stored<TrashPage>;

    /// The detached rows of a collection.
    fn detached_rows(&self, app: AppId, collection: &str) -> Stored<Vec<Arc<Row>>>;

    /// Completes when a part of the writer has died or the store is broken.
    fn failed(&self) -> BoxFuture<'static, ()> {
        future::pending().boxed()
    }

    /// Starts what died of the writer again. False when the store is broken: nothing can be made
    /// durable any more, and the process must end.
    ///
    /// # Errors
    /// When it did not start; it is worth another try.
    fn mend(&self) -> Result<bool, StorageError> {
        Ok(true)
    }

    /// The first response that was given for an idempotency scope, while it is kept.
    fn first_response(&self, scope: [u8; 32]) -> Stored<Option<FirstResponse>>;
}

/// The real one: the database and its writer.
pub struct SqlStore {
    db: Db,
    writer: Writer,
    clock: Clock,
}

impl SqlStore {
    /// Over `db`, with `writer` for commits.
    #[must_use]
    pub const fn new(db: Db, writer: Writer, clock: Clock) -> Self {
        Self { db, writer, clock }
    }

    fn run<T, F, Fut>(&self, query: F) -> Stored<T>
    where
        F: FnOnce(Db) -> Fut,
        Fut: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        query(self.db.clone()).boxed()
    }
}

impl AppStore for SqlStore {
    fn submit(&self, group: Group) {
        self.writer.submit(group);
    }

    fn barrier(&self, app: AppId) -> BoxFuture<'static, ()> {
        let writer = self.writer.clone();
        async move { writer.barrier(app).await }.boxed()
    }

    fn failed(&self) -> BoxFuture<'static, ()> {
        let writer = self.writer.clone();
        async move { drop(writer.failed().await) }.boxed()
    }

    fn mend(&self) -> Result<bool, StorageError> {
        self.writer.restart()?;
        Ok(!self.writer.health().broken)
    }

    fn load(&self, app: AppId) -> Stored<Option<LoadedApp>> {
        let options =
            LoadOptions { now: self.clock.now(), tail_events: tail::EVENTS_LOADED as u32 };
        self.run(|db| async move { load::load_app(&db, app, options).await })
    }

    fn record(&self, app: AppId) -> Stored<Option<AppRecord>> {
        self.run(|db| async move { apps::by_id(&db, app).await })
    }

    fn record_by_slug(&self, slug: &str) -> Stored<Option<AppRecord>> {
        let slug = slug.to_owned();
        self.run(|db| async move { apps::by_slug(&db, &slug).await })
    }

    fn account_rows(&self, owner: HumanId) -> Stored<u64> {
        self.run(|db| async move { Ok(apps::account_sums(&db, owner).await?.rows) })
    }

    fn events(
        &self,
        app: AppId,
        after: u64,
        through: u64,
        limit: usize,
    ) -> Stored<Vec<Arc<Event>>> {
        self.run(move |db| async move {
            feed::events_after(&db, app, after, through, limit as u32).await
        })
    }

    fn trashed_row(&self, app: AppId, collection: &str, key: &str) -> Stored<Option<SeenRow>> {
        let (collection, key) = (collection.to_owned(), key.to_owned());
        self.run(move |db| async move {
            Ok(trash::find(&db, app, &collection, &key).await?.map(SeenRow::from))
        })
    }

    fn trash(
        &self,
        app: AppId,
        collection: &str,
        after: Option<TrashCursor>,
        limit: usize,
    ) -> Stored<TrashPage> {
        let collection = collection.to_owned();
        self.run(
            move |db| async move { trash::list(&db, app, &collection, after, limit as u32).await },
        )
    }

    fn detached_rows(&self, app: AppId, collection: &str) -> Stored<Vec<Arc<Row>>> {
        let collection = collection.to_owned();
        self.run(move |db| async move {
            let rows = trash::detached(&db, app, &collection).await?;
            Ok(rows.into_iter().map(Arc::new).collect())
        })
    }

    fn first_response(&self, scope: [u8; 32]) -> Stored<Option<FirstResponse>> {
        let now = self.clock.now();
        self.run(move |db| async move { idempotency::find(&db, scope, now).await })
    }
}

//! What an app needs of storage, as one interface: the real one, or a test's, which commits,
//! aborts, forgets and dies in an order that a seed decides.

use std::sync::Arc;

use futures::future::BoxFuture;
use rookery_domain::{
    app::AppRecord,
    event::Event,
    id::{AppId, HumanId},
    row::Row,
};
use crate::app::read::SeenRow;
use rookery_storage::{
    StorageError,
    commit::{Group, IdempotencyWrite},
    load::LoadedApp,
};

/// An answer of storage, on its way.
pub type Stored<T> = BoxFuture<'static, Result<T, StorageError>>;

/// The storage of apps, as the runtime sees it.
pub trait AppStore: Send + Sync + 'static {
    /// Hands a sealed group to the writer. Returns at once; the group's ticket hears the end.
    fn submit(&self, group: Group);

    /// Completes when every group submitted before has ended.
    fn barrier(&self) -> BoxFuture<'static, ()>;

    /// Everything an incarnation starts from; `None` when there is no such app (any more).
    fn load(&self, app: AppId) -> Stored<Option<LoadedApp>>;

    /// The record of an app by its id.
    fn record(&self, app: AppId) -> Stored<Option<AppRecord>>;

    /// The record of an app by its slug.
    fn record_by_slug(&self, slug: &str) -> Stored<Option<AppRecord>>;

    /// Rows of all apps of an account: live, trashed and detached.
    fn account_rows(&self, owner: HumanId) -> Stored<u64>;

    /// Events with `after < seq <= through`, in order, at most `limit`.
    fn events(&self, app: AppId, after: u64, through: u64, limit: usize)
    -> Stored<Vec<Arc<Event>>>;

    /// The content of a row in the trash.
    fn trashed_row(&self, app: AppId, collection: &str, key: &str) -> Stored<Option<SeenRow>>;

    /// All rows of a collection that are in the trash: no more than the app's quota.
    fn trash(&self, app: AppId, collection: &str) -> Stored<Vec<SeenRow>>;

    /// The detached rows of a collection.
    fn detached_rows(&self, app: AppId, collection: &str) -> Stored<Vec<Arc<Row>>>;

    /// The first answer that was given for an idempotency scope, while it is kept.
    fn answer(&self, scope: [u8; 32]) -> Stored<Option<IdempotencyWrite>>;
}

//! The whole runtime over the store in memory; what is no app's is in a real SQLite file.

use std::sync::Arc;

use rookery_actors::{AppHandle, Directory, DirectoryOptions, Runtime, RuntimeOptions};
use rookery_domain::{
    id::{AgentId, HumanId},
    limits::Limits,
    principal::Caller,
    sealed::ServerKey,
    time::Clock,
};
use rookery_storage::{Db, StorageOptions};

use super::{FakeStore, NOW, new_app};

/// A running runtime, and an account that owns its apps.
pub(crate) struct HalfHouse {
    pub(crate) runtime: Runtime,
    pub(crate) store: FakeStore,
    pub(crate) db: Db,
    pub(crate) caller: Caller,
    owner: HumanId,
    _folder: tempfile::TempDir,
}

impl HalfHouse {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::connect(&StorageOptions::sqlite(folder.path())).await.unwrap();
        let store = FakeStore::default();
        let runtime = Runtime::start(
            db.clone(),
            Arc::new(store.clone()),
            Limits::default(),
            RuntimeOptions::default(),
            Clock::manual(NOW),
            ServerKey::new(&[7; 32]),
        );
        let runtime = runtime.await.unwrap();
        let owner = HumanId::new();
        let caller = Caller::Agent { agent: AgentId::new(), owner: Some(owner) };
        Self { runtime, store, db, caller, owner, _folder: folder }
    }

    /// A new app, dormant.
    pub(crate) async fn app(&self) -> AppHandle {
        new_app(&self.store, self.runtime.apps(), self.owner).await
    }

    /// A directory of the accounts in the file.
    pub(crate) async fn directory(&self) -> Directory {
        let (key, options) = (ServerKey::new(&[7; 32]), DirectoryOptions::default());
        let clock = Clock::manual(NOW);
        Directory::start(self.db.clone(), clock, key, &self.runtime, options).await.unwrap()
    }

    /// Ends everything in order.
    pub(crate) async fn close(&self) {
        self.runtime.stop().await;
        self.db.close().await;
    }
}

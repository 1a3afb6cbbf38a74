//! Starting and stopping the runtime: the tree, the registry, and what they share.

use std::{sync::Arc, time::Instant};

use rookery_domain::{limits::Limits, sealed::ServerKey, time::Clock};
use rookery_storage::Db;

use crate::{
    accounts::Accounts,
    control::Control,
    env::{Env, RuntimeOptions, Schemas},
    registry::Apps,
    store::AppStore,
    supervision::root::Tree,
};

/// Why the runtime could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An actor did not start.
    #[error("the supervision tree did not start: {0}")]
    Tree(#[from] ractor::SpawnErr),
}

/// The running tree. Dropping it does not stop it: see [`Runtime::stop`].
pub struct Runtime {
    tree: Tree,
    apps: Apps,
    control: Control,
}

impl Runtime {
    /// Starts the tree over `store`; `db` is the same database, for what is not an app's.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(
        db: Db,
        store: Arc<dyn AppStore>,
        limits: Limits,
        options: RuntimeOptions,
        clock: Clock,
        key: ServerKey,
    ) -> Result<Self, StartError> {
        let tree = Tree::start().await?;
        let schemas = Schemas::new(options.schema_cache_bytes);
        let env = Arc::new(Env {
            options,
            limits,
            clock,
            key,
            store,
            accounts: Accounts::default(),
            schemas,
            started: Instant::now(),
        });
        let apps = Apps::new(env, tree.shards.clone());
        let control = Control::new(apps.clone(), db);
        Ok(Self { tree, apps, control })
    }

    /// The registry of apps.
    #[must_use]
    pub const fn apps(&self) -> &Apps {
        &self.apps
    }

    /// The operations that need more than one app's state.
    #[must_use]
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// What other subsystems' actors are linked to.
    #[must_use]
    pub fn root(&self) -> ractor::ActorCell {
        self.tree.cell()
    }

    /// Stops every actor. What is with the writer still becomes durable; what is queued is
    /// refused.
    pub async fn stop(&self) {
        self.tree.stop().await;
    }
}

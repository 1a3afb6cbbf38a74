//! Starting and stopping the runtime: the tree, the registry, the workers, and what they share.

use std::{sync::Arc, time::Duration};

use rookery_domain::{limits::Limits, sealed::ServerKey, time::Clock};
use rookery_storage::{Db, StorageError, log_throttle::LogThrottle, offload::Offload};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::{
    accounts::Accounts,
    app::{deploy::DETACHED_PERMITS, trash::TRASH_PERMITS},
    control::{Control, deployed::DeployedBytes},
    domains::Domains,
    env::{Env, RuntimeOptions, Schemas},
    meters::{Collector, REPORT_PERMITS, Whose},
    observe::Observer,
    orgs::OrgRoles,
    registry::Apps,
    store::AppStore,
    supervision::root::Tree,
    workers::{Context, WorkerKind, Workers},
};

/// How long admitted requests may take to be answered at shutdown.
const DRAIN_MAX: Duration = Duration::from_secs(8);
/// Lines a second about commits that come to nothing, of all apps together.
const WARNINGS_PER_SECOND_MAX: u32 = 10;
/// Pause between two looks at a writer that keeps dying.
const MEND_PAUSE: Duration = Duration::from_millis(100);

/// Pause between two sweeps that are asked for.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// Why the runtime could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An actor did not start.
    #[error("the supervision tree did not start: {0}")]
    Tree(#[from] ractor::SpawnErr),
    /// Which names are whose could not be read.
    #[error("custom domains could not be read: {0}")]
    Domains(StorageError),
}

/// The running tree. Dropping it does not stop it: see [`Runtime::stop`].
pub struct Runtime {
    tree: Tree,
    apps: Apps,
    control: Control,
    workers: Arc<Workers>,
    broken: CancellationToken,
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
        let (tree, apps) = start_apps(store.clone(), limits, options, clock, key).await?;
        let domains = Domains::open(db.clone(), apps.inner.env.clock.clone()).await;
        let control = Control::new(apps.clone(), db.clone(), domains.map_err(StartError::Domains)?);
        let broken = CancellationToken::new();
        let context = Context::new(apps.clone(), control.clone(), db, broken.clone());
        let workers = tree.start_workers(context).await?;
        tokio::spawn(watch_meters(workers.clone(), apps.clone()));
        tokio::spawn(watch_trash(workers.clone(), apps.clone()));
        tokio::spawn(watch_writer(store, workers.clone(), apps.clone(), broken.clone()));
        Ok(Self { tree, apps, control, workers, broken })
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

    /// Which host name is which app's.
    #[must_use]
    pub const fn domains(&self) -> &Domains {
        &self.control.domains
    }

    /// The workers, to be run by hand or looked at.
    #[must_use]
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The table of organizations' admins, for the directory to keep.
    pub(crate) fn org_roles(&self) -> OrgRoles {
        self.apps.inner.env.orgs.clone()
    }

    /// Who hears of crashes.
    pub(crate) fn observer(&self) -> Arc<Observer> {
        self.apps.inner.env.observer.clone()
    }

    /// What other subsystems' actors are linked to.
    pub(crate) fn root(&self) -> ractor::ActorCell {
        self.tree.cell()
    }

    /// Whether the store is broken: the service is not ready, and must end.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.is_cancelled()
    }

    /// Completes when the store is broken: nothing can be made durable any more, and the process
    /// must end.
    pub async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Ends waiting polls and takes no new ones, so that connections come to rest. What runs already
    /// may still write.
    pub fn end_polls(&self) {
        self.apps.inner.stopping.cancel();
    }

    /// Refuses new work, waits until what was admitted is durable and answered, and stops every
    /// actor. The writer must run until this returns.
    pub async fn stop(&self) {
        if !self.apps.drain(DRAIN_MAX).await {
            warn!("some requests were not answered before the shutdown");
        }
        // What was counted since the last roll-up.
        if let Err(error) = self.control.roll_up(Whose::All).await {
            warn!(%error, "what was counted last is lost");
        }
        self.tree.stop().await;
    }
}

/// Starts the tree and the registry over it.
pub(crate) async fn start_apps(
    store: Arc<dyn AppStore>,
    limits: Limits,
    options: RuntimeOptions,
    clock: Clock,
    key: ServerKey,
) -> Result<(Tree, Apps), StartError> {
    let observer = Arc::<Observer>::default();
    let tree = Tree::start(observer.clone(), clock.clone(), options.threads.clone()).await?;
    let schemas = Schemas::new(options.schema_cache_bytes);
    let patience = options.request_timeout;
    let env = Arc::new(Env {
        warnings: LogThrottle::new(WARNINGS_PER_SECOND_MAX),
        options,
        limits,
        clock,
        key,
        store,
        accounts: Accounts::default(),
        orgs: OrgRoles::default(),
        schemas,
        compiling: Offload::new(patience),
        scanning: Offload::new(patience),
        deciding: Offload::new(patience),
        rehearsing: Offload::new(patience),
        trash: Offload::with_permits(TRASH_PERMITS, patience),
        detached: Offload::with_permits(DETACHED_PERMITS, patience),
        replaying: Offload::new(patience),
        reporting: Offload::with_permits(REPORT_PERMITS, patience),
        moving: Offload::with_permits(1, patience),
        deployed: DeployedBytes::default(),
        trash_overfull: Notify::new(),
        observer,
        collector: Collector::default(),
        started: Instant::now(),
    });
    let apps = Apps::new(env, tree.shards.clone());
    Ok((tree, apps))
}

/// Has the worker roll up at once where an app's pending views are full.
async fn watch_meters(workers: Arc<Workers>, apps: Apps) {
    let stopping = &apps.inner.stopping;
    loop {
        tokio::select! {
            () = apps.inner.env.collector.full.notified() => {}
            () = stopping.cancelled() => return,
        }
        // A failure is logged there; the next full app, or the next round, tries again.
        if workers.run(WorkerKind::Metering).await.is_err() {
            tokio::time::sleep(MEND_PAUSE).await;
        }
    }
}

/// Has the sweeper come where an app's trash has more than its room, without waiting for its time. Its
/// pauses are for the other writers, as between rounds that a bound cut short.
async fn watch_trash(workers: Arc<Workers>, apps: Apps) {
    let (env, stopping) = (&apps.inner.env, &apps.inner.stopping);
    if !env.options.timed_rounds {
        return;
    }
    loop {
        tokio::select! {
            () = env.trash_overfull.notified() => {}
            () = stopping.cancelled() => return,
        }
        // A failure is logged there; whoever writes to such an app asks again.
        while workers.run(WorkerKind::Sweeper).await.is_ok_and(|done| done > 0) {
            tokio::time::sleep(SWEEP_PAUSE).await;
        }
        tokio::time::sleep(SWEEP_PAUSE).await;
    }
}

/// Has the worker mend the writer as soon as it fails, without waiting for the worker's tick.
async fn watch_writer(
    store: Arc<dyn AppStore>,
    workers: Arc<Workers>,
    apps: Apps,
    broken: CancellationToken,
) {
    let stopping = &apps.inner.stopping;
    while !broken.is_cancelled() && !stopping.is_cancelled() {
        tokio::select! {
            () = store.failed() => {}
            () = stopping.cancelled() => return,
        }
        // A failure is logged there, and tried again here.
        let _ = workers.run(WorkerKind::Writer).await;
        tokio::time::sleep(MEND_PAUSE).await;
    }
}

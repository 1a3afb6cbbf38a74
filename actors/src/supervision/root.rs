//! The root of the tree: supervises the shards and the directory's and workers' actors. A child
//! that crashes is replaced where it can be; the root itself never stops but at shutdown.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use rookery_domain::time::Clock;
use tokio::runtime::Handle;
use tracing::error;

use crate::{observe::Observer, registry::shards::Shards, workers::Workers};

/// The root is sent nothing: it lives on supervision events.
pub(crate) enum Never {}

struct Root;

/// The root's children, once they exist: it replaces those that end.
#[derive(Clone)]
struct Replaceable {
    shards: Arc<OnceLock<Arc<Shards>>>,
    workers: Arc<OnceLock<Arc<Workers>>>,
    observer: Arc<Observer>,
    clock: Clock,
    /// Set at shutdown: what ends then is not replaced.
    is_stopping: Arc<AtomicBool>,
}

impl Actor for Root {
    type Msg = Never;
    type State = Replaceable;
    type Arguments = Replaceable;

    async fn pre_start(
        &self,
        _: ActorRef<Never>,
        children: Replaceable,
    ) -> Result<Replaceable, ActorProcessingErr> {
        Ok(children)
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Never>,
        event: SupervisionEvent,
        children: &mut Replaceable,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(cell, cause) => {
                error!(actor.id = %cell.get_id(), %cause, "a subsystem crashed");
                let part = children.name_of(&cell);
                children.observer.part_crashed(children.clock.now(), part, cause.to_string());
                replace(children, &cell, &myself).await;
            }
            SupervisionEvent::ActorTerminated(cell, _, _) => {
                replace(children, &cell, &myself).await;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

async fn replace(children: &Replaceable, child: &ActorCell, root: &ActorRef<Never>) {
    if children.is_stopping.load(Ordering::Relaxed) {
        return;
    }
    if let Some(shards) = children.shards.get() {
        shards.replace(child.get_id(), &root.get_cell()).await;
    }
    if let Some(workers) = children.workers.get() {
        workers.replace(child.get_id(), &root.get_cell()).await;
    }
}

impl Replaceable {
    /// What operators call this child.
    fn name_of(&self, child: &ActorCell) -> String {
        let id = child.get_id();
        let shard = self.shards.get().and_then(|shards| shards.number_of(id));
        let worker = || self.workers.get().and_then(|workers| workers.kind_of(id));
        match (shard, worker()) {
            (Some(shard), _) => format!("shard {shard}"),
            (None, Some(kind)) => format!("worker {kind:?}"),
            (None, None) => "directory".to_owned(),
        }
    }
}

/// The running root.
pub(crate) struct Tree {
    root: ActorRef<Never>,
    children: Replaceable,
    pub(crate) shards: Arc<Shards>,
}

impl Tree {
    /// Starts the root and the shards under it, whose children run on `threads`.
    ///
    /// # Errors
    /// When ractor cannot spawn.
    pub(crate) async fn start(
        observer: Arc<Observer>,
        clock: Clock,
        threads: Option<Handle>,
    ) -> Result<Self, SpawnErr> {
        let children = Replaceable {
            shards: Arc::default(),
            workers: Arc::default(),
            observer,
            clock,
            is_stopping: Arc::default(),
        };
        let (root, _) = Actor::spawn(None, Root, children.clone()).await?;
        let shards = Arc::new(Shards::start(&root.get_cell(), threads).await?);
        // Set once, here.
        let _ = children.shards.set(shards.clone());
        Ok(Self { root, children, shards })
    }

    /// Starts the workers under the root.
    ///
    /// # Errors
    /// When ractor cannot spawn.
    pub(crate) async fn start_workers(
        &self,
        context: crate::workers::Context,
    ) -> Result<Arc<Workers>, SpawnErr> {
        let workers = Arc::new(Workers::start(context, &self.root.get_cell()).await?);
        // Set once, by the runtime's start.
        let _ = self.children.workers.set(workers.clone());
        Ok(workers)
    }

    /// What other subsystems are linked to.
    pub(crate) fn cell(&self) -> ActorCell {
        self.root.get_cell()
    }

    /// Stops the tree, children first.
    pub(crate) async fn stop(&self) {
        self.children.is_stopping.store(true, Ordering::Relaxed);
        self.root.stop_children_and_wait(None, None).await;
        self.root.stop(None);
    }
}

//! The root of the tree: supervises the shards and the directory's and workers' actors. A child
//! that crashes is replaced where it can be; the root itself never stops but at shutdown.

use std::sync::{Arc, OnceLock};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tracing::error;

use crate::registry::shards::Shards;

/// The root is sent nothing: it lives on supervision events.
pub(crate) enum Never {}

struct Root;

/// The shards, once they exist: they are children of the root that replaces them.
type Replaceable = Arc<OnceLock<Arc<Shards>>>;

impl Actor for Root {
    type Msg = Never;
    type State = Replaceable;
    type Arguments = Replaceable;

    async fn pre_start(
        &self,
        _: ActorRef<Never>,
        shards: Replaceable,
    ) -> Result<Replaceable, ActorProcessingErr> {
        Ok(shards)
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Never>,
        event: SupervisionEvent,
        shards: &mut Replaceable,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(cell, cause) => {
                error!(actor.id = %cell.get_id(), %cause, "a subsystem crashed");
                replace(shards, &cell, &myself).await;
            }
            SupervisionEvent::ActorTerminated(cell, _, _) => {
                replace(shards, &cell, &myself).await;
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

async fn replace(shards: &Replaceable, child: &ActorCell, root: &ActorRef<Never>) {
    if let Some(shards) = shards.get() {
        shards.replace(child.get_id(), &root.get_cell()).await;
    }
}

/// The running root.
pub(crate) struct Tree {
    root: ActorRef<Never>,
    pub(crate) shards: Arc<Shards>,
}

impl Tree {
    /// Starts the root and the shards under it.
    ///
    /// # Errors
    /// When ractor cannot spawn.
    pub(crate) async fn start() -> Result<Self, SpawnErr> {
        let replaceable = Replaceable::default();
        let (root, _) = Actor::spawn(None, Root, replaceable.clone()).await?;
        let shards = Arc::new(Shards::start(&root.get_cell()).await?);
        // Set once, here.
        let _ = replaceable.set(shards.clone());
        Ok(Self { root, shards })
    }

    /// What other subsystems are linked to.
    pub(crate) fn cell(&self) -> ActorCell {
        self.root.get_cell()
    }

    /// Stops the tree, children first.
    pub(crate) async fn stop(&self) {
        self.root.stop_children_and_wait(None, None).await;
        self.root.stop(None);
    }
}

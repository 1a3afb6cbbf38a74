//! The directory's supervisor: starts the actor that changes accounts, and after a crash loads
//! memory anew and starts it again. Requests meanwhile are told `unavailable`.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use rookery_domain::{Error, Result};
use tracing::{error, info, warn};

use super::{
    Directory,
    core::Core,
    memory::Memory,
    mutation::{MemoryState, Mutation},
};

/// Pause before a reload that follows a failure; it doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// A life of this length makes the next crash a first one.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// The supervisor.
pub(super) struct Keeper;

/// What the keeper is told.
pub(super) enum KeeperMessage {
    /// Memory has been loaded after a crash.
    Loaded(Memory),
}

/// What the keeper remembers.
pub(super) struct Watch {
    core: Arc<Core>,
    /// Pause before the next reload.
    pause: Duration,
    crashed_at: Option<Instant>,
}

impl Keeper {
    /// Loads memory, then starts keeper and actor under `root`.
    pub(super) async fn start(core: &Arc<Core>, root: ActorCell) -> Result<()> {
        let memory = core.load().await?;
        let (keeper, _) = Actor::spawn_linked(None, Self, Arc::clone(core), root)
            .await
            .map_err(|error| failed(&error))?;
        start_actor(core, keeper.get_cell(), memory).await.map_err(|error| failed(&error))?;
        tokio::spawn(flush_forever(Arc::downgrade(core), core.options.flush_every));
        Ok(())
    }
}

impl Actor for Keeper {
    type Msg = KeeperMessage;
    type State = Watch;
    type Arguments = Arc<Core>;

    async fn pre_start(
        &self,
        _: ActorRef<KeeperMessage>,
        core: Arc<Core>,
    ) -> Result<Watch, ActorProcessingErr> {
        Ok(Watch { core, pause: Duration::ZERO, crashed_at: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<KeeperMessage>,
        message: KeeperMessage,
        watch: &mut Watch,
    ) -> Result<(), ActorProcessingErr> {
        let KeeperMessage::Loaded(memory) = message;
        start_actor(&watch.core, myself.get_cell(), memory).await?;
        info!("accounts were loaded anew");
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<KeeperMessage>,
        event: SupervisionEvent,
        watch: &mut Watch,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(_, cause) => {
                watch.core.doubt();
                // A lost commit is no crash.
                if cause.is::<CommitLost>() {
                    warn!("accounts are loaded anew: {cause}");
                } else {
                    error!(%cause, "the directory's actor crashed");
                    let (now, part) = (watch.core.now(), "directory".to_owned());
                    watch.core.observer.part_crashed(now, part, cause.to_string());
                }
                let pause = watch.next_pause();
                tokio::spawn(reload(Arc::clone(&watch.core), myself, pause));
            }
            SupervisionEvent::ActorTerminated(..)
            | SupervisionEvent::ActorStarted(_)
            | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl Watch {
    /// The first crash after a healthy life reloads at once.
    fn next_pause(&mut self) -> Duration {
        let healthy = self.crashed_at.is_none_or(|at| at.elapsed() > HEALTHY_AFTER);
        self.crashed_at = Some(Instant::now());
        self.pause = if healthy { Duration::ZERO } else { longer(self.pause) };
        self.pause
    }
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX)
}

/// Loads memory, as often as it takes, and hands it to the keeper.
async fn reload(core: Arc<Core>, keeper: ActorRef<KeeperMessage>, mut pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        match core.load().await {
            Ok(memory) => {
                // The keeper is gone only when the service stops.
                let _ = keeper.send_message(KeeperMessage::Loaded(memory));
                return;
            }
            Err(error) => error!(%error, "accounts could not be loaded"),
        }
        pause = longer(pause);
    }
}

async fn start_actor(core: &Arc<Core>, keeper: ActorCell, memory: Memory) -> Result<(), SpawnErr> {
    let (actor, _) = Actor::spawn_linked(None, Changes, Arc::clone(core), keeper).await?;
    // Before anybody can reach the actor: what it changes is never overwritten by an older reading.
    core.replace(memory);
    *core.actor.write() = Some(actor);
    Ok(())
}

async fn flush_forever(core: Weak<Core>, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    // The first tick comes at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Some(core) = core.upgrade() else { return };
        Directory { core }.flush().await;
    }
}

fn failed(error: &SpawnErr) -> Error {
    error!(%error, "the directory did not start");
    Error::internal()
}

/// The actor that changes accounts, one change at a time.
struct Changes;

impl Actor for Changes {
    type Msg = Mutation;
    type State = Arc<Core>;
    type Arguments = Arc<Core>;

    async fn pre_start(
        &self,
        _: ActorRef<Mutation>,
        core: Arc<Core>,
    ) -> Result<Arc<Core>, ActorProcessingErr> {
        Ok(core)
    }

    async fn handle(
        &self,
        _: ActorRef<Mutation>,
        mutation: Mutation,
        core: &mut Arc<Core>,
    ) -> Result<(), ActorProcessingErr> {
        match mutation.run(Arc::clone(core)).await {
            MemoryState::Sound => Ok(()),
            MemoryState::InDoubt => Err(CommitLost.into()),
        }
    }
}

/// Why the actor ends whose memory may not be what storage holds any more.
#[derive(Debug, thiserror::Error)]
#[error("the outcome of a change is unknown")]
struct CommitLost;

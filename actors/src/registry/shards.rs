//! The shard supervisors: each live app is the child of one. A child's exit reaches its
//! supervisor, which tells the app's slot what happened and goes on: no exit ever stops a shard.

use std::{
    collections::BTreeMap,
    future::{Future as _, poll_fn},
    ops::Bound,
    pin::pin,
    sync::{Arc, Weak},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use ractor::{
    Actor, ActorId, ActorProcessingErr, ActorRef, ActorStatus, SpawnErr, SupervisionEvent,
};
use rookery_domain::id::AppId;
use tokio::runtime::Handle;
use tracing::{error, info};

use super::{
    Apps, Inner,
    slot::{Live, Slot},
};
use crate::{
    app::{
        actor::{AppActor, Birth},
        message::Message,
    },
    observe::lifecycle::StopCause,
    supervision::{policy::Verdict, root::Never},
};

/// Shard supervisors.
pub(crate) const SHARDS: usize = 8;

pub(crate) fn shard_of(app: AppId) -> usize {
    usize::from(app.uuid().as_bytes()[14]) % SHARDS
}

/// The shards and what each one's children are.
pub(crate) struct Shards {
    shards: Vec<ArcSwap<Shard>>,
    /// Where app actors run; none: where they are asked for.
    threads: Option<Handle>,
}

struct Shard {
    actor: ActorRef<Never>,
    children: Arc<Children>,
}

/// In the order in which the actors were spawned, so that they are listed in pages.
type Children = Mutex<BTreeMap<ActorId, Child>>;

struct Child {
    inner: Weak<Inner>,
    slot: Arc<Slot>,
    incarnation: u64,
}

struct Supervisor;

impl Actor for Supervisor {
    type Msg = Never;
    type State = Arc<Children>;
    type Arguments = Arc<Children>;

    async fn pre_start(
        &self,
        _: ActorRef<Never>,
        children: Arc<Children>,
    ) -> Result<Arc<Children>, ActorProcessingErr> {
        Ok(children)
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Never>,
        event: SupervisionEvent,
        children: &mut Arc<Children>,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(cell, _, _) => {
                if let Some(child) = children.lock().remove(&cell.get_id()) {
                    // It left in order and has told its slot, unless shutdown stopped it.
                    child.slot.retire(child.incarnation, StopCause::Ended);
                }
            }
            SupervisionEvent::ActorFailed(cell, cause) => {
                let child = children.lock().remove(&cell.get_id());
                if let Some(child) = child {
                    crashed(&child, &cause.to_string());
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl Shards {
    /// Starts the shards under `root`.
    ///
    /// # Errors
    /// When ractor cannot spawn.
    pub(crate) async fn start(
        root: &ractor::ActorCell,
        threads: Option<Handle>,
    ) -> Result<Self, SpawnErr> {
        let mut shards = Vec::with_capacity(SHARDS);
        for _ in 0..SHARDS {
            shards.push(ArcSwap::from_pointee(Shard::start(root).await?));
        }
        Ok(Self { shards, threads })
    }

    /// Puts a new shard in the place of the one that was `dead`. Its apps went with it: they
    /// start again when somebody asks for them.
    pub(crate) async fn replace(&self, dead: ActorId, root: &ractor::ActorCell) {
        let is_dead = |shard: &&ArcSwap<Shard>| shard.load().actor.get_id() == dead;
        let Some(place) = self.shards.iter().find(is_dead) else { return };
        match Shard::start(root).await {
            Ok(shard) => {
                let old = place.swap(Arc::new(shard));
                let children = std::mem::take(&mut *old.children.lock());
                for child in children.into_values() {
                    child.slot.retire(child.incarnation, StopCause::Ended);
                }
            }
            Err(error) => error!(%error, "a shard could not be replaced"),
        }
    }

    /// Spawns an app's actor as the child of its shard.
    pub(crate) async fn spawn(
        &self,
        app: AppId,
        actor: AppActor,
        birth: Birth,
    ) -> Result<ActorRef<Message>, SpawnErr> {
        let supervisor = self.of(app).actor.get_cell();
        let mut spawned = pin!(Actor::spawn_linked(None, actor, birth, supervisor));
        // Started here, so that a wake waits for no other thread; what it spawns runs there.
        let spawned = poll_fn(|cx| {
            let _there = self.threads.as_ref().map(Handle::enter);
            spawned.as_mut().poll(cx)
        });
        let (actor, _) = spawned.await?;
        Ok(actor)
    }

    /// Has the child's exit reported to its slot, also if it exited already.
    pub(crate) fn watch(&self, apps: &Apps, slot: &Arc<Slot>, live: &Live) {
        let child = Child {
            inner: Arc::downgrade(&apps.inner),
            slot: slot.clone(),
            incarnation: live.incarnation,
        };
        let shard = self.of(slot.id);
        let children = &shard.children;
        children.lock().insert(live.actor.get_id(), child);
        if live.actor.get_status() >= ActorStatus::Stopping
            && let Some(child) = children.lock().remove(&live.actor.get_id())
        {
            crashed(&child, "exited while it started");
        }
    }

    /// Children of each shard.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.shards.iter().map(|shard| shard.load().children.lock().len()).collect()
    }

    /// Which shard this actor is.
    pub(crate) fn number_of(&self, actor: ActorId) -> Option<usize> {
        self.shards.iter().position(|shard| shard.load().actor.get_id() == actor)
    }

    /// Children of a shard behind the actor `after`, and where the next page begins.
    pub(crate) fn page(
        &self,
        shard: usize,
        after: u64,
        limit: usize,
    ) -> Option<(Vec<Arc<Slot>>, Option<u64>)> {
        let shard = self.shards.get(shard)?.load_full();
        let children = shard.children.lock();
        let behind = (Bound::Excluded(ActorId::Local(after)), Bound::Unbounded);
        let mut page = Vec::with_capacity(limit);
        let mut last = None;
        let mut rest = children.range(behind);
        for (actor, child) in rest.by_ref().take(limit) {
            page.push(child.slot.clone());
            last = Some(actor.pid());
        }
        let more = rest.next().is_some();
        Some((page, last.filter(|_| more)))
    }

    /// The slots of all apps that are live now.
    pub(crate) fn live_slots(&self) -> Vec<Arc<Slot>> {
        let of_shard = |shard: &ArcSwap<Shard>| {
            let shard = shard.load();
            let children = shard.children.lock();
            children.values().map(|child| child.slot.clone()).collect::<Vec<_>>()
        };
        self.shards.iter().flat_map(of_shard).collect()
    }

    fn of(&self, app: AppId) -> Arc<Shard> {
        self.shards[shard_of(app)].load_full()
    }
}

impl Shard {
    async fn start(root: &ractor::ActorCell) -> Result<Self, SpawnErr> {
        let children = Arc::new(Children::default());
        let (actor, _) =
            Actor::spawn_linked(None, Supervisor, children.clone(), root.clone()).await?;
        Ok(Self { actor, children })
    }
}

/// Tells the slot, and starts the app again if the policy says so.
fn crashed(child: &Child, cause: &str) {
    let Some(inner) = child.inner.upgrade() else { return };
    let now = inner.env.clock.now();
    let Some(verdict) = child.slot.crashed(child.incarnation, cause, now) else { return };
    error!(app.id = %child.slot.id, cause, ?verdict, "an app crashed");
    if verdict == Verdict::Restart {
        let app = Apps { inner }.handle(child.slot.clone());
        tokio::spawn(async move {
            if app.live().await.is_ok() {
                info!(app.id = %app.id(), "restarted");
            }
        });
    }
}

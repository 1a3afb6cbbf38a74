//! What the directory's handle, its actor and the actor's keeper share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::RwLock;
use ractor::ActorRef;
use rookery_domain::{Error, Result, Timestamp, sealed::ServerKey, time::Clock};
use rookery_storage::{Db, keyed_locks::KeyedLocks};
use tokio::sync::Semaphore;

use super::{
    DirectoryOptions, credentials::Known, fresh::Fresh, guesses::Guesses, memory::Memory,
    mutation::Mutation, participants::Cache, touches::Touches,
};
use crate::{Runtime, observe::Observer, orgs::OrgRoles};

/// Changes that may wait for the actor at a time.
const MUTATIONS_MAX: usize = 1_024;

/// Registrations of agents among them, which anybody may ask for. Further ones wait for these, and keep nobody
/// else waiting.
const REGISTRATIONS_MAX: usize = 64;

/// What the rooms of the directory share.
pub(super) struct Core {
    pub(super) db: Db,
    pub(super) clock: Clock,
    pub(super) key: ServerKey,
    /// Who administers which organization, for apps to ask.
    pub(super) org_roles: OrgRoles,
    /// Hears of crashes.
    pub(super) observer: Arc<Observer>,
    pub(super) options: DirectoryOptions,
    memory: RwLock<Memory>,
    /// Whether memory is what storage holds. Cleared before anybody hears of a crash.
    sound: AtomicBool,
    pub(super) actor: RwLock<Option<ActorRef<Mutation>>>,
    pub(super) admission: Arc<Semaphore>,
    pub(super) registrations: Arc<Semaphore>,
    pub(super) guesses: Guesses,
    pub(super) touches: Touches,
    pub(super) participants: Cache,
    pub(super) fresh: Fresh,
    pub(super) credentials: Known,
    /// The idempotency keys of requests under way: the second request of a key waits, and finds the
    /// first one's answer.
    pub(super) key_locks: KeyedLocks<[u8; 32]>,
}

impl Core {
    pub(super) fn new(
        db: Db,
        clock: Clock,
        key: ServerKey,
        runtime: &Runtime,
        options: DirectoryOptions,
    ) -> Self {
        Self {
            db,
            clock,
            key,
            org_roles: runtime.org_roles(),
            observer: runtime.observer(),
            options,
            memory: RwLock::default(),
            sound: AtomicBool::new(false),
            actor: RwLock::default(),
            admission: Arc::new(Semaphore::new(MUTATIONS_MAX)),
            registrations: Arc::new(Semaphore::new(REGISTRATIONS_MAX)),
            guesses: Guesses::default(),
            touches: Touches::default(),
            participants: Cache::default(),
            fresh: Fresh::default(),
            credentials: Known::default(),
            key_locks: KeyedLocks::default(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Looks something up.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Memory) -> T) -> Result<T> {
        let memory = self.memory.read();
        if self.sound.load(Ordering::Acquire) {
            Ok(look(&memory))
        } else {
            Err(Error::unavailable("accounts are being loaded"))
        }
    }

    /// As [`Self::read`], but from within a change, which alone knows what memory is about to hold; so
    /// it ignores doubt.
    pub(super) fn peek<T>(&self, look: impl FnOnce(&Memory) -> T) -> T {
        look(&self.memory.read())
    }

    /// Records what a transaction has just committed.
    pub(super) fn write<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(&mut self.memory.write())
    }

    /// From now on nothing is read from memory until [`Self::replace`].
    pub(super) fn doubt(&self) {
        // Under the lock, so that no look-up that has passed the check is still going on.
        let _memory = self.memory.write();
        self.sound.store(false, Ordering::Release);
        self.org_roles.doubt();
    }

    /// Memory is what storage holds again.
    pub(super) fn replace(&self, memory: Memory) {
        let mut held = self.memory.write();
        self.org_roles.replace(memory.orgs.roles());
        *held = memory;
        // Whoever was signed out by a change of unknown outcome must not come back out of the
        // cache.
        self.participants.forget_all();
        self.sound.store(true, Ordering::Release);
    }

    /// Reads memory from storage. Nothing may be changing meanwhile.
    pub(super) async fn load(&self) -> Result<Memory> {
        let mut memory = Memory::default();
        rookery_storage::directory::load(&self.db, self.now(), |entry| memory.take(entry)).await?;
        Ok(memory)
    }

    /// Writes uses down and forgets what has expired.
    pub(super) async fn flush(&self) {
        let now = self.now();
        self.touches.flush(&self.db, now).await;
        self.guesses.prune(self.clock.elapsed());
        self.write(|memory| memory.prune(now));
    }
}

//! A lock for each key with which somebody is at work, first come first served. What is not here: what
//! a key stands for, and how long somebody waits.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

type Locks<K> = Arc<Mutex<HashMap<K, Arc<AsyncMutex<()>>>>>;

/// The locks of the keys that are held or waited for; those of all others take no room.
#[derive(Debug)]
pub struct KeyedLocks<K>(Locks<K>);

impl<K> Default for KeyedLocks<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// The lock of a key, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held<K: Eq + Hash + Copy> {
    locks: Locks<K>,
    key: K,
    guard: Option<OwnedMutexGuard<()>>,
}

impl<K: Eq + Hash + Copy> KeyedLocks<K> {
    /// Waits until nobody else holds this key.
    pub async fn hold(&self, key: K) -> Held<K> {
        let lock = self.0.lock().entry(key).or_default().clone();
        // From here on the entry goes with the last one who waits.
        let mut held = Held { locks: Arc::clone(&self.0), key, guard: None };
        held.guard = Some(lock.lock_owned().await);
        held
    }
}

impl<K: Eq + Hash + Copy> Drop for Held<K> {
    fn drop(&mut self) {
        let mut locks = self.locks.lock();
        self.guard = None;
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

//! Requests of one idempotency key, one at a time: the second waits, and finds the first one's answer.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use rookery_domain::idempotency::IdempotentRequest;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// A lock for each key of which a request is under way: as many as requests that wait or are answered.
#[derive(Default)]
pub(crate) struct KeyLocks(Mutex<HashMap<[u8; 32], Arc<AsyncMutex<()>>>>);

/// The lock of a key, until it is dropped.
#[must_use]
pub(crate) struct Held<'k> {
    locks: &'k KeyLocks,
    scope: [u8; 32],
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyLocks {
    /// Waits until no other request of this key is under way.
    pub(crate) async fn hold(&self, request: &IdempotentRequest) -> Held<'_> {
        let scope = request.scope;
        let lock = self.0.lock().entry(scope).or_default().clone();
        // From here on the entry goes with the last one who waits.
        let mut held = Held { locks: self, scope, guard: None };
        held.guard = Some(lock.lock_owned().await);
        held
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut locks = self.locks.0.lock();
        self.guard = None;
        if locks.get(&self.scope).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.scope);
        }
    }
}

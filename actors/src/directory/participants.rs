//! Visitors of apps that were seen lately, so that their requests cost no query.
//!
//! A visitor that has left must not come back out of the cache. A look-up takes a ticket before it
//! asks storage; whoever revokes makes all tickets of that moment worthless after its commit and
//! before its answer. So what is put in the cache was read after every revocation it could miss.

use std::sync::Arc;

use parking_lot::Mutex;
use rookery_domain::secret::SecretHash;
use rookery_storage::participants::Participant;

/// Visitors that are kept in memory.
const CACHED_MAX: u64 = 100_000;

/// The cache.
pub(super) struct Cache {
    seen: moka::sync::Cache<SecretHash, Arc<Participant>>,
    revocations: Mutex<u64>,
}

/// When a look-up began, counted in revocations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

impl Default for Cache {
    fn default() -> Self {
        Self { seen: moka::sync::Cache::new(CACHED_MAX), revocations: Mutex::new(0) }
    }
}

impl Cache {
    pub(super) fn get(&self, hash: SecretHash) -> Option<Arc<Participant>> {
        self.seen.get(&hash)
    }

    /// To be taken before storage is asked.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket(*self.revocations.lock())
    }

    /// Keeps what storage said, unless somebody was revoked since the ticket was taken.
    pub(super) fn put(&self, ticket: Ticket, visitor: Arc<Participant>) {
        let revocations = self.revocations.lock();
        if *revocations == ticket.0 {
            self.seen.insert(SecretHash(visitor.hash), visitor);
        }
    }

    /// Forgets one visitor, after its revocation was committed.
    pub(super) fn forget(&self, hash: SecretHash) {
        let mut revocations = self.revocations.lock();
        *revocations += 1;
        self.seen.invalidate(&hash);
    }

    /// Forgets everybody, after revocations of many were committed.
    pub(super) fn forget_all(&self) {
        let mut revocations = self.revocations.lock();
        *revocations += 1;
        self.seen.invalidate_all();
    }
}

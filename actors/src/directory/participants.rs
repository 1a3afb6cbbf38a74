//! Visitors of apps that were seen lately, so that their requests cost no query.
//!
//! A visitor that has left must not come back out of the cache. A look-up takes a ticket before it
//! asks storage; a revocation voids all tickets of that moment, after its commit and before its
//! answer. So what is put in the cache was read after every revocation it could have missed.
//!
//! Who follows a feed meanwhile is told in the same moment, to look whether it is still let in.

use std::{collections::hash_map::Entry, sync::Arc};

use parking_lot::Mutex;
use rookery_domain::{Result, id::HumanId, secret::SecretHash};
use rookery_storage::participants::Participant;
use rustc_hash::FxHashMap;
use tokio_util::sync::CancellationToken;

use super::core::Core;

/// Visitors that are kept in memory.
const CACHED_MAX: u64 = 100_000;

pub(super) struct Cache {
    seen: moka::sync::Cache<SecretHash, Arc<Participant>>,
    revocations: Mutex<u64>,
    /// Who waits with a token right now; as many as there are open requests, at most.
    waits: Mutex<FxHashMap<SecretHash, Waiters>>,
}

/// The requests that wait with one visitor's token.
struct Waiters {
    human: Option<HumanId>,
    requests: usize,
    end: CancellationToken,
}

/// A request that waits with a visitor's token.
pub struct VisitorWatch {
    core: Arc<Core>,
    hash: SecretHash,
    end: CancellationToken,
    /// Cancelled with the agent's key that let the visitor in.
    voucher: CancellationToken,
}

impl VisitorWatch {
    pub(super) fn begin(core: Arc<Core>, visitor: &Participant) -> Result<Self> {
        let hash = visitor.hash;
        let voucher = core.voucher(visitor.minted_by)?.unwrap_or_default();
        let end = core.participants.wait(hash, visitor.came_by.human());
        Ok(Self { core, hash, end, voucher })
    }

    /// Completes when the token may have ended since the watch began.
    pub async fn ended(&self) {
        tokio::select! {
            () = self.end.cancelled() => {}
            () = self.voucher.cancelled() => {}
        }
    }
}

impl Drop for VisitorWatch {
    fn drop(&mut self) {
        self.core.participants.wait_no_more(self.hash, &self.end);
    }
}

/// When a look-up began, counted in revocations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u64);

impl Default for Cache {
    fn default() -> Self {
        Self {
            seen: moka::sync::Cache::builder()
                .max_capacity(CACHED_MAX)
                .support_invalidation_closures()
                .build(),
            revocations: Mutex::default(),
            waits: Mutex::default(),
        }
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
            self.seen.insert(visitor.hash, visitor);
        }
    }

    /// Has the next look-up ask storage: what is kept here may be older than it is.
    pub(super) fn look_again(&self, hash: SecretHash) {
        self.seen.invalidate(&hash);
    }

    /// Forgets one visitor, after its revocation was committed.
    pub(super) fn forget(&self, hash: SecretHash) {
        {
            let mut revocations = self.revocations.lock();
            *revocations += 1;
            self.seen.invalidate(&hash);
        }
        if let Some(waiters) = self.waits.lock().remove(&hash) {
            waiters.end.cancel();
        }
    }

    /// Forgets the visits of `human`, after revocations of some were committed.
    pub(super) fn forget_visits_of(&self, human: HumanId) {
        {
            let mut revocations = self.revocations.lock();
            *revocations += 1;
            let is_of = move |_: &SecretHash, visitor: &Arc<Participant>| {
                visitor.came_by.human() == Some(human)
            };
            if self.seen.invalidate_entries_if(is_of).is_err() {
                // Only a cache without support for it refuses.
                self.seen.invalidate_all();
            }
        }
        let mut waits = self.waits.lock();
        for (_, waiters) in waits.extract_if(|_, waiters| waiters.human == Some(human)) {
            waiters.end.cancel();
        }
    }

    /// Forgets everybody: nobody knows who was revoked.
    pub(super) fn forget_all(&self) {
        {
            let mut revocations = self.revocations.lock();
            *revocations += 1;
            self.seen.invalidate_all();
        }
        for (_, waiters) in self.waits.lock().drain() {
            waiters.end.cancel();
        }
    }

    fn wait(&self, hash: SecretHash, human: Option<HumanId>) -> CancellationToken {
        let mut waits = self.waits.lock();
        let new = || Waiters { human, requests: 0, end: CancellationToken::new() };
        let waiters = waits.entry(hash).or_insert_with(new);
        waiters.requests += 1;
        waiters.end.clone()
    }

    fn wait_no_more(&self, hash: SecretHash, end: &CancellationToken) {
        let mut waits = self.waits.lock();
        // Whoever has been told is not counted any more.
        if let Entry::Occupied(mut waiters) = waits.entry(hash)
            && waiters.get().end == *end
        {
            waiters.get_mut().requests -= 1;
            if waiters.get().requests == 0 {
                waiters.remove();
            }
        }
    }
}

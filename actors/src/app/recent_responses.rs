//! Responses given lately, so that concurrent requests with one key are recognised as one before
//! storage knows either.
//!
//! Older responses are in storage. A sender asks there first and says which group was published when it
//! did; if this memory does not reach back that far, it must ask again.

use std::collections::{HashMap, VecDeque};

use rookery_domain::{
    Result, Timestamp,
    idempotency::{FirstResponse, IdempotentRequest, KEPT_FOR_S, StoredResponse},
};

use super::{message::CheckedIdempotency, root::GroupNumber};

/// Responses kept in memory.
const RESPONSES_MAX: usize = 256;
/// Bytes of their bodies.
const BYTES_MAX: usize = 1 << 20;

/// Responses given lately, by scope.
pub(crate) struct RecentResponses {
    by_scope: HashMap<[u8; 32], Recent>,
    /// Each with the group that it is written with.
    order: VecDeque<([u8; 32], GroupNumber)>,
    /// Bytes of the bodies.
    bytes: usize,
    /// The group after which every response is still here.
    floor: GroupNumber,
}

/// What this memory knows of a request.
pub(crate) enum Recall {
    /// Its first response.
    Found(StoredResponse),
    /// It was not answered before.
    Unknown,
    /// It may have been answered before: storage must be asked again.
    Evicted,
}

struct Recent {
    given_at: Timestamp,
    first: FirstResponse,
}

impl RecentResponses {
    /// An empty memory of an app that begins with `group`.
    pub(crate) fn since(group: GroupNumber) -> Self {
        Self { by_scope: HashMap::new(), order: VecDeque::new(), bytes: 0, floor: group }
    }

    /// Whether this request was answered in the last 24 hours, and how.
    ///
    /// # Errors
    /// `conflict` when the key came with another body.
    pub(crate) fn recall(&self, checked: &CheckedIdempotency, now: Timestamp) -> Result<Recall> {
        let request = &checked.idempotency.request;
        let kept = |known: &&Recent| known.given_at.plus_seconds(KEPT_FOR_S) > now;
        match self.by_scope.get(&request.scope).filter(kept) {
            Some(known) => Ok(Recall::Found(known.first.clone().replay_for(request)?)),
            None if checked.checked_at < self.floor => Ok(Recall::Evicted),
            None => Ok(Recall::Unknown),
        }
    }

    /// Remembers a response given now, which is written with `group`.
    pub(crate) fn remember(
        &mut self,
        IdempotentRequest { scope, body_hash }: IdempotentRequest,
        group: GroupNumber,
        now: Timestamp,
        response: StoredResponse,
    ) {
        // One that is too old to be given again.
        self.forget(&scope);
        self.bytes += response.body.len();
        let known = Recent { given_at: now, first: FirstResponse { body_hash, response } };
        self.by_scope.insert(scope, known);
        self.order.push_back((scope, group));
        while (self.order.len() > RESPONSES_MAX || self.bytes > BYTES_MAX)
            && let Some((scope, group)) = self.order.pop_front()
        {
            self.take(&scope);
            self.floor = self.floor.max(group);
        }
    }

    fn take(&mut self, scope: &[u8; 32]) -> bool {
        let known = self.by_scope.remove(scope);
        self.bytes -= known.as_ref().map_or(0, |known| known.first.response.body.len());
        known.is_some()
    }

    /// Forgets a response that was never committed.
    pub(crate) fn forget(&mut self, scope: &[u8; 32]) {
        if self.take(scope) {
            self.order.retain(|(kept, _)| kept != scope);
        }
    }

    /// Forgets all of them: a purge may have destroyed what they quote. Of those that were here only storage
    /// knows from now on, or will once their groups are durable.
    pub(crate) fn forget_all(&mut self) {
        let newest = self.order.back().map_or(self.floor, |(_, group)| *group);
        *self = Self::since(newest.max(self.floor));
    }
}

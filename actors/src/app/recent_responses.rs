//! Responses given lately, so that concurrent requests with one key are recognised as one before
//! storage knows either.
//!
//! Older responses are in storage. A sender asks there first and says which group was published when it
//! did; if this memory does not reach back that far, it must ask again. That a request was answered is
//! remembered longer than how: its text may be large, and storage has it as soon as its group is durable.

use std::collections::{HashMap, VecDeque};

use rookery_domain::{
    Result, Timestamp,
    idempotency::{FirstResponse, IdempotentRequest, KEPT_FOR_S, StoredResponse},
};

use super::{message::CheckedIdempotency, root::GroupNumber};

/// Requests that are known to have been answered: more than an app answers while storage is asked once.
const REQUESTS_MAX: usize = 1_024;
/// Responses to them that are kept.
const RESPONSES_MAX: usize = 256;
/// Bytes of their bodies.
const BYTES_MAX: usize = 1 << 20;

/// Responses given lately, by scope.
pub(crate) struct RecentResponses {
    by_scope: HashMap<[u8; 32], Recent>,
    /// All of them, the oldest first.
    order: VecDeque<[u8; 32]>,
    /// Those whose response is here, the oldest first.
    whole: VecDeque<[u8; 32]>,
    /// Bytes of their bodies.
    bytes: usize,
    /// The group after which every request is still known.
    floor: GroupNumber,
}

/// What this memory knows of a request.
pub(crate) enum Recall {
    /// Its first response.
    Found(StoredResponse),
    /// It was not answered before.
    Unknown,
    /// It was answered before, or may have been: storage must be asked again.
    Evicted,
}

struct Recent {
    given_at: Timestamp,
    /// The group that it is written with.
    group: GroupNumber,
    /// None where it is no longer kept here.
    first: Option<FirstResponse>,
}

impl Recent {
    fn bytes(&self) -> usize {
        self.first.as_ref().map_or(0, |first| first.response.body.len())
    }
}

impl RecentResponses {
    /// An empty memory of an app that begins with `group`.
    pub(crate) fn since(group: GroupNumber) -> Self {
        Self {
            by_scope: HashMap::new(),
            order: VecDeque::new(),
            whole: VecDeque::new(),
            bytes: 0,
            floor: group,
        }
    }

    /// Whether this request was answered in the last 24 hours, and how.
    ///
    /// # Errors
    /// `conflict` when the key came with another body.
    pub(crate) fn recall(&self, checked: &CheckedIdempotency, now: Timestamp) -> Result<Recall> {
        let request = &checked.idempotency.request;
        let kept = |known: &&Recent| known.given_at.plus_seconds(KEPT_FOR_S) > now;
        let known = self.by_scope.get(&request.scope).filter(kept);
        if let Some(first) = known.and_then(|known| known.first.clone()) {
            return Ok(Recall::Found(first.replay_for(request)?));
        }
        // What is not here was in storage from some group on. Whoever asked there later and found nothing
        // asks for something new, or for what a purge has destroyed.
        let stored_from = known.map_or(self.floor, |known| known.group);
        Ok(if checked.checked_at < stored_from { Recall::Evicted } else { Recall::Unknown })
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
        let first = Some(FirstResponse { body_hash, response });
        let known = Recent { given_at: now, group, first };
        self.bytes += known.bytes();
        self.by_scope.insert(scope, known);
        self.order.push_back(scope);
        self.whole.push_back(scope);
        while (self.whole.len() > RESPONSES_MAX || self.bytes > BYTES_MAX)
            && self.forget_oldest_text()
        {}
        if self.order.len() > REQUESTS_MAX
            && let Some(known) =
                self.order.pop_front().and_then(|scope| self.by_scope.remove(&scope))
        {
            // Its text left long before.
            self.floor = self.floor.max(known.group);
        }
    }

    /// Whether there was one.
    fn forget_oldest_text(&mut self) -> bool {
        let oldest = self.whole.pop_front();
        let Some(known) = oldest.and_then(|scope| self.by_scope.get_mut(&scope)) else {
            return false;
        };
        self.bytes -= known.bytes();
        known.first = None;
        true
    }

    /// Forgets a response that was never committed.
    pub(crate) fn forget(&mut self, scope: &[u8; 32]) {
        if let Some(known) = self.by_scope.remove(scope) {
            self.bytes -= known.bytes();
            self.order.retain(|kept| kept != scope);
            self.whole.retain(|kept| kept != scope);
        }
    }

    /// Forgets how anything was answered: a purge may have destroyed what the texts quote.
    pub(crate) fn forget_texts(&mut self) {
        while self.forget_oldest_text() {}
    }
}

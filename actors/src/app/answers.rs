//! Answers given lately, so that concurrent requests with one key are recognised as one before
//! storage knows either.
//!
//! Older answers are in storage. A sender asks there first and says at which seq it did; if this
//! memory does not reach back that far, it must ask again.

use std::collections::{HashMap, VecDeque};

use rookery_domain::{
    Result, Timestamp,
    idempotency::{FirstAnswer, KEPT_FOR_S, KeptAnswer, Once},
};

use super::message::Unanswered;

/// Answers kept in memory.
const ANSWERS_MAX: usize = 256;
/// Bytes of their bodies.
const BYTES_MAX: usize = 1 << 20;

/// Answers lately given, by scope.
#[derive(Default)]
pub(crate) struct Answers {
    by_scope: HashMap<[u8; 32], Remembered>,
    order: VecDeque<([u8; 32], u64)>,
    /// Bytes of the bodies.
    bytes: usize,
    /// The seq after which every answer is still here.
    floor: u64,
}

/// What this memory knows of a request.
pub(crate) enum Known {
    /// Its first answer.
    First(KeptAnswer),
    /// That it was not answered before.
    New,
    /// Nothing: storage must be asked again.
    Forgotten,
}

struct Remembered {
    given_at: Timestamp,
    first: FirstAnswer,
}

impl Answers {
    /// An empty memory of an app whose durable seq is `seq`.
    pub(crate) fn since(seq: u64) -> Self {
        Self { floor: seq, ..Self::default() }
    }

    /// Whether this request was answered in the last 24 hours, and how.
    ///
    /// # Errors
    /// `conflict` when the key came with another body.
    pub(crate) fn again(&self, asked: &Unanswered, now: Timestamp) -> Result<Known> {
        let once = &asked.request.once;
        let kept = |known: &&Remembered| known.given_at.plus_seconds(KEPT_FOR_S) > now;
        match self.by_scope.get(&once.scope).filter(kept) {
            Some(known) => Ok(Known::First(known.first.clone().again(once)?)),
            None if asked.checked_at_seq < self.floor => Ok(Known::Forgotten),
            None => Ok(Known::New),
        }
    }

    /// Remembers an answer given now, at `seq`.
    pub(crate) fn remember(
        &mut self,
        Once { scope, body_hash }: Once,
        seq: u64,
        now: Timestamp,
        answer: KeptAnswer,
    ) {
        // One that is too old to be given again.
        self.forget(&scope);
        self.bytes += answer.body.len();
        let known = Remembered { given_at: now, first: FirstAnswer { body_hash, answer } };
        self.by_scope.insert(scope, known);
        self.order.push_back((scope, seq));
        while (self.order.len() > ANSWERS_MAX || self.bytes > BYTES_MAX)
            && let Some((scope, seq)) = self.order.pop_front()
        {
            self.take(&scope);
            self.floor = self.floor.max(seq);
        }
    }

    fn take(&mut self, scope: &[u8; 32]) -> bool {
        let known = self.by_scope.remove(scope);
        self.bytes -= known.as_ref().map_or(0, |known| known.first.answer.body.len());
        known.is_some()
    }

    /// Forgets an answer that was never committed.
    pub(crate) fn forget(&mut self, scope: &[u8; 32]) {
        if self.take(scope) {
            self.order.retain(|(kept, _)| kept != scope);
        }
    }

    /// Forgets all of them: a purge may have destroyed what they quote, or a commit that failed has
    /// taken back what they tell of. Of requests up to `seq` only storage knows from here on: that is
    /// the newest of the working state for a purge, and the published one after a failed commit,
    /// because what is not durable must not raise the floor.
    pub(crate) fn forget_all(&mut self, seq: u64) {
        *self = Self::since(seq);
    }
}

//! Requests that carry an idempotency key: storage is asked for the first answer, then the actor,
//! which knows the answers that storage does not have yet.

use std::sync::Arc;

use rookery_domain::{Result, principal::Caller};

use super::{
    answers::{must_look_again, reused},
    message::{IdempotencyKey, Op, Renderer, Reply, StoredAnswer},
};
use crate::registry::{AppHandle, failed};

/// Look-ups before a request is refused as `unavailable`: more than one only when answers were
/// forgotten between the look-up and the actor's turn.
const LOOK_UPS_MAX: usize = 3;

/// What makes a repeated request the same request, as a route knows it.
#[derive(Debug, Clone)]
pub struct Once {
    /// SHA-256 of principal, route, app and key.
    pub scope: [u8; 32],
    /// SHA-256 of the body as it came.
    pub body_hash: [u8; 32],
    /// The collection whose rows the answer will quote.
    pub collection: Option<Arc<str>>,
    /// What the keys of created rows are appended to for `Location`.
    pub location_base: String,
    /// Renders the answer, for operations whose answer the route composes itself.
    pub render: Option<Renderer>,
}

/// What storage knows of a key.
pub(crate) enum LookedUp {
    /// The first answer.
    First(StoredAnswer),
    /// Nothing, at a seq that the actor is told with the request.
    New(IdempotencyKey),
}

impl AppHandle {
    /// Looks for the first answer to a request.
    ///
    /// # Errors
    /// `conflict` when its key came with another body before; `unavailable`.
    pub(crate) async fn look_up(&self, once: &Once) -> Result<LookedUp> {
        // The seq first: what is durable at that point, the look-up finds.
        let checked_at_seq = self.root().await?.seq;
        let first = self.env().store.answer(once.scope).await.map_err(failed)?;
        if let Some(first) = first {
            if first.body_hash != once.body_hash {
                return Err(reused());
            }
            let (status, location, body) = (first.status, first.location, first.body);
            return Ok(LookedUp::First(StoredAnswer { status, location, body }));
        }
        let Once { scope, body_hash, collection, location_base, render } = once.clone();
        Ok(LookedUp::New(IdempotencyKey {
            scope,
            body_hash,
            collection,
            location_base,
            render,
            checked_at_seq,
        }))
    }

    /// As [`AppHandle::apply`], but a repeated request is answered as the first one was.
    ///
    /// # Errors
    /// Those of [`AppHandle::apply`]; `conflict` when the key came with another body before.
    pub async fn apply_once(
        &self,
        caller: Caller,
        op: Op,
        once: Once,
        bytes: usize,
    ) -> Result<Reply> {
        let mut tried = 1;
        loop {
            let key = match self.look_up(&once).await? {
                LookedUp::First(answer) => return Ok(Reply::Replayed(answer)),
                LookedUp::New(key) => key,
            };
            match self.apply(caller.clone(), op.clone(), Some(key), bytes).await {
                Err(error) if must_look_again(&error) && tried < LOOK_UPS_MAX => tried += 1,
                answer => return answer,
            }
        }
    }
}

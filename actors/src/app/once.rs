//! Requests that carry an idempotency key: storage is asked for the first answer, then the actor,
//! which knows the answers that storage does not have yet.

use rookery_domain::{
    Error, Result,
    idempotency::{KeptAnswer, Once},
    principal::Caller,
};

use super::message::{OnceInApp, Op, Reply, Unanswered};
use crate::registry::AppHandle;

/// Look-ups before a request is refused as `unavailable`: more than one only when answers were
/// forgotten between the look-up and the actor's turn.
const LOOK_UPS_MAX: usize = 3;

/// What storage knows of a key.
pub(crate) enum LookedUp {
    /// The first answer.
    First(KeptAnswer),
    /// Nothing.
    New(Unanswered),
}

impl AppHandle {
    /// Looks for the first answer to a request.
    ///
    /// # Errors
    /// `conflict` when its key came with another body before; `unavailable`.
    pub(crate) async fn look_up(&self, request: &OnceInApp) -> Result<LookedUp> {
        // The seq first: what is durable at that point, the look-up finds.
        let checked_at_seq = self.root().await?.seq;
        Ok(match self.first_answer(&request.once).await? {
            Some(first) => LookedUp::First(first),
            None => LookedUp::New(Unanswered { request: request.clone(), checked_at_seq }),
        })
    }

    /// The first answer to a request that was answered before, as far as it is durable. What it tells
    /// of is published.
    ///
    /// # Errors
    /// `conflict` when its key came with another body before; `unavailable`.
    pub async fn first_answer(&self, once: &Once) -> Result<Option<KeptAnswer>> {
        let Some(first) = self.env().store.answer(once.scope).await? else { return Ok(None) };
        let first = first.again(once)?;
        self.until_published().await?;
        Ok(Some(first))
    }

    /// As [`AppHandle::apply`], but a repeated request is answered as the first one was.
    ///
    /// # Errors
    /// Those of [`AppHandle::apply`]; `conflict` when the key came with another body before.
    pub async fn apply_once(
        &self,
        caller: Caller,
        mut op: Op,
        request: OnceInApp,
        bytes: usize,
    ) -> Result<Reply> {
        for _ in 0..LOOK_UPS_MAX {
            let asked = match self.look_up(&request).await? {
                LookedUp::First(answer) => return Ok(Reply::Replayed(answer)),
                LookedUp::New(asked) => asked,
            };
            match self.apply_body(caller.clone(), op, Some(asked), bytes).await? {
                Reply::LookAgain(back) => op = *back,
                reply => return Ok(reply),
            }
        }
        Err(forgotten_too_often())
    }
}

/// Each time that a first answer was looked up, others pushed out what the look-up rests on before the
/// actor's turn.
pub(crate) fn forgotten_too_often() -> Error {
    Error::unavailable("too many answers are being kept")
}

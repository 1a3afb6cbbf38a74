//! Requests that carry an idempotency key: storage is asked for the first response, then the actor,
//! which knows the responses that storage does not have yet.

use rookery_domain::{
    Error, Result,
    idempotency::{Idempotent, IdempotentRequest, Kept, StoredResponse},
    principal::Caller,
};

use super::message::{CheckedIdempotency, Idempotency, Op, Reply};
use crate::registry::AppHandle;

/// Look-ups before a request is refused as `unavailable`: more than one only when responses were
/// evicted between the look-up and the actor's turn.
const LOOK_UPS_MAX: usize = 3;

/// What storage answers about a request.
pub(crate) enum Lookup {
    /// The first response.
    Found(StoredResponse),
    /// None.
    Absent(CheckedIdempotency),
}

impl AppHandle {
    /// Looks for the first response to a request.
    ///
    /// # Errors
    /// `conflict` when its key came with another body before; `unavailable`.
    pub(crate) async fn look_up(&self, idempotency: &Idempotency) -> Result<Lookup> {
        // This first: what is durable at that point, the look-up finds.
        let checked_at = self.root().await?.group;
        Ok(match self.first_response(&idempotency.request).await? {
            Some(first) => Lookup::Found(first),
            None => {
                Lookup::Absent(CheckedIdempotency { idempotency: idempotency.clone(), checked_at })
            }
        })
    }

    /// The first response to this request, as far as it is durable. What it tells of is published.
    ///
    /// # Errors
    /// `conflict` when its key came with another body before; `unavailable`.
    pub async fn first_response(
        &self,
        request: &IdempotentRequest,
    ) -> Result<Option<StoredResponse>> {
        let Some(first) = self.env().store.first_response(request.scope).await? else {
            return Ok(None);
        };
        let first = first.replay_for(request)?;
        self.until_published().await?;
        Ok(Some(first))
    }

    /// Has the app do `op`, which makes what `made` finds in the reply; or answers as the same request
    /// was answered before. `kept` is what a repeated request is told of what was made.
    ///
    /// # Errors
    /// Those of [`AppHandle::apply`]; `conflict` when the key came with another body before.
    pub async fn idempotent<T: 'static>(
        &self,
        request: Option<IdempotentRequest>,
        kept: Kept<T>,
        caller: Caller,
        op: Op,
        made: impl Fn(&Reply) -> Option<T> + Clone + Send + Sync + 'static,
    ) -> Result<Idempotent<T>> {
        let found = made.clone();
        let reply = match request {
            None => self.apply(caller, op).await?,
            Some(request) => {
                // What is kept for a reply of another kind than was asked for: the first caller is
                // told `internal`, too.
                let none = StoredResponse { status: 500, location: None, body: String::new() };
                let idempotency = Idempotency::rendered(request, move |reply, _| {
                    found(reply).map_or_else(|| none.clone(), |made| kept(&made))
                });
                self.apply_idempotent(caller, op, idempotency, 0).await?
            }
        };
        match reply {
            Reply::Replayed(first) => Ok(Idempotent::Replayed(first)),
            reply => made(&reply).map(Idempotent::Fresh).ok_or_else(Error::unknown_outcome),
        }
    }

    /// As [`AppHandle::apply`], but a repeated request is answered as the first one was.
    ///
    /// # Errors
    /// Those of [`AppHandle::apply`]; `conflict` when the key came with another body before.
    pub async fn apply_idempotent(
        &self,
        caller: Caller,
        mut op: Op,
        idempotency: Idempotency,
        bytes: usize,
    ) -> Result<Reply> {
        for _ in 0..LOOK_UPS_MAX {
            let checked = match self.look_up(&idempotency).await? {
                Lookup::Found(answer) => return Ok(Reply::Replayed(answer)),
                Lookup::Absent(checked) => checked,
            };
            match self.apply_with(caller.clone(), op, Some(checked), bytes).await? {
                Reply::LookAgain(back) => op = *back,
                reply => return Ok(reply),
            }
        }
        Err(evicted_too_often())
    }
}

/// Between each look-up and the actor's turn the actor's recent responses were evicted.
pub(crate) fn evicted_too_often() -> Error {
    Error::unavailable("other answers came between each look for an earlier one to this key")
}

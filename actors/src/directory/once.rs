//! `Idempotency-Key` on routes of no app: the first answer is kept and given again.

use std::{future::Future, sync::Arc};

use rookery_domain::{
    Error, Result,
    idempotency::{Answered, KeptAnswer, Once},
};
use rookery_storage::idempotency::global::{self, NewAnswer};
use tokio::sync::Mutex;

use super::Directory;
use crate::task::to_the_end;

/// Requests of different keys that may be answered side by side.
const GATES: usize = 64;

/// Requests of one key pass one gate, one at a time.
pub(super) struct Gates([Arc<Mutex<()>>; GATES]);

impl Default for Gates {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Arc::default()))
    }
}

/// Something that was made.
#[derive(Debug, Clone)]
pub struct Made<T> {
    /// For the first caller, secrets included.
    pub answer: T,
    /// For those who repeat the request.
    pub kept: KeptAnswer,
}

impl Directory {
    /// Answers with `make`, or as the same request was answered before, where it can be told again.
    /// Runs to its end whatever the caller does.
    ///
    /// # Errors
    /// `conflict`, when the key was used with another body; whatever `make` refuses, which is not
    /// kept; `internal` with an unknown outcome, when something was made and its answer could not be
    /// kept.
    pub async fn once<T, F>(&self, once: Option<Once>, make: F) -> Result<Answered<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<Made<T>>> + Send + 'static,
    {
        let this = self.clone();
        to_the_end(async move {
            match once {
                Some(once) => this.answer_once(once, make).await,
                None => Ok(Answered::First(make.await?.answer)),
            }
        })
        .await
    }

    async fn answer_once<T>(
        &self,
        once: Once,
        make: impl Future<Output = Result<Made<T>>>,
    ) -> Result<Answered<T>> {
        let core = &self.core;
        let gate = usize::from(once.scope[0]) % GATES;
        let _passing = core.gates.0[gate].lock().await;
        let now = core.now();
        if let Some(first) = global::find(&core.db, once.scope, now).await? {
            return first.again(&once).map(Answered::Again);
        }
        let Made { answer, kept } = make.await?;
        // What `make` did is durable by now, so no failure from here on is one without effect.
        let new = NewAnswer { once, answer: kept, now };
        let put = global::put(&core.db, new).await;
        put.map_err(|error| Error::unknown_outcome().caused_by(error))?;
        Ok(Answered::First(answer))
    }
}

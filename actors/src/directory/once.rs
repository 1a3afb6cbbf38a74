//! `Idempotency-Key` on routes of no app: the first answer is kept and given again.

use std::{future::Future, sync::Arc};

use rookery_domain::{
    Result,
    idempotency::{Answered, KeptAnswer, Once},
};
use rookery_storage::idempotency::{Keep, global};
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

impl Directory {
    /// Runs `make`, which hands its [`Keep`] to the transaction; or answers as the same request was
    /// answered before, where that can be repeated. `kept` is what a repeated request is told of
    /// what was made. Runs to its end whatever the caller does.
    ///
    /// # Errors
    /// `conflict`, when the key was used with another body; whatever `make` refuses, which is not
    /// kept.
    pub async fn once<T, F>(
        &self,
        once: Option<Once>,
        kept: impl Fn(&T) -> KeptAnswer + Send + Sync + 'static,
        make: impl FnOnce(Keep<T>) -> F + Send + 'static,
    ) -> Result<Answered<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let this = self.clone();
        to_the_end(async move {
            let Some(once) = once else {
                return make(Keep::nothing()).await.map(Answered::First);
            };
            let core = &this.core;
            let gate = usize::from(once.scope[0]) % GATES;
            let _passing = core.gates.0[gate].lock().await;
            let now = core.now();
            if let Some(first) = global::find(&core.db, once.scope, now).await? {
                return first.again(&once).map(Answered::Again);
            }
            let refused = match make(Keep::new(once, now, kept)).await {
                Ok(made) => return Ok(Answered::First(made)),
                Err(error) => error,
            };
            // The first request may have been given up, and what it began may have ended since.
            match global::find(&core.db, once.scope, now).await {
                Ok(Some(first)) => first.again(&once).map(Answered::Again),
                Ok(None) | Err(_) => Err(refused),
            }
        })
        .await
    }
}

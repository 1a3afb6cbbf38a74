//! `Idempotency-Key` on routes of no app: the first response is kept and given again.

use std::{future::Future, sync::Arc};

use parking_lot::Mutex;
use rookery_domain::{
    Result,
    idempotency::{Idempotent, IdempotentRequest, StoredResponse},
};
use rookery_storage::idempotency::{KeepResponse, global};

use super::Directory;
use crate::task::to_the_end;

impl Directory {
    /// Runs `make`, which hands its [`KeepResponse`] to the transaction; or answers as the same request was
    /// answered before, where that can be repeated. `kept` is what a repeated request is told of
    /// what was made. Runs to its end whatever the caller does.
    ///
    /// # Errors
    /// `conflict`, when the key was used with another body; whatever `make` refuses, which is not
    /// kept.
    pub async fn idempotent<T, F>(
        &self,
        request: Option<IdempotentRequest>,
        kept: impl Fn(&T) -> StoredResponse + Send + Sync + 'static,
        make: impl FnOnce(KeepResponse<T>) -> F + Send + 'static,
    ) -> Result<Idempotent<T>>
    where
        T: Clone + Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let this = self.clone();
        to_the_end(async move {
            let Some(request) = request else {
                return make(KeepResponse::nothing()).await.map(Idempotent::Fresh);
            };
            let core = &this.core;
            let _held = core.key_locks.hold(request.scope).await;
            let now = core.now();
            if let Some(first) = global::find(&core.db, request.scope, now).await? {
                return first.replay_for(&request).map(Idempotent::Replayed);
            }
            let own = Arc::new(Mutex::new(None));
            let noted = Arc::clone(&own);
            let keep = KeepResponse::new(request, now, move |made: &T| {
                let response = kept(made);
                *noted.lock() = Some((response.clone(), made.clone()));
                response
            });
            let refused = match make(keep).await {
                Ok(made) => return Ok(Idempotent::Fresh(made)),
                Err(error) => error,
            };
            // The first request may have been given up, and what it began may have ended since. Or it is
            // this one, which was made although nobody heard of it.
            let Ok(Some(first)) = global::find(&core.db, request.scope, now).await else {
                return Err(refused);
            };
            match own.lock().take() {
                Some((response, made)) if response == first.response => Ok(Idempotent::Fresh(made)),
                _ => first.replay_for(&request).map(Idempotent::Replayed),
            }
        })
        .await
    }
}

//! What a creation keeps of its response, in the transaction that makes it: both are there after a
//! crash, or neither.

use std::{fmt, sync::Arc};

use rookery_domain::{
    Timestamp,
    idempotency::{IdempotentRequest, Kept, StoredResponse},
};

use super::global::{NewResponse, put_in};
use crate::{
    db::{Args, Db, Tx},
    error::{Result, StorageError},
};

/// How the request that makes a `T` is answered when it comes again; nothing, when it has no
/// `Idempotency-Key`.
pub struct KeepResponse<T>(Option<Arc<Keeping<T>>>);

struct Keeping<T> {
    request: IdempotentRequest,
    now: Timestamp,
    response: Kept<T>,
}

impl<T> KeepResponse<T> {
    /// Keeps nothing.
    #[must_use]
    pub const fn nothing() -> Self {
        Self(None)
    }
}

impl<T: 'static> KeepResponse<T> {
    /// Keeps the `response` to `request`, which makes something at `now`.
    #[must_use]
    pub fn new(
        request: IdempotentRequest,
        now: Timestamp,
        response: impl Fn(&T) -> StoredResponse + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(Keeping { request, now, response: Box::new(response) })))
    }

    /// Keeps the response to a `U`, of which `view` makes the `T` that is answered.
    #[must_use]
    pub fn of<U: 'static>(self, view: impl Fn(&U) -> T + Send + Sync + 'static) -> KeepResponse<U> {
        let Some(keeping) = self.0 else { return KeepResponse::nothing() };
        KeepResponse::new(keeping.request, keeping.now, move |made| (keeping.response)(&view(made)))
    }
}

impl<T> KeepResponse<T> {
    /// Stores the response to what the transaction has made.
    ///
    /// # Errors
    /// [`StorageError::Answered`] when the same request was answered before: the transaction must
    /// not be committed. Any other [`StorageError`].
    pub(crate) async fn put(&self, tx: &mut Tx, made: &T) -> Result<()> {
        let Some(keeping) = &self.0 else { return Ok(()) };
        let Keeping { request, now, response } = &**keeping;
        let new = NewResponse { request: *request, response: response(made), now: *now };
        match put_in(tx, &new, None).await? {
            None => Ok(()),
            Some(_) => Err(StorageError::Answered),
        }
    }
}

impl KeepResponse<()> {
    /// Runs one insert that makes one thing at most, and stores the response when it has; whether it
    /// has.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub(crate) async fn insert(self, db: &Db, sql: &'static str, args: Args) -> Result<bool> {
        db.transaction((self, sql, args), |tx, (keep, sql, args)| {
            Box::pin(async move {
                let made = tx.execute(sql, args.clone()).await? == 1;
                if made {
                    keep.put(tx, &()).await?;
                }
                Ok(made)
            })
        })
        .await
    }
}

impl<T> Clone for KeepResponse<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for KeepResponse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeepResponse")
            .field(&self.0.as_ref().map(|keeping| keeping.request))
            .finish()
    }
}

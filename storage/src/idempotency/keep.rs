//! What a creation keeps of its answer, in the transaction that makes it: both are there after a
//! crash, or neither.

use std::{fmt, sync::Arc};

use rookery_domain::{
    Timestamp,
    idempotency::{KeptAnswer, Once},
};

use super::global::{NewAnswer, put_in};
use crate::{
    db::{Args, Db, Tx},
    error::{Result, StorageError},
};

/// How the request that makes a `T` is answered when it comes again; nothing, when it has no
/// `Idempotency-Key`.
pub struct Keep<T>(Option<Arc<Keeping<T>>>);

struct Keeping<T> {
    once: Once,
    now: Timestamp,
    answer: Box<dyn Fn(&T) -> KeptAnswer + Send + Sync>,
}

impl<T> Keep<T> {
    /// Keeps nothing.
    #[must_use]
    pub const fn nothing() -> Self {
        Self(None)
    }
}

impl<T: 'static> Keep<T> {
    /// Keeps `answer` to what is made at `now` for the request `once`.
    #[must_use]
    pub fn new(
        once: Once,
        now: Timestamp,
        answer: impl Fn(&T) -> KeptAnswer + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(Keeping { once, now, answer: Box::new(answer) })))
    }

    /// The same for a `U`, of which `view` makes the `T` that is answered.
    #[must_use]
    pub fn of<U: 'static>(self, view: impl Fn(&U) -> T + Send + Sync + 'static) -> Keep<U> {
        let Some(keeping) = self.0 else { return Keep::nothing() };
        Keep::new(keeping.once, keeping.now, move |made| (keeping.answer)(&view(made)))
    }
}

impl<T> Keep<T> {
    /// Stores the answer to what the transaction has made.
    ///
    /// # Errors
    /// [`StorageError::Answered`] when the same request was answered before: the transaction must
    /// not be committed. Any other [`StorageError`].
    pub(crate) async fn put(&self, tx: &mut Tx, made: &T) -> Result<()> {
        let Some(keeping) = &self.0 else { return Ok(()) };
        let Keeping { once, now, answer } = &**keeping;
        let new = NewAnswer { once: *once, answer: answer(made), now: *now };
        match put_in(tx, &new, None).await? {
            None => Ok(()),
            Some(_) => Err(StorageError::Answered),
        }
    }
}

impl Keep<()> {
    /// Runs one insert that makes one thing at most, and stores the answer when it has; whether it
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

impl<T> Clone for Keep<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Keep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keep").field(&self.0.as_ref().map(|keeping| keeping.once)).finish()
    }
}

//! `Idempotency-Key` on routes of no app: the first answer is kept for 24 hours and given again.

use std::{future::Future, sync::Arc};

use rookery_domain::{Error, ErrorCode, Result};
use rookery_storage::idempotency_global::{self, NewAnswer, StoredAnswer};
use tokio::sync::Mutex;
use tracing::error;

use super::Directory;
use crate::task::to_the_end;

/// Seconds that a first answer is kept.
const KEPT_S: i64 = 86_400;
/// Requests of different keys that may be answered side by side.
const GATES: usize = 64;

/// Requests of one key pass one gate, one at a time.
pub(super) struct Gates([Arc<Mutex<()>>; GATES]);

impl Default for Gates {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Arc::default()))
    }
}

/// A request that is to be answered once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Once {
    /// SHA-256 of principal, route and key.
    pub scope: [u8; 32],
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
}

/// An answer to be given: what the first caller hears, and what is kept for the others.
#[derive(Debug, Clone)]
pub struct FirstAnswer<T> {
    /// For the first caller, secrets included.
    pub answer: T,
    /// The status.
    pub status: u16,
    /// The `Location`.
    pub location: Option<String>,
    /// The body without secrets.
    pub kept_body: String,
}

/// How a request was answered.
#[derive(Debug)]
pub enum Answered<T> {
    /// For the first time.
    First(T),
    /// As before.
    Again {
        /// The status.
        status: u16,
        /// The `Location`.
        location: Option<String>,
        /// The body, without secrets.
        body: String,
    },
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
        F: Future<Output = Result<FirstAnswer<T>>> + Send + 'static,
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
        make: impl Future<Output = Result<FirstAnswer<T>>>,
    ) -> Result<Answered<T>> {
        let core = &self.core;
        let gate = usize::from(once.scope[0]) % GATES;
        let _passing = core.gates.0[gate].lock().await;
        let now = core.now();
        let not_before = now.plus_seconds(-KEPT_S);
        if let Some(kept) = idempotency_global::get(&core.db, once.scope, not_before).await? {
            return again(kept, once);
        }
        let FirstAnswer { answer, status, location, kept_body } = make.await?;
        let kept = StoredAnswer {
            body_hash: once.body_hash,
            status,
            location,
            body: kept_body,
            created_at: now,
        };
        let new = NewAnswer { scope: once.scope, answer: kept, not_before };
        // What `make` did is durable by now, so no failure from here on is one without effect.
        idempotency_global::put(&core.db, new).await.map_err(|error| {
            error!(%error, "a first answer could not be kept");
            Error::internal(true)
        })?;
        Ok(Answered::First(answer))
    }
}

fn again<T>(kept: StoredAnswer, once: Once) -> Result<Answered<T>> {
    if kept.body_hash != once.body_hash {
        let message = "Idempotency-Key: was used with another body";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(Answered::Again { status: kept.status, location: kept.location, body: kept.body })
}

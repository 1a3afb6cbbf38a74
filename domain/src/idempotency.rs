//! Idempotency (contract part 1): which requests are the same one, and the response that all but the
//! first of them get.
//!
//! What is not here: where first responses are kept, and the order in which they are looked for.

use sha2::{Digest as _, Sha256};

use crate::{Error, ErrorCode, Principal, Result};

/// How long a first response is given again, in seconds: 24 hours.
pub const KEPT_FOR_S: i64 = 24 * 60 * 60;

/// What makes a repeated request the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotentRequest {
    /// SHA-256 of who asks, of what, and with which key.
    pub scope: [u8; 32],
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
}

impl IdempotentRequest {
    /// A request of `principal`. `what` is its route, what the route is about, and the key; each
    /// goes into the scope with its length.
    #[must_use]
    pub fn new(principal: Principal, what: &[&str], body_hash: [u8; 32]) -> Self {
        let mut scope =
            Sha256::new().chain_update([principal.kind as u8]).chain_update(principal.id);
        for part in what {
            scope.update((part.len() as u64).to_be_bytes());
            scope.update(part);
        }
        Self { scope: scope.finalize().into(), body_hash }
    }
}

/// A response as it is stored: without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body, JSON.
    pub body: String,
}

/// What is kept of the answer to a request, made of what the request did.
pub type Kept<T> = Box<dyn Fn(&T) -> StoredResponse + Send + Sync>;

/// What is stored for a scope: the response to the first request that had it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstResponse {
    /// SHA-256 of that request's body.
    pub body_hash: [u8; 32],
    /// The response to it.
    pub response: StoredResponse,
}

impl FirstResponse {
    /// The response once more, for a request of the same scope.
    ///
    /// # Errors
    /// `conflict`, when that request has another body.
    pub fn replay_for(self, request: &IdempotentRequest) -> Result<StoredResponse> {
        if self.body_hash == request.body_hash {
            return Ok(self.response);
        }
        Err(Error::new(
            ErrorCode::Conflict,
            "this Idempotency-Key was used before, for a request with another body or query",
        ))
    }
}

/// How an idempotent request was answered.
#[derive(Debug, Clone)]
pub enum Idempotent<T> {
    /// It was done now.
    Fresh(T),
    /// It was done before, and is answered as it was then.
    Replayed(StoredResponse),
}

impl<T> Idempotent<T> {
    /// What was done, when it was done now.
    #[must_use]
    pub fn fresh(self) -> Option<T> {
        match self {
            Self::Fresh(done) => Some(done),
            Self::Replayed(_) => None,
        }
    }
}

//! What makes a repeated request the same request, and the answer that is kept for it.

use std::sync::Arc;

use super::{super::root::Root, reply::Reply};

/// An answer as the idempotency record keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body.
    pub body: String,
}

/// What makes a repeated request the same request (contract part 1, "Idempotency").
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// SHA-256 of principal, route, app and key.
    pub scope: [u8; 32],
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
    /// The collection whose rows the answer will quote.
    pub collection: Option<Arc<str>>,
    /// What the keys of created rows are appended to for `Location`.
    pub location_base: String,
    /// Renders the answer, for operations whose answer the route composes itself.
    pub render: Option<Renderer>,
    /// The app's published seq when storage was asked for this scope and knew none.
    pub checked_at_seq: u64,
}

/// Renders the answer of a reply, given the app after it.
#[derive(Clone)]
pub struct Renderer(pub Arc<Render>);

/// What a [`Renderer`] does.
pub type Render = dyn Fn(&Reply, &Root) -> StoredAnswer + Send + Sync;

impl std::fmt::Debug for Renderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Renderer")
    }
}

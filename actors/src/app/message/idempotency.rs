//! A request that is to be done once, as an app's actor is asked for it.

use std::sync::Arc;

use rookery_domain::idempotency::{KeptAnswer, Once};

use super::{super::root::Root, reply::Reply};

/// What makes a repeated request the same one, and how the answer to be kept is made, as a route
/// knows it.
#[derive(Debug, Clone)]
pub struct OnceInApp {
    /// What makes it the same.
    pub once: Once,
    /// The collection whose rows the answer will quote.
    pub collection: Option<Arc<str>>,
    /// What the keys of created rows are appended to for `Location`.
    pub location_base: String,
    /// Renders the answer, for operations whose answer the route composes itself.
    pub render: Option<Renderer>,
}

/// The same, after storage was asked for a first answer and knew none.
#[derive(Debug, Clone)]
pub struct Unanswered {
    /// The request.
    pub request: OnceInApp,
    /// The app's published seq when storage was asked.
    pub checked_at_seq: u64,
}

/// Renders the answer of a reply, given the app after it.
#[derive(Clone)]
pub struct Renderer(pub Arc<Render>);

/// What a [`Renderer`] does.
pub type Render = dyn Fn(&Reply, &Root) -> KeptAnswer + Send + Sync;

impl std::fmt::Debug for Renderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Renderer")
    }
}

//! What an app's actor is told of the `Idempotency-Key` of a request. What is not here: how storage is
//! asked for the first response ([`idempotency`](crate::app::idempotency)).

use std::sync::Arc;

use rookery_domain::idempotency::{IdempotentRequest, StoredResponse};

use super::{
    super::root::{GroupNumber, Root},
    reply::Reply,
};

/// What an `Idempotency-Key` asks of a write: which requests are this one again, and how the response to
/// be given to them is made.
#[derive(Debug, Clone)]
pub struct Idempotency {
    /// What makes a request the same one.
    pub request: IdempotentRequest,
    /// The collection whose rows the response will quote.
    pub collection: Option<Arc<str>>,
    /// What the keys of created rows are appended to for `Location`.
    pub location_base: String,
    /// Renders the response of operations whose response the route composes itself.
    pub render: Option<Renderer>,
}

impl Idempotency {
    /// For an operation whose response `render` makes of its reply and of the app after it.
    #[must_use]
    pub fn rendered(
        request: IdempotentRequest,
        render: impl Fn(&Reply, &Root) -> StoredResponse + Send + Sync + 'static,
    ) -> Self {
        let render = Some(Renderer(Arc::new(render)));
        Self { request, collection: None, location_base: String::new(), render }
    }
}

/// An [`Idempotency`] of which storage knew no first response.
#[derive(Debug, Clone)]
pub struct CheckedIdempotency {
    /// What storage was asked for.
    pub idempotency: Idempotency,
    /// What was published of the app when storage was asked.
    pub checked_at: GroupNumber,
}

/// Renders the response to a reply, given the app after it.
#[derive(Clone)]
pub struct Renderer(pub Arc<Render>);

/// What a [`Renderer`] does.
pub type Render = dyn Fn(&Reply, &Root) -> StoredResponse + Send + Sync;

impl std::fmt::Debug for Renderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Renderer")
    }
}

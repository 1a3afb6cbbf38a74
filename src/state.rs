//! What handlers share: settings, clock, and handles to the rooms behind them. A new room adds a
//! field here and nowhere else.

use std::{ops::Deref, sync::Arc};

use rookery_domain::time::Clock;
use tokio_util::sync::CancellationToken;

use crate::{
    boot::Rooms,
    config::Config,
    error::Envelope,
    http::{auth::Authenticator, country::Countries, waiters::Waiters},
    idp::IdentityProvider,
    mail::Mailer,
    openapi::Reference,
    ops::Ops,
    pages::origin::Origins,
    push::Push,
    routes::page::PageCache,
    traces::Traces,
};

/// The state of a server, as cheap to clone as a pointer.
#[derive(Clone)]
pub struct AppState(Arc<State>);

/// What [`AppState`] points to.
pub struct State {
    /// The settings in force.
    pub config: Config,
    /// Where the present comes from.
    pub clock: Clock,
    /// The site's origin, without a slash at the end; links begin with it.
    pub public_url: String,
    /// Which host is the site and which is an app.
    pub origins: Origins,
    /// Writes error answers.
    pub envelope: Envelope,
    /// The rooms behind the handlers.
    pub rooms: Rooms,
    /// Who else may say who a human is.
    pub idp: Option<IdentityProvider>,
    /// Sends mail.
    pub mailer: Mailer,
    /// Tells browsers.
    pub push: Push,
    /// Who a credential belongs to.
    pub authenticator: Arc<dyn Authenticator>,
    /// Open polls of the feed, per client network.
    pub feed_waiters: Arc<Waiters>,
    /// Which country a client is in.
    pub countries: Countries,
    /// What operators see.
    pub ops: Ops,
    /// Traces of requests, where the settings name a collector.
    pub traces: Option<Traces>,
    /// The documents about the API itself, rendered once.
    pub reference: Reference,
    /// Pages of apps, ready to be sent.
    pub pages: PageCache,
    /// Cancelled when the server begins to drain: no new work, long-polls end empty.
    pub drain: CancellationToken,
}

impl AppState {
    /// Shares `state`.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self(Arc::new(state))
    }
}

impl State {
    /// Whether browsers reach the site over https.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.public_url.starts_with("https:")
    }
}

impl Deref for AppState {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

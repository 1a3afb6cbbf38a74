//! What handlers share: settings, clock, and handles to the rooms behind them. A new room adds a
//! field here and nowhere else.

use std::{ops::Deref, sync::Arc};

use rookery_domain::{id::AppId, time::Clock};
use rookery_storage::offload::{Offload, Waits};
use tokio_util::sync::CancellationToken;

use crate::{
    boot::Rooms,
    config::Config,
    domains::CustomDomains,
    error::Envelope,
    http::{
        auth::Authenticator, body::budget::BodyBudget, client::country::Countries,
        edge::waiters::Waiters,
    },
    idp::IdentityProvider,
    mail::Mailer,
    openapi::Reference,
    ops::Ops,
    pages::origin::Origins,
    push::Push,
    routes::page::PageCache,
    screenshot::Screenshots,
    siteverify::Siteverify,
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
    /// Who else tells visitors from robots.
    pub siteverify: Option<Arc<Siteverify>>,
    /// Custom domains, where the settings name an edge provider.
    pub custom_domains: Option<Arc<CustomDomains>>,
    /// Sends mail.
    pub mailer: Mailer,
    /// Tells browsers.
    pub push: Push,
    /// Who a credential belongs to.
    pub authenticator: Arc<dyn Authenticator>,
    /// Open polls of the feed, per client network.
    pub feed_waiters: Arc<Waiters>,
    /// The bytes of request bodies.
    pub bodies: Arc<BodyBudget>,
    /// Where large bodies are unpacked and parsed, and what else takes a thread for a while. It goes
    /// round by who asks.
    pub reading: Offload,
    /// Which country a client is in.
    pub countries: Countries,
    /// What operators see.
    pub ops: Ops,
    /// Traces of requests, where the settings name a collector.
    pub traces: Option<Traces>,
    /// The documents about the API itself.
    pub reference: Reference,
    /// Pages of apps, ready to be sent.
    pub pages: PageCache,
    /// Pictures of apps.
    pub screenshots: Screenshots,
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
    /// The origin of an app's pages: its custom domain where it has one that works, and the settings name
    /// the edge provider.
    #[must_use]
    pub fn app_origin(&self, app: AppId, slug: &str) -> String {
        // Without an edge provider in the settings nobody knows whether one works.
        let enabled = self.custom_domains.is_some();
        match self.rooms.domains().serving(app).filter(|_| enabled) {
            Some(domain) => self.origins.domain_origin(&domain),
            None => self.origins.app_origin(slug),
        }
    }

    /// Long jobs of every kind that wait for their turn.
    #[must_use]
    pub fn long_jobs(&self) -> Waits {
        [self.rooms.apps().long_jobs(), self.reading.waits(), self.pages.waits()].into_iter().sum()
    }

    /// The address of an app, with a trailing slash.
    #[must_use]
    pub fn app_url(&self, app: AppId, slug: &str) -> String {
        format!("{}{}", self.app_origin(app, slug), self.origins.app_base_path(slug))
    }

    /// Whether browsers reach the site over https.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.origins.is_https()
    }
}

impl Deref for AppState {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

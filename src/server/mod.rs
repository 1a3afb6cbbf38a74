//! Starting and stopping: binds both listeners, puts the boundary in front of the router, drains.
//! How one connection is served is in `listener`.

mod connection_registry;
mod files;
mod listener;
pub mod signal;
mod stream;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rookery_actors::{REQUEST_TIMEOUT, RuntimeOptions};
use rookery_domain::{Timestamp, time::Clock};
use rookery_storage::{WriterOptions, faults::Faults, offload::Offload};
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    boot::{self, BootError, Rooms},
    closing::close_apps,
    config::{self, Config, RegistrationMode},
    domains::CustomDomains,
    error::Envelope,
    http::{
        auth::Authenticator,
        body::budget::BodyBudget,
        client::country::Countries,
        edge::{Edge, figures::Listener, waiters::Waiters},
    },
    idp::IdentityProvider,
    mail::{self, Mailer},
    openapi::Reference,
    ops::{self, Ops},
    outbound,
    pages::origin::Origins,
    push::Push,
    router,
    routes::page::PageCache,
    screenshot::Screenshots,
    siteverify::Siteverify,
    state::{AppState, State},
    task::until_it_ends,
    traces::Traces,
};

/// How long a start waits for what a crash left of closed accounts.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// What a caller of [`start`] may put in place of the service's own parts.
pub struct Hooks {
    /// Where the present comes from.
    pub clock: Clock,
    /// Who a credential belongs to, where that is not for the directory to say.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// What goes wrong in commits; nothing, but in tests.
    pub faults: Faults,
    /// Workers have rounds at their times; otherwise each round is asked for.
    pub timed_rounds: bool,
    /// Routes beside the site's own.
    pub routes: OpenApiRouter<AppState>,
    /// Routes beside those of apps' own origins.
    pub app_routes: OpenApiRouter<AppState>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            authenticator: None,
            faults: Faults::default(),
            timed_rounds: true,
            routes: OpenApiRouter::new(),
            app_routes: OpenApiRouter::new(),
        }
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A room behind the handlers did not open.
    #[error("{0}")]
    Boot(#[from] BootError),
    /// The system's clock is wrong beyond doubt.
    #[error("the system's clock says {0}, which cannot be: set it, then start again")]
    Clock(Timestamp),
    /// An address cannot be listened on.
    #[error("{setting}: cannot listen on {address}: {source}")]
    Listen {
        /// The setting that names the address.
        setting: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// A setting that could be judged only now.
    #[error("{0}")]
    Setting(String),
}

/// A running server.
pub struct Server {
    state: AppState,
    site: SocketAddr,
    ops: SocketAddr,
    site_listener: JoinHandle<()>,
    ops_listener: JoinHandle<()>,
    /// Cancelled when the operators' listener may go, too.
    ops_drain: CancellationToken,
}

/// The part of `server.drain_timeout_s` that running requests get.
const REQUESTS_SHARE: f64 = 0.8;
/// The part of it after which nothing is waited for any more: the process takes a moment to end.
const CLOSING_SHARE: f64 = 0.95;
/// For running requests on the operators' listener, once everything else has drained.
const OPS_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The end of the year 9998.
const CLOCK_MAX: Timestamp = Timestamp(253_370_764_800_000_000);

/// Answers say when they were made, and HTTP's dates do not reach further.
fn check_clock(now: Timestamp) -> Result<(), StartError> {
    if (Timestamp(0)..CLOCK_MAX).contains(&now) { Ok(()) } else { Err(StartError::Clock(now)) }
}

/// Starts a server; it serves when this returns.
///
/// # Errors
/// [`StartError`], for an address that cannot be listened on or settings that do not fit it.
pub async fn start(config: Config, hooks: Hooks) -> Result<Server, StartError> {
    check_clock(hooks.clock.now())?;
    outbound::install_tls();
    let limits = limits(&config.server);
    let site = Door::open("server.listen", config.server.listen)?;
    let ops = Door::open("ops.listen", config.ops.listen)?;
    let (origins, public_url) = addresses(&config, site.address.port())?;
    let docs_url = match config.server.docs_url.as_str() {
        "" => public_url.clone(),
        url => url.to_owned(),
    };
    Screenshots::check(&config.screenshot).map_err(StartError::Setting)?;
    let countries = Countries::open(&config.meters).map_err(StartError::Setting)?;
    let mailer = Mailer::start(&config, &public_url, hooks.clock.clone())?;
    let idp = IdentityProvider::of(&config, &public_url)?;
    let siteverify = Siteverify::of(&config)?.map(Arc::new);
    let custom_domains = CustomDomains::of(&config, &origins)?.map(Arc::new);
    let traces = Traces::start(&config.traces).map_err(StartError::Setting)?;
    let writing = WriterOptions { faults: hooks.faults, ..WriterOptions::default() };
    let running = boot::runtime_options(&config, origins.app_hosts());
    let running = RuntimeOptions { timed_rounds: hooks.timed_rounds, ..running };
    let rooms = Rooms::open(&config, &hooks.clock, writing, running).await?;
    let drain = CancellationToken::new();
    let push = Push::start(&config, &public_url, &rooms, &hooks.clock, drain.clone()).await?;
    let directory = rooms.directory.clone();
    let (routes, document) = router::site(hooks.routes);
    let (app_routes, app_document) = router::apps(hooks.app_routes);
    let document = router::whole_document(document, app_document);
    let figures = Ops::new(hooks.clock.now());
    let state = AppState::new(State {
        reference: Reference::of(
            document,
            &public_url,
            &origins.app_url("{slug}"),
            &docs_url,
            config.registration.mode == RegistrationMode::Open,
        ),
        envelope: Envelope::new(docs_url),
        public_url,
        origins,
        clock: hooks.clock,
        rooms,
        idp,
        siteverify,
        custom_domains,
        mailer,
        push,
        authenticator: hooks.authenticator.unwrap_or_else(|| Arc::new(directory)),
        ops: figures,
        traces,
        feed_waiters: Waiters::new(config.feed.waiters_per_ip_max, limits.connections_max),
        bodies: BodyBudget::new(config.server.bodies_bytes_max),
        reading: Offload::new(REQUEST_TIMEOUT),
        countries,
        pages: PageCache::new(REQUEST_TIMEOUT),
        screenshots: Screenshots::new(&config.screenshot, app_routes.handlers()),
        drain,
        config,
    });
    let site_table = routes.into_table(Listener::Site, &state);
    let apps_table = app_routes.into_table(Listener::App, &state);
    let site_edge = Edge::site(state.clone(), site_table, apps_table);
    let ops_edge = Edge::ops(state.clone(), router::ops().0.into_table(Listener::Ops, &state));
    spawn_rounds(&state);
    close_what_is_left(&state).await;
    // Nothing can stop this start any more.
    state.rooms.writer.take_over().await.map_err(BootError::from)?;
    Ok(serve(state, (site, site_edge), (ops, ops_edge), limits))
}

/// Closes what a crash left of closed accounts, before anybody is let in: it answers nobody.
async fn close_what_is_left(state: &State) {
    if timeout(CLOSING_TIMEOUT, close_apps(state)).await.is_err() {
        tracing::warn!(
            "what closed accounts left takes long, and is closed while the server serves"
        );
    }
}

/// Begins what goes on beside requests: the figures for operators, and cleaning up after custom domains.
fn spawn_rounds(state: &AppState) {
    let counted = state.clone();
    tokio::spawn(until_it_ends("figures", async move || ops::run(&counted).await));
    if let Some(custom) = state.custom_domains.clone() {
        let (domains, drain) = (state.rooms.domains().clone(), state.drain.clone());
        tokio::spawn(until_it_ends("domains", async move || {
            custom.keep_clean(&domains, &drain).await;
        }));
    }
}

/// What a start would refuse of settings that are right by themselves.
///
/// # Errors
/// [`StartError`], as [`start`] has it.
pub fn check(config: &Config) -> Result<(), StartError> {
    boot::check_data_dir(config)?;
    let (origins, public_url) = addresses(config, config.server.listen.port())?;
    mail::check(&config.mail, &public_url)?;
    Countries::open(&config.meters).map_err(StartError::Setting)?;
    IdentityProvider::of(config, &public_url)?;
    Siteverify::of(config)?;
    CustomDomains::of(config, &origins)?;
    Traces::check(&config.traces).map_err(StartError::Setting)?;
    Screenshots::check(&config.screenshot).map_err(StartError::Setting)
}

/// Where the site and its apps live, for a server that listens on `port`; and the site's own address.
fn addresses(config: &Config, port: u16) -> Result<(Origins, String), StartError> {
    let address = match config.server.public_url.as_str() {
        "" => format!("http://localhost:{port}"),
        url => url.to_owned(),
    };
    let origins = Origins::new(&address, &config.apps_domain, config.apps_mode)
        .map_err(|error| StartError::Setting(error.message))?;
    // In one spelling, however the setting has it.
    let public_url = origins.site_origin();
    Ok((origins, public_url))
}

/// Bounds of connections to the public listener.
fn limits(config: &config::Server) -> listener::Limits {
    listener::Limits {
        connections_max: files::connections_max(config.connections_max),
        silence_timeout: Duration::from_secs(config.header_timeout_s),
        header_timeout: Duration::from_secs(config.header_timeout_s),
        proxy_idle_timeout: Duration::from_secs(config.idle_timeout_s.max(config.header_timeout_s)),
        write_timeout: Duration::from_secs(config.write_timeout_s),
        drain_timeout: Duration::from_secs(config.drain_timeout_s).mul_f64(REQUESTS_SHARE),
    }
}

/// Lets both listeners in: the public one until the server drains, the operators' one until
/// everything else has.
fn serve(
    state: AppState,
    (site, site_edge): (Door, Edge),
    (ops, ops_edge): (Door, Edge),
    limits: listener::Limits,
) -> Server {
    let drain = state.drain.clone();
    let serving = listener::serve(site.listener, Arc::new(site_edge), limits, drain);
    let site_listener = tokio::spawn(serving);
    let ops_drain = CancellationToken::new();
    let limits = listener::Limits {
        connections_max: limits.connections_max.min(files::OPS_CONNECTIONS_MAX),
        drain_timeout: OPS_DRAIN_TIMEOUT,
        ..limits
    };
    let serving = listener::serve(ops.listener, Arc::new(ops_edge), limits, ops_drain.clone());
    let ops_listener = tokio::spawn(serving);
    let (site, ops) = (site.address, ops.address);
    Server { state, site, ops, site_listener, ops_listener, ops_drain }
}

impl Server {
    /// What its handlers share.
    #[must_use]
    pub const fn state(&self) -> &AppState {
        &self.state
    }

    /// The address of the public listener, as bound.
    #[must_use]
    pub const fn site_address(&self) -> SocketAddr {
        self.site
    }

    /// The address of the operator's listener, as bound.
    #[must_use]
    pub const fn ops_address(&self) -> SocketAddr {
        self.ops
    }

    /// Drains: no new connections, long-polls end, running requests and mail that waits get most of
    /// `server.drain_timeout_s`, and what they began the rest of it. The operators' listener answers
    /// until the public one has drained. Returns within that time whatever does not answer: what was
    /// acknowledged is durable.
    pub async fn stop(self) {
        let (now, patience) = (Instant::now(), self.state.config.server.drain_timeout_s);
        let patience = Duration::from_secs(patience);
        let end = now + patience.mul_f64(CLOSING_SHARE);
        self.state.drain.cancel();
        self.state.rooms.runtime.end_polls();
        // A listener that panicked has nothing left to drain.
        let _ = self.site_listener.await;
        self.state.mailer.close(now + patience.mul_f64(REQUESTS_SHARE)).await;
        // Until now it said "not ready" to whoever asked.
        self.ops_drain.cancel();
        let rest = async {
            // Beside each other: a request of an operator must not take the time that is left.
            let _ = tokio::join!(self.ops_listener, self.state.rooms.close());
            if let Some(traces) = &self.state.traces {
                traces.close().await;
            }
        };
        if timeout_at(end, rest).await.is_err() {
            tracing::warn!("not everything was closed at the end of server.drain_timeout_s");
        }
    }
}

/// Where connections come in.
struct Door {
    listener: TcpListener,
    /// As bound.
    address: SocketAddr,
}

impl Door {
    /// Listens on the address that the setting names.
    fn open(setting: &'static str, address: SocketAddr) -> Result<Self, StartError> {
        let failed = |source| StartError::Listen { setting, address, source };
        let listener = listener::listen(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }
}

//! What every app actor shares: settings, the clock, the server's key, storage, compiled schemas.

use std::{sync::Arc, time::Duration};

use rookery_domain::{
    Error, Result, Timestamp,
    limits::Limits,
    manifest::SchemaSource,
    schema::CompiledSchema,
    sealed::ServerKey,
    time::{Clock, DAY_S},
};
use rookery_storage::{log_throttle::LogThrottle, offload::Offload};
use tokio::{runtime::Handle, sync::Notify, time::Instant};

use crate::{
    accounts::Accounts, control::deployed::DeployedBytes, meters::Collector, observe::Observer,
    orgs::OrgRoles, store::AppStore,
};

/// How long a request may wait to be begun, unless it is set otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Settings of the runtime. Units are in the names.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// Messages of one app that may be queued or uncommitted at a time.
    pub mailbox_limit: usize,
    /// Bytes of requests that may be queued or uncommitted at a time, over all apps.
    pub inflight_bytes_max: usize,
    /// An app nobody asks for is hibernated after this time.
    pub idle_after: Duration,
    /// Resident bytes above which the least recently used apps are hibernated.
    pub memory_budget_bytes: u64,
    /// Apps that may be loaded at a time.
    pub wakes_max: usize,
    /// Bytes of compiled schemas that are kept, also over hibernation.
    pub schema_cache_bytes: u64,
    /// Feed events kept per app.
    pub feed_retention_events: u64,
    /// Days that feed events are kept.
    pub feed_retention_days: u32,
    /// Bytes of feed events and kept answers per app.
    pub feed_retention_bytes: u64,
    /// Dormant apps that one round of row retention looks at; the next one goes on behind them.
    pub retention_apps_max: usize,
    /// Time between two roll-ups of meters; a crash loses no more than what one counts.
    pub meters_interval: Duration,
    /// Days that meters are kept.
    pub meters_retention_days: u32,
    /// The hosts that apps answer at.
    pub app_hosts: AppHosts,
    /// How long a request may wait to be begun.
    pub request_timeout: Duration,
    /// Workers have rounds at their times. Otherwise each round is asked for, as tests have it that
    /// say what one does.
    pub timed_rounds: bool,
    /// The threads that app actors run on: apart from those of connections, so that a thousand of
    /// these do not stand in a commit's way. None: where an app is asked for, as a test of one thread
    /// has it.
    pub threads: Option<Handle>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            mailbox_limit: 128,
            inflight_bytes_max: 256 << 20,
            idle_after: Duration::from_secs(300),
            memory_budget_bytes: 1 << 30,
            wakes_max: 32,
            schema_cache_bytes: 64 << 20,
            feed_retention_events: 10_000,
            feed_retention_days: 30,
            feed_retention_bytes: 32 << 20,
            retention_apps_max: 20_000,
            meters_interval: Duration::from_secs(10),
            meters_retention_days: 400,
            app_hosts: AppHosts::Below("localhost".to_owned()),
            request_timeout: REQUEST_TIMEOUT,
            timed_rounds: true,
            threads: None,
        }
    }
}

/// The hosts that apps answer at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppHosts {
    /// Each app has its own, below this domain: `<slug>.<domain>`.
    Below(String),
    /// Every app lives at a path of this one, which is the site's.
    Site(String),
}

impl AppHosts {
    /// The host of the app `slug`.
    pub(crate) fn of(&self, slug: &str) -> String {
        match self {
            Self::Below(domain) => format!("{slug}.{domain}"),
            Self::Site(host) => host.clone(),
        }
    }
}

/// What app actors share.
pub(crate) struct Env {
    pub(crate) options: RuntimeOptions,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) key: ServerKey,
    pub(crate) store: Arc<dyn AppStore>,
    pub(crate) accounts: Accounts,
    /// Who acts as the owner of an organization's apps.
    pub(crate) orgs: OrgRoles,
    pub(crate) schemas: Schemas,
    /// Where manifests are compiled. These nine go round by the owners of apps.
    pub(crate) compiling: Offload,
    /// Where long lists are made.
    pub(crate) scanning: Offload,
    /// Where decisions are made that may take long.
    pub(crate) deciding: Offload,
    /// Where deploys are rehearsed, which hold up no decision.
    pub(crate) rehearsing: Offload,
    /// Permits for lists of trash, which is in storage alone.
    pub(crate) trash: Offload,
    /// Permits for deploys that hold detached rows.
    pub(crate) detached: Offload,
    /// Permits for reads of events that are in storage alone.
    pub(crate) replaying: Offload,
    /// Permits for reports of what apps are used for, which storage sums up.
    pub(crate) reporting: Offload,
    /// The permit for deploys and new apps that move many bytes of rows.
    pub(crate) moving: Offload,
    /// What accounts deployed lately.
    pub(crate) deployed: DeployedBytes,
    /// An app has more in its trash than that has room for.
    pub(crate) trash_overfull: Notify,
    /// Lines of commits that come to nothing.
    pub(crate) warnings: LogThrottle,
    /// What operators see.
    pub(crate) observer: Arc<Observer>,
    /// What apps were used for and is not rolled up yet.
    pub(crate) collector: Collector,
    /// When the process started: idle times and crash streaks count from here.
    pub(crate) started: Instant,
}

impl Env {
    /// Time since the process started.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The time before which rows were deleted that are in the trash no more, even where the sweeper
    /// has yet to destroy them.
    pub(crate) fn trash_begins(&self) -> Timestamp {
        self.days_ago(self.limits.deleted_row_retention_days)
    }

    /// The time before which events are no longer kept, even where retention has yet to delete them.
    pub(crate) fn feed_begins(&self) -> Timestamp {
        self.days_ago(self.options.feed_retention_days)
    }

    fn days_ago(&self, days: u32) -> Timestamp {
        self.clock.now().plus_seconds(-i64::from(days) * DAY_S)
    }
}

/// Compiled validators by schema hash. They are large, so all apps with the same schema share one,
/// and within a bound of bytes they outlast hibernation.
pub(crate) struct Schemas(moka::sync::Cache<[u8; 32], Arc<CompiledSchema>>);

impl Schemas {
    /// A cache of at most `bytes`.
    pub(crate) fn new(bytes: u64) -> Self {
        let weight = |_: &[u8; 32], schema: &Arc<CompiledSchema>| {
            u32::try_from(schema.weight_bytes()).unwrap_or(u32::MAX)
        };
        Self(moka::sync::Cache::builder().max_capacity(bytes).weigher(weight).build())
    }

    /// The validator of `source`.
    ///
    /// # Errors
    /// `internal` when it does not compile: the manifest was checked when it was deployed.
    pub(crate) fn get(&self, source: &SchemaSource) -> Result<Arc<CompiledSchema>> {
        let compiled =
            self.0.try_get_with(source.hash, || CompiledSchema::compile(source).map(Arc::new));
        compiled.map_err(|error| {
            let why = format!("the stored schema {:?} does not compile: {error}", source.name);
            Error::internal().caused_by(why)
        })
    }

    /// The validator of a schema that is in force. In place of one that does not compile any more
    /// stands one that nothing fits: the rows can be read, and the app can be deployed anew.
    ///
    /// # Errors
    /// `internal` when not even that one compiles.
    pub(crate) fn in_force(&self, source: &SchemaSource) -> Result<Arc<CompiledSchema>> {
        self.get(source).or_else(|error| {
            tracing::error!(%error, "a schema lets nothing be written");
            self.get(&SchemaSource::nothing())
        })
    }
}

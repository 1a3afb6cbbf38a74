//! One struct per concern. Their documentation for users is in `config/default.toml`, beside the
//! defaults; here is what the code needs to know.

use std::{net::SocketAddr, path::PathBuf};

use ipnet::IpNet;
use rookery_domain::limits::Limits;
use secrecy::SecretString;
use serde::Deserialize;

/// All settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Folder of the server's key, and of the SQLite database with its lock file.
    pub data_dir: PathBuf,
    /// How apps get origins of their own.
    pub apps_mode: AppsMode,
    /// The domain below which every app has a name; empty for `localhost`.
    pub apps_domain: String,
    /// The public listener.
    pub server: Server,
    /// The operator's listener.
    pub ops: Ops,
    /// The database.
    pub storage: Storage,
    /// The runtime of apps.
    pub apps: Apps,
    /// The change feed.
    pub feed: Feed,
    /// What is counted of apps.
    pub meters: Meters,
    /// Bounds that rules consult.
    pub limits: Limits,
    /// Requests per client network.
    pub rate_limit: RateLimit,
    /// Who may enroll.
    pub registration: Registration,
    /// Sign-in by an identity provider.
    pub idp: Idp,
    /// Challenges by a provider.
    pub challenge: Challenge,
    /// Outgoing mail.
    pub mail: Mail,
    /// Custom domains.
    pub domains: Domains,
    /// Pictures of apps.
    pub screenshot: Screenshot,
    /// Web push.
    pub push: Push,
    /// Operators of the template gallery.
    pub community: Community,
    /// What is logged, and how.
    pub log: Log,
    /// Where traces go.
    pub traces: Traces,
}

/// The public listener.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The site's origin; empty for `http://localhost` with the bound port.
    pub public_url: String,
    /// Where error references live; empty for the site itself.
    pub docs_url: String,
    /// The server's own key in hexadecimal; empty for the file in `data_dir`.
    pub key: SecretString,
    /// Proxies whose `X-Forwarded-For` is believed.
    #[serde(deserialize_with = "super::source::networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// Open connections at once.
    pub connections_max: usize,
    /// Seconds for a request's head.
    pub header_timeout_s: u64,
    /// Seconds for which a connection of a trusted proxy may idle between two requests.
    pub idle_timeout_s: u64,
    /// Seconds for a request's body.
    pub body_timeout_s: u64,
    /// Bytes of request bodies that are held at once.
    pub bodies_bytes_max: usize,
    /// Seconds for a client to take more of its answer.
    pub write_timeout_s: u64,
    /// Seconds for running requests at shutdown.
    pub drain_timeout_s: u64,
    /// Lowest command-line client version; empty for any.
    pub min_cli_version: String,
}

/// The operator's listener.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ops {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Bearer token; empty for none, on loopback only.
    pub token: SecretString,
    /// Whether operators may wake, hibernate, restart and kill apps.
    pub actions: bool,
}

/// The database.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Empty for SQLite in `data_dir`, else a `postgres://` address.
    pub database_url: SecretString,
}

/// The runtime of apps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apps {
    /// Requests that may wait for one app.
    pub mailbox_limit: usize,
    /// Seconds without a request before an app hibernates.
    pub idle_after_s: u64,
    /// Bytes that live apps may hold together.
    pub memory_budget_bytes: u64,
}

/// How apps get origins of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppsMode {
    /// `<slug>.<apps_domain>`.
    Subdomain,
    /// `/a/<slug>/` under a sandbox policy.
    Path,
}

/// The change feed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feed {
    /// Open polls of one client address.
    pub waiters_per_ip_max: usize,
    /// Events kept per app.
    pub retention_events: u64,
    /// Days that events are kept.
    pub retention_days: u32,
    /// Bytes of events, and of answers that are kept for idempotency keys, per app.
    pub retention_bytes: u64,
}

/// What is counted of apps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meters {
    /// Seconds between two roll-ups to storage.
    pub rollup_interval_s: u64,
    /// Days that sums are kept.
    pub retention_days: u32,
    /// A file in MaxMind's format; empty for none.
    pub country_database: String,
    /// The header in which a trusted proxy names the client's country; empty for none.
    pub country_header: String,
}

/// Requests per client network.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Whether requests are counted at all.
    pub enabled: bool,
    /// Requests a minute in the long run.
    pub per_minute: u32,
    /// Requests at once; `per_minute` bounds it.
    pub burst: u32,
    /// Counters, a power of two.
    pub counters: usize,
}

/// Who may enroll.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    /// Whether `POST /v1/register` makes agents.
    pub mode: RegistrationMode,
}

/// Whether `POST /v1/register` makes agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistrationMode {
    /// Anybody may register an agent.
    Open,
    /// Agents come through device authorization only.
    Closed,
}

/// Sign-in by an identity provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idp {
    /// The provider's issuer identifier; empty for none.
    pub issuer: String,
    /// What the provider calls this service.
    pub client_id: String,
    /// What proves it to the provider; empty for a public client.
    pub client_secret: SecretString,
}

/// Challenges by a siteverify-compatible provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    /// Where tokens are checked; empty for the built-in proof of work.
    pub verify_url: String,
    /// What proves this service to the provider.
    pub secret: SecretString,
    /// What the widget is shown with.
    pub site_key: String,
    /// The script that defines the widget.
    pub script_url: String,
    /// The name under which it does.
    pub api: String,
    /// Further sources that the widget needs in a page's policy.
    pub page_sources: Vec<String>,
}

/// Outgoing mail.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// The SMTP server; empty for the development mailbox.
    pub smtp_url: SecretString,
    /// A file with authorities, beside the public ones, that the SMTP server's certificate may
    /// come from; empty for none.
    pub ca_file: String,
    /// The sender.
    pub from: String,
    /// Seconds for one try to hand a mail over.
    pub timeout_s: u64,
    /// Sign-in links that one address is sent at once, and as many an hour after that; 0 for any number.
    pub sign_in_links_per_hour: u32,
    /// Sign-in links that one client network has sent by the same measure, to whatever addresses; 0 for
    /// any number.
    pub sign_in_links_per_network: u32,
    /// Letters about what others do that one address is sent by the same measure; 0 for any number.
    pub notices_per_hour: u32,
    /// Those to addresses that one account chooses, by the same measure; 0 for any number.
    pub notices_per_account: u32,
}

/// Custom domains, by an edge provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domains {
    /// The provider's API token; empty for no custom domains.
    pub api_token: SecretString,
    /// The provider's zone.
    pub zone_id: String,
    /// What owners' CNAME records name.
    pub cname_target: String,
    /// The provider's API.
    pub api_url: String,
    /// The DNS server to ask; empty for the system's.
    pub resolver: String,
}

/// Pictures of apps, by a headless browser.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screenshot {
    /// The program; empty for drawn pictures.
    pub chromium: String,
    /// Further arguments of it.
    pub arguments: Vec<String>,
    /// Browsers that run at once.
    pub concurrency: usize,
    /// Longest time that one picture takes.
    pub timeout_s: u64,
}

/// Web push.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// Whom push services may turn to; empty for the site, or the sender of mails.
    pub contact: String,
    /// Origins of push services that need not be on the public internet.
    pub trusted_origins: Vec<String>,
}

/// Operators of the template gallery.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Community {
    /// Verified addresses of the humans whose agents are operators.
    pub review_operator_emails: Vec<String>,
}

/// What is logged, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A level or filter directives.
    pub level: String,
    /// Text or JSON.
    pub format: LogFormat,
    /// Lines a second for requests that went well.
    pub requests_per_second_max: u32,
}

impl Log {
    /// `level` where nobody has set it.
    pub const LEVEL_AS_SHIPPED: &str = "info";
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

/// Where traces go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// The collector's OTLP address over HTTP; empty for none.
    pub endpoint: String,
    /// Headers for it, `name=value` with commas between.
    pub headers: SecretString,
    /// Requests that are traced a second, and at once after a quiet one.
    pub requests_per_second_max: u32,
}

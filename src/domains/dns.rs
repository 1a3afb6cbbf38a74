//! Looking up TXT records. Nothing is kept: what a domain's owner changed counts at once.

use std::{net::SocketAddr, time::Duration};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    net::runtime::TokioRuntimeProvider,
    proto::rr::RData,
};

/// For one try.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Tries.
const ATTEMPTS: usize = 2;
/// Records of one name that are looked at.
const RECORDS_MAX: usize = 64;

/// The DNS servers of the system, or one of the settings.
pub struct TxtRecords(TokioResolver);

impl TxtRecords {
    /// `server` is an address with a port; empty for the system's servers. `None` when there are
    /// none that can be read.
    #[must_use]
    pub fn new(server: &str) -> Option<Self> {
        let mut builder = match server.parse::<SocketAddr>() {
            Ok(server) => {
                let connection = |mut it: ConnectionConfig| {
                    it.port = server.port();
                    it
                };
                let connections =
                    vec![connection(ConnectionConfig::udp()), connection(ConnectionConfig::tcp())];
                let server = NameServerConfig::new(server.ip(), true, connections);
                let config = ResolverConfig::from_name_servers(vec![server]);
                TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            }
            Err(_) => TokioResolver::builder_tokio().ok()?,
        };
        let options: &mut ResolverOpts = builder.options_mut();
        options.timeout = TIMEOUT;
        options.attempts = ATTEMPTS;
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        builder.build().ok().map(Self)
    }

    /// The TXT records of `name`, each joined from its parts; none for a name that has none, and
    /// `None` when nobody answers.
    pub async fn of(&self, name: &str) -> Option<Vec<String>> {
        // The dot at the end keeps the system's search domains out.
        let found = match self.0.txt_lookup(format!("{name}.")).await {
            Ok(found) => found,
            Err(error) => return error.is_no_records_found().then(Vec::new),
        };
        let text = |data: &RData| match data {
            RData::TXT(txt) => String::from_utf8(txt.txt_data.concat()).ok(),
            _ => None,
        };
        let records = found.answers().iter().filter_map(|record| text(&record.data));
        Some(records.take(RECORDS_MAX).collect())
    }
}

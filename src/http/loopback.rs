//! What leads back to this machine: by the name `localhost` or by a loopback address. The subdomains
//! of localhost are apps, so they do not count.

use std::net::IpAddr;

use url::Url;

use super::host;

/// Whether a URL's host is this machine.
#[must_use]
pub fn is_loopback_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_loopback_host))
}

/// Whether an authority (a host with or without a port, as a `Host` header has it) is this machine.
#[must_use]
pub fn is_loopback_authority(authority: &str) -> bool {
    host::of_authority(authority).is_some_and(|host| is_loopback_host(&host))
}

/// Whether a host alone, an IPv6 address with or without its brackets, is this machine.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    host == "localhost" || host::bare(host).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

//! Hosts as requests and settings name them: which host an authority names, and an address in brackets.

use std::net::Ipv6Addr;

/// Bytes of a host name (RFC 1035), the port not counted.
pub const HOST_BYTES_MAX: usize = 253;

/// The host of `host[:port]` (`Host`, or `:authority`), in lower case and without a trailing dot; `None`
/// for anything that is not strictly that.
#[must_use]
pub fn of_authority(authority: &str) -> Option<String> {
    let (host, port) = if authority.starts_with('[') {
        let end = authority.find(']')? + 1;
        let (host, rest) = authority.split_at(end);
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if rest.is_empty() => (host, None),
            None => return None,
        }
    } else {
        match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if let Some(port) = port {
        // `u16::from_str` would take a sign.
        if !port.bytes().all(|b| b.is_ascii_digit()) || port.parse::<u16>().is_err() {
            return None;
        }
    }
    if host.starts_with('[') {
        let address: Ipv6Addr = in_brackets(host)?.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let well_formed = host.len() <= HOST_BYTES_MAX
        && host.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
    well_formed.then(|| host.to_ascii_lowercase())
}

/// What stands in the brackets that an IPv6 address has in an authority.
#[must_use]
pub fn in_brackets(host: &str) -> Option<&str> {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
}

/// A host without these brackets, if it has them.
#[must_use]
pub fn bare(host: &str) -> &str {
    in_brackets(host).unwrap_or(host)
}

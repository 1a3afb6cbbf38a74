//! Which network addresses are on the public internet. What is asked because a stranger named it
//! must be there: everything else is this machine, its neighbours, or nobody.
//!
//! What is not here: resolving names, and connecting. The lists are IANA's special-purpose
//! registries (RFC 6890 and what was registered since).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Top-level names that are nobody's on the public internet (RFC 2606, 6761, 6762, 7686, 8375,
/// 9476, and what private networks use).
const RESERVED: &[&str] = &[
    "alt",
    "arpa",
    "corp",
    "example",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "mail",
    "onion",
    "private",
    "test",
];

/// Whether an address is globally reachable and means one machine. An IPv4 address inside an IPv6
/// one (mapped, NAT64, 6to4, Teredo) never is: it could be anybody's.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0 // this network
        || address.is_private()
        || (a == 100 && b & 0xc0 == 64) // shared by a carrier's customers, RFC 6598
        || address.is_loopback()
        || address.is_link_local()
        || (a == 192 && b == 0 && c == 0) // protocol assignments, RFC 6890
        || address.is_documentation()
        || (a == 192 && b == 88 && c == 99) // 6to4 relays, RFC 7526
        || (a == 198 && b & 0xfe == 18) // benchmarks, RFC 2544
        || a >= 224) // multicast, reserved, broadcast
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out; of it, not what stands for something else.
    first & 0xe000 == 0x2000
        && !(first == 0x2001 && second < 0x0200) // protocol assignments, Teredo, ORCHID
        && !(first == 0x2001 && second == 0x0db8) // documentation
        && !(first == 0x3fff && second < 0x1000) // documentation, RFC 9637
        && first != 0x2002 // 6to4
}

/// Whether a host name can be on the public internet at all, as far as the name alone tells: names
/// without a dot, and those below a reserved one, cannot.
#[must_use]
pub fn is_public_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some((_, top)) = name.rsplit_once('.') else { return false };
    !RESERVED.iter().any(|reserved| top.eq_ignore_ascii_case(reserved))
}

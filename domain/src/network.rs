//! The network that a client is counted by: for rates, budgets, and whatever else one customer of a
//! network provider is to have only so much of.

// Addresses as values: `core` has nothing that reaches one.
use core::net::IpAddr;

/// The part of an address that one customer of a network provider holds: an IPv4 address, or the
/// /64 of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// One address.
    V4([u8; 4]),
    /// The first 64 bits.
    V6([u8; 8]),
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let [a, b, c, d, e, f, g, h, ..] = v6.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

impl Network {
    /// Its bytes: 4 of an IPv4 address, 8 of an IPv6 one.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::V4(bytes) => bytes,
            Self::V6(bytes) => bytes,
        }
    }
}

//! What is left untold where a proxy stands in front: that it is one, by the settings, or who its
//! clients are, by the proxy. Either way all who come through it count as one address: for the rate
//! limit, for the budgets of anonymous visitors, and for the countries of the meters. The log says each
//! once, also where there is no rate limit.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use http::{HeaderMap, header};
use rookery_domain::public_net;

/// The header that names the clients.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Whether it was said.
#[derive(Debug, Default)]
pub(super) struct UndeclaredProxy {
    of_proxy: AtomicBool,
    of_clients: AtomicBool,
}

impl UndeclaredProxy {
    /// To be asked at the start. The service speaks no TLS itself, so where its address is `https` a proxy
    /// stands in front.
    pub(super) fn look_at_settings(https: bool, trusted_proxies: usize) {
        if https && trusted_proxies == 0 {
            tracing::warn!(
                "server.public_url is https, so a proxy ends TLS, and server.trusted_proxies names none: all \
                 visitors count as one address, for the rate limit (where it is on), the write budgets of \
                 anonymous visitors and the countries of the meters"
            );
        }
    }

    /// To be asked of each request whose peer is no trusted proxy. A peer elsewhere may send what it
    /// likes; one on this machine or in its network that forwards is most likely a proxy of the
    /// operator's.
    pub(super) fn look(&self, peer: SocketAddr, headers: &HeaderMap) {
        if self.of_proxy.load(Relaxed) {
            return;
        }
        let forwards =
            headers.contains_key(FORWARDED_FOR) || headers.contains_key(header::FORWARDED);
        let address = peer.ip().to_canonical();
        if forwards && !public_net::is_public(address) && !self.of_proxy.swap(true, Relaxed) {
            tracing::warn!(
                peer = %address,
                "server.trusted_proxies does not name this peer, which forwards requests: all who come \
                 through it count as one address, for the rate limit (where it is on), the write budgets \
                 of anonymous visitors and the countries of the meters"
            );
        }
    }

    /// To be asked of each request of a trusted proxy, but of those that ask for the service's health:
    /// the proxy, or what watches it on its machine, sends them for itself.
    pub(super) fn look_at_trusted(&self, peer: SocketAddr, headers: &HeaderMap) {
        if self.of_clients.load(Relaxed) || headers.contains_key(FORWARDED_FOR) {
            return;
        }
        if !self.of_clients.swap(true, Relaxed) {
            tracing::warn!(
                peer = %peer.ip().to_canonical(),
                "server.trusted_proxies names this peer, and it sent a request without X-Forwarded-For: \
                 all who come through it like that count as one address, for the rate limit (where it is \
                 on), the write budgets of anonymous visitors and the countries of the meters"
            );
        }
    }
}

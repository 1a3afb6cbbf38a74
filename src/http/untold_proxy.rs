//! A proxy that the settings do not name: whoever comes through it has its address, and so all of them
//! share one allowance of the rate limit. The log says so once.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use http::{HeaderMap, header};
use rookery_domain::public_net;

/// Whether it was said.
#[derive(Debug, Default)]
pub(super) struct UntoldProxy(AtomicBool);

impl UntoldProxy {
    /// To be asked of each request whose peer is no trusted proxy. A peer elsewhere may send what it
    /// likes; one on this machine or in its network that forwards is most likely a proxy of the
    /// operator's.
    pub(super) fn look(&self, peer: SocketAddr, headers: &HeaderMap) {
        if self.0.load(Relaxed) {
            return;
        }
        let forwards =
            headers.contains_key("x-forwarded-for") || headers.contains_key(header::FORWARDED);
        let address = peer.ip().to_canonical();
        if forwards && !public_net::is_public(address) && !self.0.swap(true, Relaxed) {
            tracing::warn!(
                peer = %address,
                "server.trusted_proxies does not name this peer, which forwards requests: all who come \
                 through it share one allowance of the rate limit"
            );
        }
    }
}

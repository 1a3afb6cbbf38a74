//! Who is at the other end: the client's address behind trusted proxies. A forwarding header is
//! believed only as far as trusted hops wrote it.

pub mod country;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::extract::FromRequestParts;
use http::{HeaderMap, HeaderValue, request::Parts};
use ipnet::IpNet;
use rookery_domain::{Error, Result};

use crate::{
    error::ApiError,
    http::{
        body::budget::{BodyBudget, BodySender, BodyShare},
        host,
    },
    pages::files_pass::FilesPass,
    state::AppState,
};

/// What the boundary knows of a request before any handler runs; every request carries one.
#[derive(Debug, Clone)]
pub struct RequestContext {
    /// The request's id, as echoed.
    pub request_id: HeaderValue,
    /// The client's address.
    pub address: IpAddr,
    /// Whether a trusted proxy sent the request, so that its headers may be believed.
    pub by_proxy: bool,
    /// The slug that the host names, on an app's own origin; on a custom domain the app's id.
    pub app: Option<Box<str>>,
    /// The custom domain that the host names.
    pub domain: Option<Box<str>>,
    /// The pass in the address by which a sandboxed page asks for a file.
    pub pass: Option<FilesPass>,
    /// What the request brings that the route does not take, by the API's own document, in words: a
    /// parameter of the query, or a condition.
    pub stray: Option<Box<str>>,
    /// Whether a page of the site asks, inside the process, for the human that it is made for.
    pub of_page: bool,
}

impl RequestContext {
    /// Whether a page of the site asks, and no client.
    #[must_use]
    pub fn is_of_page(parts: &Parts) -> bool {
        parts.extensions.get::<Self>().is_some_and(|context| context.of_page)
    }

    /// What its body may hold of all that `bodies` hold, none of it so far.
    #[must_use]
    pub fn body_share(&self, bodies: &Arc<BodyBudget>) -> BodyShare {
        let sender = if self.app.is_some() { BodySender::Visitor } else { BodySender::Service };
        bodies.share(sender, self.address)
    }

    /// The origin of an app that the request came to: a custom domain, or the app's own name.
    #[must_use]
    pub fn origin(&self, state: &AppState) -> Option<String> {
        match (&self.domain, &self.app) {
            (Some(domain), _) => Some(state.origins.domain_origin(domain)),
            (None, Some(slug)) => Some(state.origins.app_origin(slug)),
            (None, None) => None,
        }
    }

    /// Refuses what the route does not take: neither a misspelt name nor a condition must be passed
    /// over in silence.
    ///
    /// # Errors
    /// `invalid_request`, naming it.
    pub fn check_stray(parts: &Parts) -> Result<()> {
        match parts.extensions.get::<Self>().and_then(|context| context.stray.as_deref()) {
            Some(what) => Err(Error::invalid(what)),
            None => Ok(()),
        }
    }
}

impl FromRequestParts<AppState> for RequestContext {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let context = parts.extensions.get::<Self>().cloned();
        context.ok_or_else(|| Error::internal().into())
    }
}

/// Whether the peer is a trusted proxy.
#[must_use]
pub fn is_trusted(peer: SocketAddr, trusted: &[IpNet]) -> bool {
    is_among(peer.ip().to_canonical(), trusted)
}

fn is_among(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|net| net.contains(&address))
}

/// The client's address, and whether a trusted proxy sent the request. The address is the peer's, or the
/// right-most hop of `X-Forwarded-For` that is not trusted when the peer is. A hop that is no address ends
/// the walk at the trusted hop before it, an empty one too: a trusted hop that leaves its client out must
/// not have what that client wrote believed.
#[must_use]
pub fn sender(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> (IpAddr, bool) {
    let mut client = peer.ip().to_canonical();
    if !is_among(client, trusted) {
        return (client, false);
    }
    let lines = headers.get_all("x-forwarded-for").iter().rev();
    // What a client wrote may be no text; what its proxy put behind it in the same line is.
    for hop in lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')) {
        let Some(address) = hop_address(hop) else { break };
        client = address.to_canonical();
        if !is_among(client, trusted) {
            break;
        }
    }
    (client, true)
}

/// The address of one hop, with a port or without. IPv6 without one may stand in brackets, too.
fn hop_address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    if let Ok(socket) = hop.parse::<SocketAddr>() {
        return Some(socket.ip());
    }
    match host::in_brackets(hop) {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => hop.parse().ok(),
    }
}

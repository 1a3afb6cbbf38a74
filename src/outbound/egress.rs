//! Requests to addresses that strangers name: https only, to the public internet only, no
//! redirects. The name is resolved by the connection itself, through the check, so there is no
//! moment between checking an address and connecting to it.
//!
//! What is not here: what is asked, and how often.

use std::{io, net::SocketAddr, sync::Arc};

use futures::future::BoxFuture;
use reqwest::{
    Client,
    dns::{Addrs, Name, Resolve, Resolving},
};
use rookery_domain::{
    Error, Result,
    public_net::{is_public, is_public_name},
};
use url::{Host, Origin, Url};

use super::{bounded, with_or_without_anchors};

/// Finds the addresses of a name; ports are not looked at.
pub type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Lets requests out.
#[derive(Clone)]
pub struct Egress {
    /// Speaks to the public internet and nothing else.
    public: Client,
    /// Speaks to the origins of the settings.
    trusted: Client,
    trusted_origins: Arc<[Origin]>,
}

impl Egress {
    /// A gate to the public internet, and to `trusted_origins` wherever they are. Where the system has no
    /// trust anchors, it leads to nobody but plain http on this machine.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn new(trusted_origins: Vec<Origin>, lookup: Lookup) -> reqwest::Result<Self> {
        // A proxy would resolve the name by itself, past the check.
        let build = || bounded().no_proxy().referer(false);
        Ok(Self {
            public: with_or_without_anchors(|| {
                build().https_only(true).dns_resolver(PublicOnly(lookup.clone()))
            })?,
            trusted: with_or_without_anchors(build)?,
            trusted_origins: trusted_origins.into(),
        })
    }

    /// The client for `url`. A resolver is not asked about an address that is no name, so those
    /// are judged here.
    ///
    /// # Errors
    /// `invalid_request`, saying what is wrong with `member`, the name of which the caller knows.
    pub fn client(&self, member: &str, url: &Url) -> Result<&Client> {
        let refuse = |why: &str| Err(Error::invalid(format!("`{member}`: {why}")));
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("must not hold a user name or password");
        }
        if self.trusted_origins.contains(&url.origin()) {
            return Ok(&self.trusted);
        }
        if url.scheme() != "https" {
            return refuse("must be an https address");
        }
        let public = match url.host() {
            Some(Host::Domain(name)) => is_public_name(name),
            Some(Host::Ipv4(address)) => is_public(address.into()),
            Some(Host::Ipv6(address)) => is_public(address.into()),
            None => false,
        };
        if public { Ok(&self.public) } else { refuse("must be on the public internet") }
    }
}

/// The origin that a setting names: https, or http on this machine.
#[must_use]
pub fn trusted_origin(text: &str) -> Option<Origin> {
    let url = Url::parse(text).ok()?;
    let origin = url.origin();
    let local = url.scheme() == "http" && crate::http::loopback::is_loopback_url(text);
    let sound = (url.scheme() == "https" || local) && origin.ascii_serialization() == text;
    sound.then_some(origin)
}

/// Asks the system.
#[must_use]
pub fn system_lookup() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.collect()) })
    })
}

/// Resolves names to public addresses. One private address among them condemns the name: it is
/// not for chance to decide which one is taken.
struct PublicOnly(Lookup);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.0)(name.as_str().to_owned());
        Box::pin(async move {
            let found = found.await?;
            if found.iter().all(|address| is_public(address.ip())) {
                Ok(Box::new(found.into_iter()) as Addrs)
            } else {
                Err(io::Error::from(io::ErrorKind::PermissionDenied).into())
            }
        })
    }
}

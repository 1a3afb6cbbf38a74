//! Where requests go: an origin, resolved once, so that no lookup falls into a measurement.

use std::{io, net::SocketAddr};

use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use url::Url;

use super::{
    ClientError, Connection,
    stream::{Stream, connector, secure},
};

/// An origin and the addresses behind it. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    /// `scheme://host[:port]`, without a slash at the end.
    origin: String,
    /// The value of the Host header.
    authority: String,
    host: String,
    addresses: Vec<SocketAddr>,
    tls: Option<TlsConnector>,
}

impl Endpoint {
    /// Resolves the origin of `url`.
    ///
    /// # Errors
    /// [`ClientError::Address`] for anything but an http or https URL with a host that resolves.
    pub async fn resolve(url: &str) -> Result<Self, ClientError> {
        let parts = Parts::of(url)?;
        let found = lookup_host((parts.host.as_str(), parts.port)).await;
        let addresses: Vec<SocketAddr> = found.map_err(|e| wrong(url, e.to_string()))?.collect();
        if addresses.is_empty() {
            return Err(wrong(url, "its host has no address".to_owned()));
        }
        parts.at(url, addresses)
    }

    /// The origin of one of the server's apps. Below `localhost` it lives where the site lives,
    /// whether or not this machine's resolver knows such names.
    ///
    /// # Errors
    /// As [`Endpoint::resolve`].
    pub async fn of_app(&self, url: &str) -> Result<Self, ClientError> {
        let parts = Parts::of(url)?;
        if parts.host.ends_with(".localhost") {
            return parts.at(url, self.addresses.clone());
        }
        Self::resolve(url).await
    }

    /// `scheme://host[:port]`, without a slash at the end: what browsers send as `Origin`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The value of the Host header.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether the server is on this machine, reached through loopback.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.addresses.iter().all(|address| address.ip().is_loopback())
    }

    /// A new connection.
    ///
    /// # Errors
    /// [`ClientError::Connect`].
    pub async fn connect(&self) -> Result<Connection, ClientError> {
        let opened = async {
            let stream = TcpStream::connect(self.addresses.as_slice()).await?;
            // A request is one write; waiting for more to send would only delay it.
            stream.set_nodelay(true)?;
            match &self.tls {
                None => Ok(Stream::Plain(stream)),
                Some(tls) => secure(tls, &self.host, stream).await,
            }
        };
        let stream = opened.await.map_err(|source: io::Error| ClientError::Connect {
            host: self.authority.clone(),
            source,
        })?;
        Ok(Connection::new(stream))
    }
}

struct Parts {
    origin: String,
    authority: String,
    host: String,
    port: u16,
    is_tls: bool,
}

impl Parts {
    fn of(text: &str) -> Result<Self, ClientError> {
        let url = Url::parse(text).map_err(|error| wrong(text, error.to_string()))?;
        let is_tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong(text, "begin it with http:// or https://".to_owned())),
        };
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(wrong(text, "it names no host".to_owned()));
        };
        let origin = url.origin().ascii_serialization();
        let authority = origin.split_once("://").map_or("", |(_, rest)| rest).to_owned();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { origin, authority, host, port, is_tls })
    }

    fn at(self, url: &str, addresses: Vec<SocketAddr>) -> Result<Endpoint, ClientError> {
        let tls = if self.is_tls { Some(connector()) } else { None };
        let tls = tls.transpose().map_err(|error| wrong(url, error.to_string()))?;
        let Self { origin, authority, host, .. } = self;
        Ok(Endpoint { origin, authority, host, addresses, tls })
    }
}

fn wrong(url: &str, reason: String) -> ClientError {
    ClientError::Address { url: url.to_owned(), reason }
}

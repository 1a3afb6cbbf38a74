//! Asking a running server on its operators' listener.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use http::Method;
use reqwest::{RequestBuilder, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use url::Url;

use super::text;
use crate::error::UNKNOWN_PATH;

/// How long an answer may take: an action waits for an app to wake or to leave.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// A server's operators' listener.
#[derive(Debug, Clone)]
pub struct OpsClient {
    client: reqwest::Client,
    /// Scheme and authority, without a slash at the end.
    origin: String,
    /// Empty for none.
    token: SecretString,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Nobody listens there.
    NobodyThere(String),
    /// The answer was an error, or none came.
    Refused(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyThere(origin) => write!(f, "no server answers at {origin}"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.to_string()
    }
}

impl OpsClient {
    /// The listener at this origin.
    ///
    /// # Errors
    /// One line, when it is no http or https origin.
    pub fn new(origin: &str, token: SecretString) -> Result<Self, String> {
        let wrong = || format!("--url {origin}: not of the form http://host:port");
        let url = Url::parse(origin).map_err(|_| wrong())?;
        let is_origin = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.path() == "/"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_origin {
            return Err(wrong());
        }
        let client = crate::outbound::with_or_without_anchors(|| {
            // Not through a proxy of the environment: it would be told the token.
            reqwest::Client::builder()
                .no_proxy()
                .redirect(redirect::Policy::none())
                .timeout(ANSWER_TIMEOUT)
                .connect_timeout(CONNECT_TIMEOUT)
        });
        let client = client.map_err(|error| error.to_string())?;
        Ok(Self { client, origin: url.as_str().trim_end_matches('/').to_owned(), token })
    }

    /// The listener with this address, as it is reached from this machine.
    ///
    /// # Errors
    /// One line, when no client can be made.
    pub fn of_listener(listen: SocketAddr, token: SecretString) -> Result<Self, String> {
        let ip = match listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        Self::new(&format!("http://{}", SocketAddr::new(ip, listen.port())), token)
    }

    /// The listener's origin.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The answer to a GET.
    ///
    /// # Errors
    /// [`Failure`], one line.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.ask(self.request(Method::GET, path)).await
    }

    /// The answer to a POST.
    ///
    /// # Errors
    /// [`Failure`], one line.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.ask(self.request(Method::POST, path).json(body)).await
    }

    /// The answer to a POST that has a header in place of a body.
    ///
    /// # Errors
    /// [`Failure`], one line.
    pub async fn post_with<T: DeserializeOwned>(
        &self,
        path: &str,
        (name, value): (&'static str, &str),
    ) -> Result<T, Failure> {
        self.ask(self.request(Method::POST, path).header(name, value)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.origin));
        match self.token.expose_secret() {
            "" => request,
            token => request.bearer_auth(token),
        }
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let silent = |error: reqwest::Error| match error.is_connect() {
            true => Failure::NobodyThere(self.origin.clone()),
            false => Failure::Refused(format!("the server did not answer: {error}")),
        };
        let mut response = request.send().await.map_err(silent)?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(silent)? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(Failure::Refused("the server's answer is too long".to_owned()));
            }
            bytes.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| {
                Failure::Refused(format!(
                    "{} does not answer as Rookery does: {error}",
                    self.origin
                ))
            });
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = body["error"]["message"].as_str().unwrap_or("no reason given");
        // What this asks for is at every operators' listener.
        let hint = match message {
            UNKNOWN_PATH => format!(
                "; {} is another listener than the one of operators (ops.listen), or of another version",
                self.origin
            ),
            _ => String::new(),
        };
        let message = text::clean(message);
        Err(Failure::Refused(format!("the server refused ({status}): {message}{hint}")))
    }
}

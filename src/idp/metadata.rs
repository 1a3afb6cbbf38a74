//! What the provider says of itself (OpenID Connect Discovery 1.0) and its keys, each kept for a
//! while. Unknown key ids make the keys be read again, but not more than once a minute.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jsonwebtoken::jwk::JwkSet;
use reqwest::Client;
use rookery_domain::{Error, Result, text::quoted};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::WHO;
use crate::{http::loopback::is_loopback_url, outbound};

/// How long what was read is believed.
const KEPT: Duration = Duration::from_secs(3_600);
/// The least time between two readings of the keys.
const KEYS_EVERY: Duration = Duration::from_secs(60);

/// The provider's endpoints.
#[derive(Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) userinfo_endpoint: Option<Url>,
    jwks_uri: Url,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Whether it says who answers in each answer (RFC 9207, 3).
    authorization_response_iss_parameter_supported: Option<Value>,
}

impl Metadata {
    /// Whether a secret travels in the `Authorization` header, as it does unless said otherwise.
    pub(super) fn takes_basic(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|it| it == "client_secret_basic"))
    }

    /// Whether each answer says whose it is.
    pub(super) fn names_itself(&self) -> bool {
        self.authorization_response_iss_parameter_supported == Some(Value::Bool(true))
    }

    /// Whether nothing of it is sent in the clear; a provider on loopback may.
    fn is_sound(&self, issuer: &str) -> bool {
        let loopback = is_loopback_url(issuer);
        let sound = |url: &Url| {
            url.scheme() == "https"
                || url.scheme() == "http" && loopback && is_loopback_url(url.as_str())
        };
        let others = [&self.authorization_endpoint, &self.token_endpoint, &self.jwks_uri];
        self.issuer == issuer && others.into_iter().chain(&self.userinfo_endpoint).all(sound)
    }
}

/// Something that was read, and when; whoever comes meanwhile waits for the same reading, and has
/// its failure too.
struct Kept<T>(Mutex<Reading<T>>);

struct Reading<T> {
    read: Option<(Instant, Arc<T>)>,
    failed: Option<(Instant, Error)>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(Reading { read: None, failed: None }))
    }
}

impl<T> Reading<T> {
    /// Reads it anew, unless that has failed since the caller came.
    async fn renew(
        &mut self,
        came: Instant,
        read: impl Future<Output = Result<T>>,
    ) -> Result<Arc<T>> {
        if let Some((at, error)) = &self.failed
            && *at >= came
        {
            return Err(error.clone());
        }
        match read.await {
            Ok(read) => {
                let (read, now) = (Arc::new(read), Instant::now());
                *self = Self { read: Some((now, Arc::clone(&read))), failed: None };
                Ok(read)
            }
            Err(error) => {
                self.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}

/// Where metadata and keys come from.
pub(super) struct Source {
    issuer: String,
    metadata: Kept<Metadata>,
    keys: Kept<JwkSet>,
}

impl Source {
    pub(super) fn new(issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), metadata: Kept::default(), keys: Kept::default() }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The provider's metadata.
    pub(super) async fn metadata(&self, client: &Client) -> Result<Arc<Metadata>> {
        let came = Instant::now();
        let mut kept = self.metadata.0.lock().await;
        if let Some((read, metadata)) = &kept.read
            && read.elapsed() < KEPT
        {
            return Ok(Arc::clone(metadata));
        }
        let read = async {
            let base = self.issuer.trim_end_matches('/');
            let metadata: Metadata =
                get(client, &format!("{base}/.well-known/openid-configuration")).await?;
            if !metadata.is_sound(&self.issuer) {
                let why = format!(
                    "it calls itself {}, or has addresses that are not https; idp.issuer is {}",
                    quoted(&metadata.issuer),
                    self.issuer
                );
                let error = Error::unavailable(format!("{WHO} is not the one of the settings"));
                return Err(error.caused_by(why));
            }
            Ok(metadata)
        };
        kept.renew(came, read).await
    }

    /// The provider's keys, the one called `wanted` among them if the provider has it. A token that
    /// names none may be by a key that has come since.
    pub(super) async fn keys(&self, client: &Client, wanted: Option<&str>) -> Result<Arc<JwkSet>> {
        let metadata = self.metadata(client).await?;
        let came = Instant::now();
        let mut kept = self.keys.0.lock().await;
        if let Some((read, keys)) = &kept.read {
            let known = wanted.is_some_and(|kid| keys.find(kid).is_some());
            let fresh = if known { KEPT } else { KEYS_EVERY };
            if read.elapsed() < fresh {
                return Ok(Arc::clone(keys));
            }
        }
        kept.renew(came, get(client, metadata.jwks_uri.as_str())).await
    }
}

async fn get<T: DeserializeOwned>(client: &Client, url: &str) -> Result<T> {
    let (status, body) = outbound::exchange(WHO, client.get(url)).await?;
    let failed = |why: String| outbound::unanswered(WHO).caused_by(why);
    if !status.is_success() {
        return Err(failed(format!("{url} answers {status}")));
    }
    serde_json::from_slice(&body).map_err(|error| failed(format!("{url}: {error}")))
}

//! The edge provider: a client of Cloudflare's custom-hostnames API
//! (<https://developers.cloudflare.com/api/resources/custom_hostnames/>), as far as it is needed
//! here. What the provider says of a name is shown to the name's owner; the token never leaves the
//! request.

use reqwest::{Client, Method, RequestBuilder, StatusCode};
use rookery_domain::{Error, Result, domains::DomainName, text::cut};
use rookery_storage::log_throttle::LogThrottle;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

use crate::{boot::BootError, config, outbound};

/// How messages name it.
const WHO: &str = "the edge provider";
/// Characters of the provider's own name for a domain.
const ID_CHARS_MAX: usize = 64;
/// Messages of the provider about one domain that are handed on.
const MESSAGES_MAX: usize = 10;
/// Characters of one of them.
const MESSAGE_CHARS_MAX: usize = 300;

/// The provider of the settings. It has no `Debug`: it holds a secret.
pub struct Edge {
    client: Client,
    /// Up to the hostnames of the zone.
    base: String,
    token: SecretString,
    /// Of each time that the provider refuses this service.
    refusals: LogThrottle,
}

/// A domain as the provider sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeHost {
    /// The provider's own name for it.
    pub id: String,
    /// Whether requests for it are handed on.
    pub is_active: bool,
    /// The state of its certificate, in the provider's words.
    pub certificate: Option<String>,
    /// Records that the provider itself still wants to see.
    pub records: Vec<EdgeRecord>,
    /// What the provider says is wrong.
    pub errors: Vec<String>,
}

impl EdgeHost {
    /// Whether an app may be found there, where it was or was not `before`. At first its certificate has
    /// to be there as well; one that is renewed may be pending while the former is in force.
    #[must_use]
    pub fn serves(&self, before: bool) -> bool {
        let has_certificate = self.certificate.as_deref().is_none_or(|state| state == "active");
        self.is_active && (before || has_certificate)
    }
}

/// A DNS record that the provider wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeRecord {
    /// `txt`, `cname`.
    pub kind: String,
    /// Where.
    pub name: String,
    /// With which value.
    pub value: String,
}

/// The envelope of every answer.
#[derive(Deserialize)]
struct Envelope<T> {
    success: bool,
    result: Option<T>,
}

#[derive(Deserialize)]
struct Hostname {
    id: String,
    hostname: String,
    #[serde(default)]
    status: String,
    ssl: Option<Certificate>,
    ownership_verification: Option<Verification>,
    #[serde(default)]
    verification_errors: Vec<String>,
}

#[derive(Deserialize)]
struct Certificate {
    status: Option<String>,
    #[serde(default)]
    validation_errors: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Deserialize)]
struct Verification {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    value: String,
}

fn failed() -> Error {
    outbound::unanswered(WHO)
}

impl Edge {
    /// The provider that the settings name, if they do.
    ///
    /// # Errors
    /// [`BootError`], when no request could be made at all.
    pub fn of(config: &config::Domains) -> Result<Option<Self>, BootError> {
        if config.api_token.expose_secret().is_empty() {
            return Ok(None);
        }
        let client = outbound::client(&config.api_url)
            .map_err(|_| BootError::Setting("domains.api_url: this system has no trust anchors"))?;
        let base = format!("{}/zones/{}/custom_hostnames", config.api_url, config.zone_id);
        let (token, refusals) = (config.api_token.clone(), LogThrottle::default());
        Ok(Some(Self { client, base, token, refusals }))
    }

    /// Makes a domain known to the provider. One that it knows already is as good.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn create(&self, name: &DomainName) -> Result<EdgeHost> {
        let body = json!({"hostname": name.as_str(), "ssl": {"method": "http", "type": "dv"}});
        let request = self.request(Method::POST, "").json(&body);
        if let Some(made) = self.answer::<Hostname>(request).await? {
            return host(made);
        }
        let known = self.request(Method::GET, "").query(&[("hostname", name.as_str())]);
        let known = self.answer::<Vec<Hostname>>(known).await?.unwrap_or_default();
        let known = known.into_iter().find(|known| known.hostname == name.as_str());
        known.map_or_else(|| Err(failed()), host)
    }

    /// What the provider says of a domain; `None` when it does not know it any more.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn read(&self, id: &str) -> Result<Option<EdgeHost>> {
        let request = self.request(Method::GET, &format!("/{id}"));
        self.answer::<Hostname>(request).await?.map(host).transpose()
    }

    /// Takes a domain away; one that the provider does not know is as good.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn delete(&self, id: &str) -> Result<()> {
        let request = self.request(Method::DELETE, &format!("/{id}"));
        let (status, _) = outbound::exchange(WHO, request).await?;
        if status.is_success() || status == StatusCode::NOT_FOUND { Ok(()) } else { Err(failed()) }
    }

    fn request(&self, method: Method, below: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{below}", self.base));
        request.bearer_auth(self.token.expose_secret())
    }

    /// The result of a request; `None` when the provider refuses this one thing (404, 409, 400).
    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<Option<T>> {
        let (status, body) = outbound::exchange(WHO, request).await?;
        match status {
            StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::BAD_REQUEST => Ok(None),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                if let Some(skipped) = self.refusals.take() {
                    tracing::error!(
                        skipped,
                        "edge provider refuses this service: see domains.api_token"
                    );
                }
                Err(failed())
            }
            status if status.is_success() => {
                let answer: Envelope<T> = serde_json::from_slice(&body).map_err(|_| failed())?;
                answer.result.filter(|_| answer.success).ok_or_else(failed).map(Some)
            }
            _ => Err(failed()),
        }
    }
}

fn host(found: Hostname) -> Result<EdgeHost> {
    // It becomes part of a path.
    let id = &found.id;
    let sound = (1..=ID_CHARS_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !sound {
        return Err(failed());
    }
    let certificate = found.ssl.as_ref().and_then(|it| it.status.clone()).map(short);
    let of_certificate = found.ssl.into_iter().flat_map(|it| it.validation_errors);
    let errors = found
        .verification_errors
        .into_iter()
        .chain(of_certificate.map(|it| it.message))
        .map(short)
        .take(MESSAGES_MAX)
        .collect();
    // Also while a change of what is active is being spread.
    let is_active = matches!(&*found.status, "active" | "active_redeploying");
    let wanted = found.ownership_verification.filter(|_| !is_active);
    let records = wanted.into_iter().map(|it| EdgeRecord {
        kind: short(it.kind),
        name: short(it.name),
        value: short(it.value),
    });
    Ok(EdgeHost { is_active, certificate, errors, records: records.collect(), id: found.id })
}

fn short(text: String) -> String {
    cut(&text, MESSAGE_CHARS_MAX).into_owned()
}

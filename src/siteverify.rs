//! Challenges by a provider: its widget gives the page a token, and its `siteverify` endpoint says
//! whether the token is good. Turnstile, hCaptcha and reCAPTCHA share this protocol: a form with
//! `secret`, `response` and `remoteip`, answered by JSON with `success`, `hostname` and
//! `error-codes`.
//!
//! What is not here: which writes need a challenge, and in which order a refusal is told. Those are
//! the app's; it hears what was found here ([`ChallengeAnswer`]).

use std::net::IpAddr;

use reqwest::Client;
use rookery_domain::{Result, Timestamp, challenge::ChallengeAnswer};
use rookery_storage::log_throttle::LogThrottle;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use crate::{boot::BootError, config::Config, outbound};

/// How messages name it.
const WHO: &str = "the challenge provider";
/// Characters of a token that is asked about at all; the longest of today's have about 2,000.
const TOKEN_CHARS_MAX: usize = 4_096;
/// Codes by which a provider says that the fault is this service's own (its secret, its request).
const OUR_FAULTS: &[&str] =
    &["missing-input-secret", "invalid-input-secret", "bad-request", "sitekey-secret-mismatch"];

/// The code by which a provider says that it failed, and that the token is as good as before.
const ITS_FAULT: &str = "internal-error";
/// What hCaptcha says of the host where it leaves it out, as it does while a site has very many visitors.
const HOST_LEFT_OUT: &str = "not-provided";

/// What a page shows the widget with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widget {
    /// The site key.
    pub site_key: String,
    /// The script that defines the widget.
    pub script_url: String,
    /// The name under which it does.
    pub api: String,
}

/// The provider of the settings. It has no `Debug`: it holds a secret.
pub struct Siteverify {
    client: Client,
    verify_url: String,
    secret: SecretString,
    widget: Widget,
    page_sources: Vec<String>,
    /// Of each time that the provider refuses this service.
    refusals: LogThrottle,
}

/// What the provider answers.
#[derive(Deserialize)]
struct Verdict {
    success: bool,
    /// Where the widget was shown.
    hostname: Option<String>,
    #[serde(rename = "error-codes", default)]
    error_codes: Vec<String>,
}

impl Siteverify {
    /// The provider that the settings name, if they do.
    ///
    /// # Errors
    /// [`BootError`], when no request could be made at all.
    pub fn of(config: &Config) -> Result<Option<Self>, BootError> {
        let challenge = &config.challenge;
        if challenge.verify_url.is_empty() {
            return Ok(None);
        }
        let client = outbound::client(&challenge.verify_url).map_err(|_| {
            BootError::Setting("challenge.verify_url: this system has no trust anchors")
        })?;
        let script = Url::parse(&challenge.script_url).ok();
        let mut page_sources = challenge.page_sources.clone();
        page_sources.extend(script.map(|url| url.origin().ascii_serialization()));
        Ok(Some(Self {
            client,
            verify_url: challenge.verify_url.clone(),
            secret: challenge.secret.clone(),
            widget: Widget {
                site_key: challenge.site_key.clone(),
                script_url: challenge.script_url.clone(),
                api: challenge.api.clone(),
            },
            page_sources,
            refusals: LogThrottle::default(),
        }))
    }

    /// What a page shows the widget with.
    #[must_use]
    pub const fn widget(&self) -> &Widget {
        &self.widget
    }

    /// CSP sources that the widget needs.
    #[must_use]
    pub fn page_sources(&self) -> &[String] {
        &self.page_sources
    }

    /// Asks the provider about `token`, which a client at `address` sent. All apps share one site
    /// key, so a token that was given out on another app's page is no good: `is_own` says whether a
    /// host name is this app's.
    ///
    /// # Errors
    /// `unavailable` when the provider does not answer, or does not know this service.
    pub async fn judge(
        &self,
        token: &str,
        address: IpAddr,
        is_own: impl Fn(&str) -> bool,
        now: Timestamp,
    ) -> Result<ChallengeAnswer> {
        if token.is_empty() || token.len() > TOKEN_CHARS_MAX {
            return Ok(ChallengeAnswer::Refused("is malformed"));
        }
        let address = address.to_string();
        let form = [
            ("secret", self.secret.expose_secret()),
            ("response", token),
            ("remoteip", address.as_str()),
        ];
        let (_, body) =
            outbound::exchange(WHO, self.client.post(&self.verify_url).form(&form)).await?;
        let verdict: Verdict =
            serde_json::from_slice(&body).map_err(|_| outbound::unanswered(WHO))?;
        if verdict.error_codes.iter().any(|code| code == ITS_FAULT) {
            return Err(outbound::unanswered(WHO));
        }
        if verdict.error_codes.iter().any(|code| OUR_FAULTS.contains(&code.as_str())) {
            if let Some(skipped) = self.refusals.take() {
                tracing::error!(
                    skipped,
                    "challenge provider refuses this service: see challenge.secret"
                );
            }
            return Err(outbound::unanswered(WHO));
        }
        Ok(match verdict {
            Verdict { success: false, .. } => {
                ChallengeAnswer::Refused("has expired, was used before, or is of another site key")
            }
            Verdict { hostname: Some(host), .. } if host != HOST_LEFT_OUT && !is_own(&host) => {
                ChallengeAnswer::Refused("was given out on another host")
            }
            Verdict { .. } => ChallengeAnswer::vouched(token, now),
        })
    }
}

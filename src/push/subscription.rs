//! What a browser's `PushSubscription` holds: where its push service is, and the keys by which a
//! message is encrypted for this one browser (RFC 8291).

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use rookery_domain::{Error, Result, sealed::ServerKey, secret::SecretHash};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;
use web_push_native::{Auth, encrypt, p256::PublicKey};

use crate::outbound::egress::Egress;

/// Characters of an endpoint.
const ENDPOINT_CHARS_MAX: usize = 2_048;
/// Bytes of an uncompressed point of P-256.
const POINT_BYTES: usize = 65;
/// Bytes of the authentication secret (RFC 8291, section 3.2).
const AUTH_BYTES: usize = 16;
/// Browsers leave the padding out; a program in between may have put it back.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A subscription that can be sent to. It has no `Debug`: whoever knows it can speak to the
/// browser.
#[derive(Clone, Deserialize, Serialize)]
pub struct Subscription {
    endpoint: Url,
    p256dh: String,
    auth: String,
}

impl Subscription {
    /// Reads what a browser sent.
    ///
    /// # Errors
    /// `invalid_request`, naming the member.
    pub fn parse(endpoint: &str, p256dh: &str, auth: &str, egress: &Egress) -> Result<Self> {
        let this = Self {
            endpoint: parse_endpoint(endpoint)?,
            p256dh: p256dh.to_owned(),
            auth: auth.to_owned(),
        };
        egress.client("endpoint", &this.endpoint)?;
        this.keys()?;
        Ok(this)
    }

    /// Where its push service takes messages.
    #[must_use]
    pub const fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// Encrypts a message for this browser, with a new key and salt (RFC 8291).
    ///
    /// # Errors
    /// `invalid_request` for keys that are none.
    pub fn encrypt(&self, message: Vec<u8>) -> Result<Vec<u8>> {
        let (key, auth) = self.keys()?;
        encrypt(message, &key, &auth).map_err(|_| Error::internal())
    }

    fn keys(&self) -> Result<(PublicKey, Auth)> {
        let point = BASE64.decode(&self.p256dh).ok().filter(|it| it.len() == POINT_BYTES);
        let point = point.and_then(|point| PublicKey::from_sec1_bytes(&point).ok());
        let point = point.ok_or_else(|| {
            Error::invalid("`keys.p256dh`: must be an uncompressed point of P-256 in base64url")
        })?;
        let auth = BASE64.decode(&self.auth).ok();
        let auth = auth.and_then(|auth| <[u8; AUTH_BYTES]>::try_from(auth).ok());
        let auth = auth.ok_or_else(|| {
            Error::invalid(format!("`keys.auth`: must be {AUTH_BYTES} bytes in base64url"))
        })?;
        Ok((point, Auth::from(auth)))
    }

    /// The text that storage keeps.
    #[must_use]
    pub fn seal(&self, key: &ServerKey) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        key.seal(&context(hash(&self.endpoint)), &text, &mut rand::rng())
    }

    /// Reads what storage keeps under `hash`; `None` when it was sealed with another key.
    #[must_use]
    pub fn open(hash: SecretHash, sealed: &str, key: &ServerKey) -> Option<Self> {
        serde_json::from_str(&key.open(&context(hash), sealed)?).ok()
    }
}

/// Reads an endpoint.
///
/// # Errors
/// `invalid_request`.
pub fn parse_endpoint(text: &str) -> Result<Url> {
    let url = Url::parse(text).ok().filter(|url| url.has_host() && url.fragment().is_none());
    url.filter(|_| text.len() <= ENDPOINT_CHARS_MAX).ok_or_else(|| {
        let message = format!(
            "`endpoint`: must be an address of at most {ENDPOINT_CHARS_MAX} characters, without fragment"
        );
        Error::invalid(message)
    })
}

/// By which storage knows an endpoint.
#[must_use]
pub fn hash(endpoint: &Url) -> SecretHash {
    SecretHash(Sha256::digest(endpoint.as_str()).into())
}

/// A sealed subscription opens in its own place only.
fn context(hash: SecretHash) -> String {
    format!("push {}", BASE64.encode(hash.0))
}

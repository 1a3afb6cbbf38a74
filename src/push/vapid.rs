//! Who we are to push services (VAPID, RFC 8292): one key pair for good, because browsers bind a
//! subscription to it. The private half is sealed with the server's key like all that must be
//! used again.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use p256::{
    SecretKey,
    elliptic_curve::{sec1::ToEncodedPoint as _, zeroize::Zeroizing},
    pkcs8::EncodePrivateKey as _,
};
use rand::RngCore as _;
use rookery_domain::{Error, Result, Timestamp, sealed::ServerKey, time::MICROS_PER_SECOND};
use rookery_storage::{Db, meta};
use serde::Serialize;
use url::Url;

use crate::boot::BootError;

/// Under which name storage keeps the private key, and what it is sealed for.
const KEY_NAME: &str = "push.vapid_key";
/// Seconds that a token is good for; RFC 8292 allows a day.
const TOKEN_TTL_S: i64 = 12 * 3_600;

/// The key pair, and whom to turn to.
pub(super) struct Vapid {
    signing: EncodingKey,
    public_key: String,
    contact: String,
}

#[derive(Serialize)]
struct Claims<'a> {
    aud: String,
    exp: i64,
    sub: &'a str,
}

impl Vapid {
    /// The pair of this installation, made at the first start. One that was sealed with another
    /// server's key is lost, and replaced: its subscriptions cannot be read any more either.
    pub(super) async fn open(db: &Db, key: &ServerKey, contact: String) -> Result<Self, BootError> {
        let kept = match meta::get(db, KEY_NAME).await? {
            Some(kept) => kept,
            None => meta::get_or_set(db, KEY_NAME, &seal(&new_key(), key)).await?,
        };
        let secret = match unseal(&kept, key) {
            Some(secret) => secret,
            None => {
                tracing::warn!("the key for web push was sealed with another server's key");
                let secret = new_key();
                meta::set(db, KEY_NAME, &seal(&secret, key)).await?;
                secret
            }
        };
        let unusable = || BootError::Setting("the key for web push cannot be used");
        let der = secret.to_pkcs8_der().map_err(|_| unusable())?;
        let point = secret.public_key().to_encoded_point(false);
        Ok(Self {
            signing: EncodingKey::from_ec_der(der.as_bytes()),
            public_key: URL_SAFE_NO_PAD.encode(point.as_bytes()),
            contact,
        })
    }

    pub(super) fn public_key(&self) -> &str {
        &self.public_key
    }

    /// The `Authorization` of a message to `endpoint` (RFC 8292, section 3).
    pub(super) fn authorization(&self, endpoint: &Url, now: Timestamp) -> Result<String> {
        let claims = Claims {
            aud: endpoint.origin().ascii_serialization(),
            exp: now.plus_seconds(TOKEN_TTL_S).0 / MICROS_PER_SECOND,
            sub: &self.contact,
        };
        let token = encode(&Header::new(Algorithm::ES256), &claims, &self.signing)
            .map_err(|_| Error::internal())?;
        Ok(format!("vapid t={token}, k={}", self.public_key))
    }
}

fn new_key() -> SecretKey {
    let mut bytes = Zeroizing::new([0; 32]);
    loop {
        rand::rng().fill_bytes(&mut *bytes);
        // Zero, and what is beyond the curve's order, are no keys: one draw in 2^32.
        if let Ok(key) = SecretKey::from_slice(&*bytes) {
            return key;
        }
    }
}

fn seal(secret: &SecretKey, key: &ServerKey) -> String {
    let text = Zeroizing::new(URL_SAFE_NO_PAD.encode(secret.to_bytes()));
    key.seal(KEY_NAME, &text, &mut rand::rng())
}

fn unseal(sealed: &str, key: &ServerKey) -> Option<SecretKey> {
    let text = Zeroizing::new(key.open(KEY_NAME, sealed)?);
    SecretKey::from_slice(&URL_SAFE_NO_PAD.decode(text.as_bytes()).ok()?).ok()
}

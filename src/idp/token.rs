//! ID tokens (OpenID Connect Core 1.0, section 3.1.3.7): whose they are, for whom, of which flow.

use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation, decode, decode_header, jwk::JwkSet,
};
use rookery_domain::Result;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use subtle::ConstantTimeEq as _;

use super::refused;

/// Signatures that are believed: by the provider's private key alone, never by a shared secret.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// Seconds that the provider's clock may be off.
const LEEWAY_S: u64 = 60;

/// What is read of an ID token.
#[derive(Deserialize)]
pub(super) struct Claims {
    pub(super) sub: String,
    nonce: Option<String>,
    azp: Option<String>,
    aud: Audience,
    pub(super) email: Option<String>,
    #[serde(default, deserialize_with = "verified")]
    pub(super) email_verified: bool,
}

/// `email_verified` of OpenID Connect Core 1.0, section 5.1. Some providers say it in text (Apple,
/// Cognito). Any other word than a plain yes is none.
pub(super) fn verified<'de, D: Deserializer<'de>>(word: D) -> Result<bool, D::Error> {
    let word = Value::deserialize(word)?;
    Ok(word == Value::Bool(true) || word == "true")
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// The header of a token, before anything of it is believed.
pub(super) fn header(token: &str) -> Result<Header> {
    let header = decode_header(token)
        .map_err(|_| refused("its token is none, or signed in a way not known here"))?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(refused("its token is not signed by a key of its own"));
    }
    // RFC 7515, section 4.1.11: none of what may stand there is understood here.
    if header.crit.is_some() {
        return Err(refused("its token has to be understood in ways that are not known here"));
    }
    Ok(header)
}

/// What a token has to say.
pub(super) struct Expected<'a> {
    /// Who has issued it.
    pub(super) issuer: &'a str,
    /// For whom: this service, as it is known there.
    pub(super) client_id: &'a str,
    /// In which flow it was made.
    pub(super) nonce: &'a str,
}

/// Verifies a token that is signed with one of these keys.
pub(super) fn verify(
    token: &str,
    header: &Header,
    keys: &JwkSet,
    Expected { issuer, client_id, nonce }: Expected<'_>,
) -> Result<Claims> {
    let key = match &header.kid {
        Some(kid) => keys.find(kid),
        // Without a name there must be no choice.
        None => keys.keys.first().filter(|_| keys.keys.len() == 1),
    };
    let key = key.ok_or_else(|| refused("its token is signed by an unknown key"))?;
    let key = DecodingKey::from_jwk(key).map_err(|_| refused("its key cannot be used"))?;
    let mut validation = Validation::new(header.alg);
    validation.leeway = LEEWAY_S;
    validation.validate_nbf = true;
    validation.set_issuer(&[issuer]);
    validation.set_audience(&[client_id]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    let claims: Claims = decode(token, &key, &validation)
        .map_err(|_| refused("its token is not valid here and now"))?
        .claims;
    let alone = match &claims.aud {
        Audience::One(aud) => aud == client_id,
        Audience::Many(all) => all.len() == 1,
    };
    let for_us = match &claims.azp {
        Some(azp) => azp == client_id,
        None => alone,
    };
    if !for_us {
        return Err(refused("its token is for somebody else"));
    }
    let same =
        claims.nonce.as_deref().is_some_and(|it| it.as_bytes().ct_eq(nonce.as_bytes()).into());
    if !same {
        return Err(refused("its token belongs to another sign-in"));
    }
    Ok(claims)
}

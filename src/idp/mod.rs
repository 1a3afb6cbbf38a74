//! The identity provider (OpenID Connect Core 1.0): authorization code flow with PKCE, state and
//! nonce. Here is what is said to the provider and what is believed of its answers; which account
//! an identity belongs to is the directory's to know, and the browser's part is in `routes/auth`.

mod metadata;
mod token;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Client;
use rookery_actors::directory::{IdpFlow, IdpIdentity};
use rookery_domain::{Error, ErrorCode, Result, email::Email};
use rookery_storage::log_throttle::LogThrottle;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::Url;

use self::{
    metadata::Source,
    token::{Claims, Expected},
};
use crate::{boot::BootError, config::Config, outbound};

/// How messages name it.
const WHO: &str = "the identity provider";
/// What a token endpoint says of a client that it does not know, or that has no right to ask.
const OUR_FAULTS: [&str; 2] = ["invalid_client", "unauthorized_client"];
/// What is asked for: who it is, and its address.
const SCOPE: &str = "openid email";
/// Bytes of a subject (OpenID Connect Core, section 2).
const SUBJECT_BYTES_MAX: usize = 255;

/// The identity provider of the settings.
pub struct IdentityProvider {
    client: Client,
    source: Source,
    client_id: String,
    client_secret: SecretString,
    redirect_uri: String,
    /// Lines about each time that the provider refuses this service.
    refusals: LogThrottle,
}

/// What the token endpoint answers.
#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    id_token: String,
}

/// How the token endpoint refuses.
#[derive(Deserialize)]
struct TokenError {
    error: String,
}

/// What the userinfo endpoint answers.
#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    email: Option<String>,
    #[serde(default, deserialize_with = "token::verified")]
    email_verified: bool,
}

/// The provider's word cannot be believed.
fn refused(why: &str) -> Error {
    Error::new(ErrorCode::Unauthorized, format!("{WHO} did not sign anybody in: {why}"))
}

impl IdentityProvider {
    /// The provider that the settings name, if they do. It is not asked before it is needed.
    ///
    /// # Errors
    /// [`BootError`], when no request could be made at all.
    pub fn of(config: &Config, public_url: &str) -> Result<Option<Self>, BootError> {
        let idp = &config.idp;
        if idp.issuer.is_empty() {
            return Ok(None);
        }
        let client = outbound::client(&idp.issuer)
            .map_err(|_| BootError::Setting("idp.issuer: this system has no trust anchors"))?;
        Ok(Some(Self {
            source: Source::new(&idp.issuer),
            client,
            client_id: idp.client_id.clone(),
            client_secret: idp.client_secret.clone(),
            redirect_uri: format!("{public_url}/v1/auth/idp/callback"),
            refusals: LogThrottle::default(),
        }))
    }

    /// Where the browser is sent with a new flow.
    ///
    /// # Errors
    /// `unavailable`, when the provider cannot be discovered.
    pub async fn authorization_url(&self, state: &str, flow: &IdpFlow) -> Result<Url> {
        let metadata = self.source.metadata(&self.client).await?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&flow.verifier));
        let mut url = metadata.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", SCOPE)
            .append_pair("state", state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Checks who an answer says that it is of: a provider that says so says it each time, so an answer
    /// without it is somebody else's (RFC 9207, 2.4).
    ///
    /// # Errors
    /// `unauthorized`; `unavailable`, when the provider does not answer.
    pub async fn check_answering(&self, issuer: Option<&str>) -> Result<()> {
        match issuer {
            Some(issuer) if issuer != self.source.issuer() => Err(refused("another one answers")),
            Some(_) => Ok(()),
            None if self.source.metadata(&self.client).await?.names_itself() => {
                Err(refused("the answer does not say whose it is"))
            }
            None => Ok(()),
        }
    }

    /// Redeems a code of `flow` and verifies what comes back.
    ///
    /// # Errors
    /// `unauthorized`, when the provider refuses the code or its word cannot be believed;
    /// `unavailable`, when it does not answer.
    pub async fn identity(&self, code: &str, flow: &IdpFlow) -> Result<IdpIdentity> {
        let tokens = self.redeem(code, flow).await?;
        let claims = self.claims(&tokens.id_token, &flow.nonce).await?;
        let is_sound = !claims.sub.is_empty()
            && claims.sub.len() <= SUBJECT_BYTES_MAX
            && !claims.sub.contains(char::is_control);
        if !is_sound {
            return Err(refused("its subject is none"));
        }
        let (email, verified) = match claims.email {
            Some(email) => (Some(email), claims.email_verified),
            None => self.address(&tokens.access_token, &claims.sub).await?,
        };
        // An address that is none of ours is as good as none.
        let email = email.and_then(|email| Email::parse(&email).ok());
        let email_verified = verified && email.is_some();
        let issuer = self.source.issuer().to_owned();
        Ok(IdpIdentity { issuer, subject: claims.sub, email, email_verified })
    }

    async fn redeem(&self, code: &str, flow: &IdpFlow) -> Result<Tokens> {
        let metadata = self.source.metadata(&self.client).await?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", flow.verifier.as_str()),
        ];
        let mut request = self.client.post(metadata.token_endpoint.clone());
        let secret = self.client_secret.expose_secret();
        if !secret.is_empty() && metadata.takes_basic() {
            // RFC 6749, section 2.3.1: both are form-encoded first.
            let encode = |text: &str| -> String {
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            request = request.basic_auth(encode(&self.client_id), Some(encode(secret)));
        } else {
            form.push(("client_id", &self.client_id));
            if !secret.is_empty() {
                form.push(("client_secret", secret));
            }
        }
        let (status, body) = outbound::exchange(WHO, request.form(&form)).await?;
        if !status.is_success() {
            self.tell_refused(&body);
            return Err(refused("it refused the code"));
        }
        serde_json::from_slice(&body).map_err(|_| refused("it answered without tokens"))
    }

    /// Tells operators of a refusal that is about this service, not about who signs in (RFC 6749, section
    /// 5.2).
    fn tell_refused(&self, body: &[u8]) {
        let said = serde_json::from_slice::<TokenError>(body).ok().map(|said| said.error);
        let Some(code) = OUR_FAULTS.iter().find(|code| said.as_deref() == Some(**code)) else {
            return;
        };
        if let Some(skipped) = self.refusals.take() {
            tracing::error!(
                skipped,
                code,
                "the identity provider refuses this service: see idp.client_id and idp.client_secret"
            );
        }
    }

    async fn claims(&self, id_token: &str, nonce: &str) -> Result<Claims> {
        let header = token::header(id_token)?;
        let keys = self.source.keys(&self.client, header.kid.as_deref()).await?;
        let (issuer, client_id) = (self.source.issuer(), &*self.client_id);
        token::verify(id_token, &header, &keys, Expected { issuer, client_id, nonce })
    }

    /// The address, from the provider's userinfo endpoint where it has one.
    async fn address(&self, access_token: &str, subject: &str) -> Result<(Option<String>, bool)> {
        let metadata = self.source.metadata(&self.client).await?;
        let Some(endpoint) = metadata.userinfo_endpoint.clone() else { return Ok((None, false)) };
        let request = self.client.get(endpoint).bearer_auth(access_token);
        let (status, body) = outbound::exchange(WHO, request).await?;
        if !status.is_success() {
            return Err(refused("it does not tell who"));
        }
        let info: UserInfo =
            serde_json::from_slice(&body).map_err(|_| refused("it does not tell who"))?;
        // OpenID Connect Core, section 5.3.2: tokens may have been swapped.
        if info.sub != subject {
            return Err(refused("it tells of somebody else"));
        }
        Ok((info.email, info.email_verified))
    }
}

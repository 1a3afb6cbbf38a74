//! Signing in by an identity provider: the state that travels through the browser, and the account
//! that an identity belongs to. What the provider says is verified elsewhere.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    email::Email,
    id::{HumanId, SessionId},
    redirect::ReturnPath,
    secret::{Secret, SecretKind},
};
use rookery_storage::{
    identities::{self, NewFlow},
    sessions::NewSession,
};

use super::{
    Directory,
    core::Core,
    sign_in::{SESSION_TTL_S, SignedIn, stored_path},
};

/// Seconds that a human has at the provider.
const FLOW_TTL_S: i64 = 600;
/// Between nonce and verifier in what is sealed; it is in neither's alphabet.
const BETWEEN: char = ' ';

/// What a flow keeps to itself while the browser is away.
pub struct IdpFlow {
    /// Comes back in the ID token.
    pub nonce: String,
    /// Proves to the provider that whoever redeems the code began the flow (RFC 7636).
    pub verifier: String,
    /// Where the sign-in leads.
    pub redirect_to: ReturnPath,
}

/// Who a provider says has signed in; its word was verified.
#[derive(Debug)]
pub struct IdpIdentity {
    /// The provider.
    pub issuer: String,
    /// The provider's name for the human.
    pub subject: String,
    /// The address, if it tells one.
    pub email: Option<Email>,
    /// Whether it has verified that.
    pub email_verified: bool,
}

fn refused() -> Error {
    let message = "this sign-in was completed, has expired, or never was: begin again";
    Error::new(ErrorCode::Unauthorized, message)
}

impl Directory {
    /// Seconds that a human has at the provider.
    pub const IDP_FLOW_TTL_S: i64 = FLOW_TTL_S;

    /// Begins a flow: its state, for the browser, and what is kept of it.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn begin_idp(&self, redirect_to: ReturnPath) -> Result<(Secret, IdpFlow)> {
        let core = &self.core;
        // Secrets of our own alphabet: 256 bits, and valid as nonce and as RFC 7636 verifier.
        let draw = || Secret::generate(SecretKind::IdpFlow, &mut rand::rng());
        let (state, nonce, verifier) = (draw(), draw(), draw());
        let flow = IdpFlow {
            nonce: nonce.expose().to_owned(),
            verifier: verifier.expose().to_owned(),
            redirect_to,
        };
        let text = format!("{}{BETWEEN}{}", flow.nonce, flow.verifier);
        let now = core.now();
        let new = NewFlow {
            hash: state.hash(),
            sealed: core.key.seal("sign-in flow", &text, &mut rand::rng()),
            redirect_to: Some(flow.redirect_to.as_str().to_owned()),
            expires_at: now.plus_seconds(FLOW_TTL_S),
        };
        identities::begin(&core.db, new, now).await?;
        Ok((state, flow))
    }

    /// Spends a flow's state. Of any number of calls at once, one gets the flow.
    ///
    /// # Errors
    /// `unauthorized` for an unknown, spent and expired state alike; `unavailable`, `internal`.
    pub async fn spend_idp(&self, state: &str) -> Result<IdpFlow> {
        let core = &self.core;
        let state = Secret::parse(SecretKind::IdpFlow, state).ok_or_else(refused)?;
        let spent = identities::spend(&core.db, state.hash(), core.now()).await?;
        let (sealed, redirect_to) = spent.ok_or_else(refused)?;
        let text = core.key.open("sign-in flow", &sealed).ok_or_else(refused)?;
        let (nonce, verifier) = text.split_once(BETWEEN).ok_or_else(refused)?;
        Ok(IdpFlow {
            nonce: nonce.to_owned(),
            verifier: verifier.to_owned(),
            redirect_to: stored_path(redirect_to.as_deref()),
        })
    }

    /// Signs the human of an identity in. An address that the provider has not verified joins it
    /// to nobody: it gets an account of its own, whose address is not verified.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn sign_in_identity(
        &self,
        identity: IdpIdentity,
        redirect_to: ReturnPath,
    ) -> Result<SignedIn> {
        self.mutate(async move |core: Arc<Core>| {
            let now = core.now();
            let secret = Secret::generate(SecretKind::Session, &mut rand::rng());
            let session = NewSession {
                id: SessionId::new(),
                hash: secret.hash(),
                expires_at: now.plus_seconds(SESSION_TTL_S),
            };
            let identity = identities::Identity {
                issuer: identity.issuer,
                subject: identity.subject,
                email: identity.email.map(|email| email.as_str().to_owned()),
                verified: identity.email_verified,
            };
            let signed_in =
                identities::sign_in(&core.db, identity, HumanId::new(), session, now).await?;
            let (human, session) = signed_in;
            let known = Arc::new(human.clone());
            core.write(|memory| {
                memory.put_human(human);
                memory.put_session(&session);
            });
            Ok(SignedIn { human: known, secret, redirect_to })
        })
        .await
    }
}

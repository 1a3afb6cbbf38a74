//! Who asks: resolving what a request presents to an [`Identity`], against the directory.
//!
//! Handlers do not call this; they name one of the permissions of [`permission`], and cannot run
//! for anyone else. What an identity may do *inside* an app is decided by the app's actor.

mod accounts;
pub mod credential_watch;
pub mod org;
pub mod permission;
pub mod recheck;
mod resolve;
pub mod visitor;

use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, header};
use rookery_actors::{AppHandle, directory::CredentialHolder};
use rookery_domain::{
    Error, ErrorCode, Result,
    id::{AgentId, AppId, CredentialId, HumanId, KeyId, SessionId},
    principal::Caller,
    secret::{HashHalf, Secret, SecretKind},
};
use tokio_util::sync::CancellationToken;

use crate::{
    http::{cookie, single_header::SingleHeader},
    state::AppState,
};

/// Who a valid credential belongs to. What is paused, revoked or expired belongs to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// An agent, by one of its keys.
    Agent {
        /// The agent.
        agent: AgentId,
        /// The key that was presented.
        key: KeyId,
        /// The human that claimed it.
        owner: Option<HumanId>,
    },
    /// A human, by a session of the site.
    Human {
        /// The human.
        human: HumanId,
        /// The session that was presented.
        session: SessionId,
    },
    /// A service credential of one app.
    Credential {
        /// The credential.
        credential: CredentialId,
        /// The only app it reaches.
        app: AppId,
        /// The first half of the hash of the token that was presented.
        token: HashHalf,
    },
}

impl Identity {
    /// The caller that an app's actor gives a role.
    #[must_use]
    pub const fn caller(self) -> Caller {
        match self {
            Self::Agent { agent, owner, .. } => Caller::Agent { agent, owner },
            Self::Human { human, .. } => Caller::human(human),
            Self::Credential { credential, app, token } => {
                Caller::Credential { credential, app, token }
            }
        }
    }

    /// The account that this identity acts for.
    #[must_use]
    pub const fn account(self) -> Option<HumanId> {
        match self {
            Self::Agent { owner, .. } => owner,
            Self::Human { human, .. } => Some(human),
            Self::Credential { .. } => None,
        }
    }
}

/// What extractors ask the directory. Credentials are looked up in memory, in its newest state: a
/// key that was paused a moment ago is unknown now.
pub trait Authenticator: Send + Sync + 'static {
    /// Who this bearer belongs to, when it is an agent's key.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    fn bearer(&self, secret: &str) -> Result<Option<Identity>>;

    /// Who this session cookie belongs to.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    fn session(&self, secret: &str) -> Result<Option<Identity>>;

    /// Whether `human` is a member of `app` (its owner is none).
    ///
    /// # Errors
    /// `unavailable`, when the app does not answer.
    fn is_member<'a>(&'a self, app: &'a AppHandle, human: HumanId) -> BoxFuture<'a, Result<bool>>;

    /// What is cancelled when a key or a session may have ended, for requests that wait with it;
    /// `None` when it has ended already.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    fn watch(&self, secret: &Secret) -> Result<Option<CancellationToken>>;

    /// The account's address, once it is verified.
    fn verified_email(&self, human: HumanId) -> Option<String>;
}

/// What a request presents. A bearer beats a cookie, and never falls through to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presented<'a> {
    Bearer(&'a str),
    Session(&'a str),
    /// An `Authorization` header that is no bearer, or more than one.
    Malformed,
    Nothing,
}

fn presented<'a>(headers: &'a HeaderMap, state: &AppState) -> Presented<'a> {
    match SingleHeader::of(headers, header::AUTHORIZATION) {
        SingleHeader::Absent => {
            cookie::session::read(headers, state).map_or(Presented::Nothing, Presented::Session)
        }
        SingleHeader::Once(value) => match scheme_and_secret(value) {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => {
                Presented::Bearer(secret)
            }
            _ => Presented::Malformed,
        },
        SingleHeader::Repeated => Presented::Malformed,
    }
}

/// The two halves of an `Authorization` header. The case of a scheme does not matter (RFC 9110, 11.1).
pub(super) fn scheme_and_secret(value: &HeaderValue) -> Option<(&str, &str)> {
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    Some((scheme, secret.trim()))
}

/// Whose the request is; `None` when it presents nothing.
async fn identify(headers: &HeaderMap, state: &AppState) -> Result<Option<Identity>> {
    let found = match presented(headers, state) {
        Presented::Bearer(secret) => match state.authenticator.bearer(secret)? {
            None if secret.starts_with(SecretKind::Credential.prefix()) => {
                credential(secret, state).await?
            }
            found => found,
        },
        Presented::Session(secret) => state.authenticator.session(secret)?,
        Presented::Malformed => None,
        Presented::Nothing => return Ok(None),
    };
    found.map(Some).ok_or_else(resolve::invalid)
}

/// Refuses a bearer on a route that is for `wanted`, who send none: it never falls through to a
/// cookie. Other schemes may be for a proxy before the service.
///
/// # Errors
/// `unauthorized` for one that is not valid, `forbidden` for any other.
pub async fn refuse_bearer(
    headers: &HeaderMap,
    wanted: &'static str,
    state: &AppState,
) -> Result<()> {
    if !matches!(presented(headers, state), Presented::Bearer(_)) {
        return Ok(());
    }
    identify(headers, state).await?;
    Err(Error::only_for(wanted))
}

/// The credential with this token, if it works now. Its own app says so, whichever app the request
/// is for: what is paused, revoked or rotated out belongs to nobody.
async fn credential(secret: &str, state: &AppState) -> Result<Option<Identity>> {
    let Some(holder) = state.rooms.directory.credential(secret).await? else { return Ok(None) };
    let CredentialHolder { credential, app, token } = holder;
    let identity = Identity::Credential { credential, app, token };
    let standing = match state.rooms.apps().by_id(app).await {
        Ok(app) => app.standing(&identity.caller()).await,
        Err(error) => Err(error),
    };
    match standing {
        Ok(_) => Ok(Some(identity)),
        Err(error) if matches!(error.code, ErrorCode::Unauthorized | ErrorCode::AppNotFound) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

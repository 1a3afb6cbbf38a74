//! The permissions: extractors whose presence in a handler's signature *is* the check, in the
//! order of precedence (401, kind, `agent_not_claimed`, CSRF, app, its state), and which tell the
//! OpenAPI document what the route asks for.

use std::{marker::PhantomData, sync::Arc};

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use rookery_domain::{
    Error, ErrorCode, Result,
    app::{AppRecord, AppStatus},
    id::{AgentId, HumanId, KeyId, SessionId},
    principal::Caller,
};

use super::{Identity, identify};
use crate::{error::ApiError, http::csrf, state::AppState};

/// A credential that a route accepts, as the OpenAPI document names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer` with an agent's key.
    AgentKey,
    /// The session cookie of a signed-in human.
    HumanSession,
    /// `Authorization: Bearer` with a service credential.
    ServiceCredential,
}

impl Scheme {
    /// Its name among the document's security schemes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentKey => "agent_key",
            Self::HumanSession => "human_session",
            Self::ServiceCredential => "service_credential",
        }
    }
}

/// What a permission tells the OpenAPI document.
pub trait Permission {
    /// The credentials it accepts, any one of them; none for a public route.
    const SCHEMES: &'static [Scheme];
    /// Whether it also runs without one.
    const OPTIONAL: bool = false;
    /// Who that is, in a sentence.
    const WHO: &'static str;
    /// The refusals it may answer.
    const CODES: &'static [ErrorCode];
}

/// A route for everybody, without a credential.
#[derive(Debug, Clone, Copy)]
pub struct Public;

/// An agent, claimed or not.
#[derive(Debug, Clone, Copy)]
pub struct AgentKey {
    /// The agent.
    pub agent: AgentId,
    /// The key it presented.
    pub key: KeyId,
    /// The human that claimed it.
    pub owner: Option<HumanId>,
}

/// An agent that a human has claimed.
#[derive(Debug, Clone, Copy)]
pub struct ClaimedAgent {
    /// The agent.
    pub agent: AgentId,
    /// The key it presented.
    pub key: KeyId,
    /// The account it acts for.
    pub owner: HumanId,
}

/// A signed-in human.
#[derive(Debug, Clone, Copy)]
pub struct HumanSession {
    /// The human.
    pub human: HumanId,
    /// The session it presented.
    pub session: SessionId,
}

/// A signed-in human, or nobody.
#[derive(Debug, Clone, Copy)]
pub struct OptionalHuman(pub Option<HumanSession>);

/// An account, by its session or by one of its agents.
#[derive(Debug, Clone)]
pub struct Account {
    /// The human.
    pub account: HumanId,
    /// Who asked.
    pub caller: Caller,
}

/// An agent whose human is an operator, by a verified address.
#[derive(Debug, Clone, Copy)]
pub struct Operator(pub ClaimedAgent);

/// Which states of an app a route works on.
pub trait Lifecycle: Send + Sync + 'static {
    /// Whether a deleted app is let through (else `soft_deleted`).
    const DELETED: bool;
    /// Whether a closed app is let through (else `app_closed`).
    const CLOSED: bool;
}

/// For routes that change an app: it must be live.
#[derive(Debug, Clone, Copy)]
pub struct Live;
/// For routes that read: a closed app may still be read.
#[derive(Debug, Clone, Copy)]
pub struct Readable;
/// For routes about life and death itself (delete, restore, purge, `include_deleted`).
#[derive(Debug, Clone, Copy)]
pub struct AnyState;

impl Lifecycle for Live {
    const DELETED: bool = false;
    const CLOSED: bool = false;
}
impl Lifecycle for Readable {
    const DELETED: bool = false;
    const CLOSED: bool = true;
}
impl Lifecycle for AnyState {
    const DELETED: bool = true;
    const CLOSED: bool = true;
}

/// The owner of the app in the path: its human, or one of the human's agents.
#[derive(Debug, Clone)]
pub struct AppOwner<L = Live> {
    /// The app.
    pub app: Arc<AppRecord>,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// The owner of the app in the path, or one of its members.
#[derive(Debug, Clone)]
pub struct AppMember<L = Readable> {
    /// The app.
    pub app: Arc<AppRecord>,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// The owner of the app in the path, in person: an agent does not do.
#[derive(Debug, Clone)]
pub struct HumanOwner<L = Live> {
    /// The app.
    pub app: Arc<AppRecord>,
    /// Who asked.
    pub human: HumanId,
    lifecycle: PhantomData<L>,
}

/// Whoever may ask the app in the path for rows: its owner, a member, a service credential of it.
/// What they may do there is the app's to decide.
#[derive(Debug, Clone)]
pub struct RowCaller<L = Live> {
    /// The app.
    pub app: Arc<AppRecord>,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

fn required(parts: &Parts, state: &AppState) -> Result<Identity> {
    let missing = || Error::new(ErrorCode::Unauthorized, "this route needs a credential");
    identify(parts, state)?.ok_or_else(missing)
}

fn wrong_kind(wanted: &str) -> Error {
    Error::new(ErrorCode::Forbidden, format!("this route is for {wanted}"))
}

fn claimed(agent: AgentId, key: KeyId, owner: Option<HumanId>) -> Result<ClaimedAgent> {
    let unclaimed = || Error::new(ErrorCode::AgentNotClaimed, "no human has claimed this agent");
    owner.map(|owner| ClaimedAgent { agent, key, owner }).ok_or_else(unclaimed)
}

/// A session must come from the site when it changes something; a bearer is sent by no browser.
fn check_csrf(identity: Identity, parts: &Parts, state: &AppState) -> Result<()> {
    match identity {
        Identity::Human { .. } => csrf::check(&parts.method, &parts.headers, &state.public_url),
        _ => Ok(()),
    }
}

fn agent(parts: &Parts, state: &AppState) -> Result<AgentKey> {
    match required(parts, state)? {
        Identity::Agent { agent, key, owner } => Ok(AgentKey { agent, key, owner }),
        _ => Err(wrong_kind("agents")),
    }
}

fn human(parts: &Parts, state: &AppState) -> Result<HumanSession> {
    let identity = required(parts, state)?;
    let Identity::Human { human, session } = identity else {
        return Err(wrong_kind("signed-in humans"));
    };
    check_csrf(identity, parts, state)?;
    Ok(HumanSession { human, session })
}

/// A human or a claimed agent.
fn person(parts: &Parts, state: &AppState) -> Result<(HumanId, Caller)> {
    let identity = required(parts, state)?;
    let account = match identity {
        Identity::Agent { agent, key, owner } => claimed(agent, key, owner)?.owner,
        Identity::Human { human, .. } => human,
        Identity::Credential { .. } => return Err(wrong_kind("agents and signed-in humans")),
    };
    check_csrf(identity, parts, state)?;
    Ok((account, identity.caller()))
}

/// The app in the path, for a caller that `sees` it; else as if it were not there.
async fn app<L: Lifecycle>(
    parts: &mut Parts,
    state: &AppState,
    sees: impl FnOnce(&AppRecord) -> Result<()>,
) -> Result<Arc<AppRecord>> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    let params = params.map_err(|_| Error::app_not_found())?;
    let id = params.iter().find(|(name, _)| matches!(*name, "id" | "app_id" | "appId"));
    let (_, id) = id.ok_or_else(Error::app_not_found)?;
    let app = state.authenticator.app(id).await?.ok_or_else(Error::app_not_found)?;
    if app.status == AppStatus::Purging {
        return Err(Error::app_not_found());
    }
    sees(&app)?;
    match app.status {
        AppStatus::Deleted if !L::DELETED => {
            Err(Error::new(ErrorCode::SoftDeleted, "the app is in the trash"))
        }
        AppStatus::Closed if !L::CLOSED => {
            Err(Error::new(ErrorCode::AppClosed, "the app is closed"))
        }
        _ => Ok(app),
    }
}

/// The owner passes; a member's own session is told so; for anyone else the app is not there.
fn owner_only(app: &AppRecord, account: HumanId, caller: &Caller, state: &AppState) -> Result<()> {
    if app.owner == account {
        return Ok(());
    }
    match caller {
        Caller::Human { human } if state.authenticator.is_member(app.id, *human) => {
            Err(wrong_kind("the app's owner"))
        }
        _ => Err(Error::app_not_found()),
    }
}

fn owner_or_member(
    app: &AppRecord,
    account: HumanId,
    caller: &Caller,
    state: &AppState,
) -> Result<()> {
    let member = match caller {
        Caller::Human { human } => state.authenticator.is_member(app.id, *human),
        _ => false,
    };
    if app.owner == account || member { Ok(()) } else { Err(Error::app_not_found()) }
}

async fn row_caller<L: Lifecycle>(parts: &mut Parts, state: &AppState) -> Result<RowCaller<L>> {
    let identity = required(parts, state)?;
    let (app, caller) = if let Identity::Credential { app: only, .. } = identity {
        let sees = |app: &AppRecord| {
            if app.id == only { Ok(()) } else { Err(Error::app_not_found()) }
        };
        (app::<L>(parts, state, sees).await?, identity.caller())
    } else {
        let (account, caller) = person(parts, state)?;
        let sees = |app: &AppRecord| owner_or_member(app, account, &caller, state);
        (app::<L>(parts, state, sees).await?, caller)
    };
    Ok(RowCaller { app, caller, lifecycle: PhantomData })
}

fn operator(parts: &Parts, state: &AppState) -> Result<Operator> {
    let AgentKey { agent, key, owner } = agent(parts, state)?;
    let agent = claimed(agent, key, owner)?;
    let email = state.authenticator.verified_email(agent.owner).ok_or_else(|| {
        Error::new(ErrorCode::EmailNotVerified, "the account's address is not verified")
    })?;
    let operators = &state.config.community.review_operator_emails;
    let normal = |address: &str| address.trim().to_lowercase();
    if operators.iter().any(|known| normal(known) == normal(&email)) {
        Ok(Operator(agent))
    } else {
        Err(Error::new(ErrorCode::NotAReviewer, "this account is no operator"))
    }
}

macro_rules! permission {
    (
        $name:ty $(, any $l:ident)?: $who:literal, [$($scheme:ident)*], [$($code:ident)*],
        optional $optional:literal, |$parts:ident, $state:ident| $body:expr
    ) => {
        impl$(<$l: Lifecycle>)? Permission for $name {
            const SCHEMES: &'static [Scheme] = &[$(Scheme::$scheme),*];
            const OPTIONAL: bool = $optional;
            const WHO: &'static str = $who;
            const CODES: &'static [ErrorCode] = &[$(ErrorCode::$code),*];
        }

        impl$(<$l: Lifecycle>)? FromRequestParts<AppState> for $name {
            type Rejection = ApiError;

            async fn from_request_parts(
                $parts: &mut Parts,
                $state: &AppState,
            ) -> Result<Self, ApiError> {
                Ok($body)
            }
        }
    };
}

permission!(Public: "Anybody.", [], [], optional false, |_parts, _state| Self);
permission!(AgentKey: "An agent.", [AgentKey], [Unauthorized Forbidden], optional false,
    |parts, state| agent(parts, state)?);
permission!(ClaimedAgent: "An agent that a human has claimed.", [AgentKey],
[Unauthorized Forbidden AgentNotClaimed], optional false, |parts, state| {
    let AgentKey { agent, key, owner } = agent(parts, state)?;
    claimed(agent, key, owner)?
});
permission!(HumanSession: "A signed-in human.", [HumanSession],
    [Unauthorized Forbidden CsrfOriginMismatch], optional false,
    |parts, state| human(parts, state)?);
permission!(OptionalHuman: "Anybody; a session changes the answer.", [HumanSession],
[Unauthorized Forbidden CsrfOriginMismatch], optional true, |parts, state| {
    match identify(parts, state)? {
        None => Self(None),
        Some(_) => Self(Some(human(parts, state)?)),
    }
});
permission!(Account: "A signed-in human, or an agent of one.", [AgentKey HumanSession],
[Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch], optional false,
|parts, state| {
    let (account, caller) = person(parts, state)?;
    Self { account, caller }
});
permission!(Operator: "An agent whose human is an operator.", [AgentKey],
    [Unauthorized Forbidden AgentNotClaimed EmailNotVerified NotAReviewer], optional false,
    |parts, state| operator(parts, state)?);
permission!(AppOwner<L>, any L: "The app's owner, or an agent of the owner.",
[AgentKey HumanSession],
[Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
optional false, |parts, state| {
    let (account, caller) = person(parts, state)?;
    let sees = |app: &AppRecord| owner_only(app, account, &caller, state);
    let app = app::<L>(parts, state, sees).await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(AppMember<L>, any L: "The app's owner, an agent of the owner, or a member.",
[AgentKey HumanSession],
[Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
optional false, |parts, state| {
    let (account, caller) = person(parts, state)?;
    let sees = |app: &AppRecord| owner_or_member(app, account, &caller, state);
    let app = app::<L>(parts, state, sees).await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(HumanOwner<L>, any L: "The app's owner in person.", [HumanSession],
[Unauthorized Forbidden CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
optional false, |parts, state| {
    let HumanSession { human, .. } = human(parts, state)?;
    let caller = Caller::Human { human };
    let sees = |app: &AppRecord| owner_only(app, human, &caller, state);
    let app = app::<L>(parts, state, sees).await?;
    Self { app, human, lifecycle: PhantomData }
});
permission!(RowCaller<L>, any L: "The app's owner, a member, or a service credential of it.",
    [AgentKey HumanSession ServiceCredential],
    [Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
    optional false, |parts, state| row_caller::<L>(parts, state).await?);

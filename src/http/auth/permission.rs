//! The permissions: extractors whose presence in a handler's signature *is* the check, in the
//! order of precedence (401, kind, `agent_not_claimed`, CSRF, app, its state), and which tell the
//! OpenAPI document what the route asks for. What is not here: the checks themselves (`resolve`), and
//! those who come by an app's own origin (`visitor`).

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use http::{header, request::Parts};
use rookery_actors::AppHandle;
use rookery_domain::{
    ErrorCode,
    id::{AgentId, HumanId, KeyId, SessionId},
    principal::Caller,
};

use super::{recheck, refuse_bearer, resolve};
use crate::{
    error::ApiError,
    http::{client::RequestContext, cookie, csrf},
    state::AppState,
};

/// A credential that a route accepts, as the OpenAPI document names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer` with an agent's key.
    AgentKey,
    /// The session cookie of a signed-in human.
    HumanSession,
    /// `Authorization: Bearer` with a service credential.
    ServiceCredential,
    /// The header with a participant's token, on an app's origin.
    ParticipantToken,
    /// The cookie with a participant's token, on an app's origin.
    ParticipantCookie,
    /// `Authorization: Bearer` with the token of the operator's listener.
    OperatorToken,
}

impl Scheme {
    /// Its name among the document's security schemes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentKey => "agent_key",
            Self::HumanSession => "human_session",
            Self::ServiceCredential => "service_credential",
            Self::ParticipantToken => "participant_token",
            Self::ParticipantCookie => "participant_cookie",
            Self::OperatorToken => "ops_token",
        }
    }
}

/// What a permission tells the OpenAPI document.
pub trait Permission {
    /// The credentials it accepts, any one of them; none for a public route.
    const SCHEMES: &'static [Scheme];
    /// Whether it also runs without one.
    const OPTIONAL: bool = false;
    /// Whether reading with it takes `include_deleted`, for the owner to see an app in the trash.
    const READS_TRASH: bool = false;
    /// Who that is, in a sentence.
    const WHO: &'static str;
    /// The refusals it may answer.
    const CODES: &'static [ErrorCode];
}

/// A route for everybody, without a credential.
#[derive(Debug, Clone, Copy)]
pub struct Public;

/// The same for routes that links and redirects lead to: whoever sent the browser here may have
/// added parameters of its own, as mail programs and identity providers do.
#[derive(Debug, Clone, Copy)]
pub struct PublicLink;

/// For signing out: whoever holds a session, or none. A bearer has none to end.
#[derive(Debug, Clone, Copy)]
pub struct SigningOut;

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

/// When an app in the trash is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trash {
    /// Never: `soft_deleted`.
    Refused,
    /// When its owner reads it with `include_deleted=true`; else `soft_deleted`.
    OnRequest,
    /// Always: the route is about life and death itself.
    Welcome,
}

/// Which states of an app a route works on.
pub trait Lifecycle: Send + Sync + 'static {
    /// When an app in the trash is let through.
    const TRASH: Trash;
    /// Whether a closed app is let through (else `app_closed`).
    const CLOSED: bool;
}

/// For routes that change an app: it must be live.
#[derive(Debug, Clone, Copy)]
pub struct Live;
/// For routes that read: a closed app may still be read, and one in the trash by its owner who asks
/// for it.
#[derive(Debug, Clone, Copy)]
pub struct Readable;
/// For routes about life and death itself (delete, restore, purge).
#[derive(Debug, Clone, Copy)]
pub struct AnyState;

impl Lifecycle for Live {
    const TRASH: Trash = Trash::Refused;
    const CLOSED: bool = false;
}
impl Lifecycle for Readable {
    const TRASH: Trash = Trash::OnRequest;
    const CLOSED: bool = true;
}
impl Lifecycle for AnyState {
    const TRASH: Trash = Trash::Welcome;
    const CLOSED: bool = true;
}

/// Whoever acts as the owner of the app in the path: its human, an admin of its organization, or an
/// agent of either.
#[derive(Debug, Clone)]
pub struct AppOwner<L = Live> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// As [`AppOwner`], or one of the app's members, in person.
#[derive(Debug, Clone)]
pub struct AppMember<L = Readable> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// An agent of whoever acts as the owner of the app in the path: people deploy through one.
#[derive(Debug, Clone)]
pub struct OwnerAgent<L = Live> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// Whoever acts as the owner of the app in the path, in person: an agent will not do.
#[derive(Debug, Clone)]
pub struct HumanOwner<L = Live> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// As [`HumanOwner`], or one of the app's members: an agent will not do.
#[derive(Debug, Clone)]
pub struct HumanMember<L = Readable> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub human: HumanId,
    lifecycle: PhantomData<L>,
}

/// Whoever may ask the app in the path for rows: an agent of whoever acts as its owner, or a service
/// credential of it; and a page of the site, for who acts as the owner or is a member. What they may
/// do there is the app's to decide. People reach rows through pages, those of the site and those of the app.
#[derive(Debug, Clone)]
pub struct RowCaller<L = Live> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

/// The same for what a service credential may do in no app: no allowlist can name it, so the app
/// refuses each of them (`credential_scope_forbidden`).
#[derive(Debug, Clone)]
pub struct RowCallerBeyondAllowlist<L = Live> {
    /// The app.
    pub app: AppHandle,
    /// Who asked.
    pub caller: Caller,
    lifecycle: PhantomData<L>,
}

macro_rules! permission {
    (
        $name:ty $(, any $l:ident)?: $who:literal, [$($scheme:ident)*], [$($code:ident)*],
        |$parts:ident, $state:ident| $body:expr
    ) => {
        impl$(<$l: Lifecycle>)? Permission for $name {
            const SCHEMES: &'static [Scheme] = &[$(Scheme::$scheme),*];
            $(const READS_TRASH: bool = matches!($l::TRASH, Trash::OnRequest);)?
            const WHO: &'static str = $who;
            const CODES: &'static [ErrorCode] = &[$(ErrorCode::$code),*];
        }

        impl$(<$l: Lifecycle>)? FromRequestParts<AppState> for $name {
            type Rejection = ApiError;

            async fn from_request_parts(
                $parts: &mut Parts,
                $state: &AppState,
            ) -> Result<Self, ApiError> {
                let granted = $body;
                RequestContext::check_stray($parts)?;
                recheck::note::<Self>($parts);
                Ok(granted)
            }
        }
    };
}

permission!(Public: "Anybody.", [], [], |parts, _state| Self);

impl Permission for PublicLink {
    const SCHEMES: &'static [Scheme] = &[];
    const WHO: &'static str = "Anybody.";
    const CODES: &'static [ErrorCode] = &[];
}

impl FromRequestParts<AppState> for PublicLink {
    type Rejection = ApiError;

    async fn from_request_parts(_: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        Ok(Self)
    }
}

permission!(SigningOut: "Anybody.", [], [Unauthorized Forbidden CsrfOriginMismatch],
|parts, state| {
    let headers = &parts.headers;
    refuse_bearer(headers, "signed-in humans", state).await?;
    // Browsers leave the cookie out of what another site posts, and would take it back all the
    // same.
    if cookie::session::read(headers, state).is_some() || headers.contains_key(header::ORIGIN) {
        csrf::check(&parts.method, headers, &state.public_url)?;
    }
    Self
});
permission!(AgentKey: "An agent.", [AgentKey], [Unauthorized Forbidden],
    |parts, state| resolve::agent(parts, state).await?);
permission!(ClaimedAgent: "An agent that a human has claimed.", [AgentKey],
    [Unauthorized Forbidden AgentNotClaimed],
    |parts, state| resolve::agent(parts, state).await?.claimed()?);
permission!(HumanSession: "A signed-in human.", [HumanSession],
    [Unauthorized Forbidden CsrfOriginMismatch],
    |parts, state| resolve::human(parts, state).await?);
permission!(Account: "A signed-in human, or an agent of one.", [AgentKey HumanSession],
[Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch],
|parts, state| {
    let (account, caller) = resolve::person(parts, state).await?;
    Self { account, caller }
});
permission!(Operator: "An agent whose human is an operator.", [AgentKey],
    [Unauthorized Forbidden AgentNotClaimed EmailNotVerified NotAReviewer],
    |parts, state| resolve::operator(parts, state).await?);
permission!(AppOwner<L>, any L: "The app's owner, or an agent of the owner.",
[AgentKey HumanSession],
[Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let (account, caller) = resolve::person(parts, state).await?;
    let app = resolve::app_of_owner::<L>(parts, account, &caller, state).await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(OwnerAgent<L>, any L: "An agent of the app's owner.", [AgentKey],
[Unauthorized Forbidden AgentNotClaimed AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let ClaimedAgent { agent, owner, .. } = resolve::agent(parts, state).await?.claimed()?;
    let caller = Caller::Agent { agent, owner: Some(owner) };
    let app = resolve::app_of_owner::<L>(parts, owner, &caller, state).await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(AppMember<L>, any L: "The app's owner, an agent of the owner, or a member.",
[AgentKey HumanSession],
[Unauthorized Forbidden AgentNotClaimed CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let (account, caller) = resolve::person(parts, state).await?;
    let app = resolve::app_of_member::<L>(parts, account, &caller, state).await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(HumanOwner<L>, any L: "The app's owner in person.", [HumanSession],
[Unauthorized Forbidden CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let HumanSession { human, .. } = resolve::human(parts, state).await?;
    let caller = Caller::human(human);
    let app = resolve::app_of_owner::<L>(parts, human, &caller, state).await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(HumanMember<L>, any L: "The app's owner or a member, in person.", [HumanSession],
[Unauthorized Forbidden CsrfOriginMismatch AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let HumanSession { human, .. } = resolve::human(parts, state).await?;
    let caller = Caller::human(human);
    let app = resolve::app_of_member::<L>(parts, human, &caller, state).await?;
    Self { app, human, lifecycle: PhantomData }
});
permission!(RowCaller<L>, any L: "An agent of the app's owner, or a service credential of it.",
[AgentKey ServiceCredential],
[Unauthorized Forbidden AgentNotClaimed AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let (app, caller) = resolve::row_caller::<L>(parts, state, "agents and service credentials").await?;
    Self { app, caller, lifecycle: PhantomData }
});
permission!(RowCallerBeyondAllowlist<L>, any L: "An agent of the app's owner; no service credential.",
[AgentKey],
[Unauthorized Forbidden AgentNotClaimed AppNotFound SoftDeleted AppClosed],
|parts, state| {
    let (app, caller) = resolve::row_caller::<L>(parts, state, "agents").await?;
    Self { app, caller, lifecycle: PhantomData }
});

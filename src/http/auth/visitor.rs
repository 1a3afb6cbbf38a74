//! Visitors of an app's own origin: the permissions of `/s/*`, told by the participant token in
//! the cookie or in the header.
//!
//! In the order of precedence: no bearer, the app that the host names, the token, CSRF, whether the app is
//! open to this visitor, its state. What a visitor may do with rows is the app's to decide. In
//! path mode a browser sends the cookie when it loads a page or follows a link, and a sandboxed
//! page's own calls never carry it: there they present the header, and no cookie is looked at. A
//! file that is not everybody's it loads by a pass in the address.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::{HeaderMap, HeaderName, Method, header, request::Parts};
use rookery_actors::{
    AppHandle,
    directory::{CameBy, Participant},
};
use rookery_domain::{
    Error, ErrorCode, Result,
    access::{Standing, Tier},
    id::ParticipantId,
    manifest::Visibility,
    principal::Caller,
    secret::HashHalf,
};
use uuid::Uuid;

use super::{
    permission::{Permission, Scheme},
    recheck,
};
use crate::{
    error::ApiError,
    http::{client::RequestContext, cookie, csrf, edge::metering, single_header::SingleHeader},
    pages::files_pass::FilesPass,
    state::AppState,
};

/// The header of a participant token. It beats the cookie and never falls through to it.
pub const PARTICIPANT_HEADER: HeaderName = HeaderName::from_static("x-service-participant-token");

const SCHEMES: &[Scheme] = &[Scheme::ParticipantToken, Scheme::ParticipantCookie];

/// The participant token that a request to an app's origin presents, looked up.
#[derive(Debug, Clone)]
pub enum PresentedParticipant {
    /// No token at all.
    Nothing,
    /// A token that is unknown, malformed or ended.
    Unknown,
    /// The token of this participant.
    Participant(Arc<Participant>),
}

impl From<Option<Arc<Participant>>> for PresentedParticipant {
    fn from(found: Option<Arc<Participant>>) -> Self {
        found.map_or(Self::Unknown, Self::Participant)
    }
}

/// Who sends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A browser by itself, which loads a page or follows a link.
    Browser,
    /// A page, or a program.
    Page,
}

/// Somebody at an app's door: what was presented is looked up, and a request that changes
/// something has passed the CSRF check, but whether the app is open to them is not decided.
#[derive(Debug, Clone)]
pub struct Arriving {
    /// The app that the host names.
    pub app: AppHandle,
    /// The token that came, looked up.
    pub presented: PresentedParticipant,
    /// Whether it came in the cookie.
    pub by_cookie: bool,
    /// The custom domain that the host names.
    domain: Option<Box<str>>,
    /// Keyed hash of the client's network, for write budgets.
    network: u64,
}

/// The same for the links that let somebody in, which a browser follows by itself.
#[derive(Debug, Clone)]
pub struct Following(pub Arriving);

/// A visitor whom the app is open to, for routes by which something may be left there: it is held until
/// that commits.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The app.
    pub app: AppHandle,
    /// Who asks.
    pub caller: Caller,
    /// Its token's record.
    pub participant: Arc<Participant>,
}

/// A visitor whom the app is open to, or nobody yet in a public app: for routes that only read.
#[derive(Debug, Clone)]
pub struct AnyVisitor {
    /// The app.
    pub app: AppHandle,
    /// Who asks; without a token an anonymous visitor who has created nothing.
    pub caller: Caller,
    /// Its token's record, if it has one.
    pub participant: Option<Arc<Participant>>,
    /// Whether its token came in the cookie.
    pub by_cookie: bool,
}

impl Arriving {
    /// Looks at a request to the origin of the app `slug`.
    ///
    /// # Errors
    /// `app_not_found`, `unavailable`.
    pub async fn of(
        slug: &str,
        context: &RequestContext,
        headers: &HeaderMap,
        sender: Sender,
        state: &AppState,
    ) -> Result<Self> {
        let app = found(slug, state).await?;
        let header = SingleHeader::of(headers, PARTICIPANT_HEADER);
        let takes_cookie = sender == Sender::Browser || !state.origins.is_path_mode();
        let cookie = match header {
            SingleHeader::Absent if takes_cookie => cookie::participant::read(headers, state),
            _ => None,
        };
        let presented = match (header, header.text().or(cookie)) {
            (_, Some(token)) => state.rooms.directory.participant(app.id(), token).await?.into(),
            (SingleHeader::Absent, None) => PresentedParticipant::Nothing,
            (_, None) => PresentedParticipant::Unknown,
        };
        Ok(Self {
            by_cookie: cookie.is_some(),
            ..Self::by_no_cookie(app, presented, context, state)
        })
    }

    /// Looks at a request for a file of the app `slug`, whose address has this pass.
    ///
    /// # Errors
    /// `app_not_found`, `unavailable`.
    pub async fn with_pass(
        slug: &str,
        context: &RequestContext,
        pass: &FilesPass,
        state: &AppState,
    ) -> Result<Self> {
        let app = found(slug, state).await?;
        let found = state.rooms.directory.participant_by_pass(app.id(), pass.expose()).await?;
        Ok(Self::by_no_cookie(app, found.into(), context, state))
    }

    fn by_no_cookie(
        app: AppHandle,
        presented: PresentedParticipant,
        context: &RequestContext,
        state: &AppState,
    ) -> Self {
        let network = state.rooms.key.network(context.address);
        Self { app, presented, by_cookie: false, domain: context.domain.clone(), network }
    }

    /// The participant, if its token is good.
    #[must_use]
    pub const fn participant(&self) -> Option<&Arc<Participant>> {
        match &self.presented {
            PresentedParticipant::Participant(participant) => Some(participant),
            PresentedParticipant::Nothing | PresentedParticipant::Unknown => None,
        }
    }

    /// The caller behind the token; `None` without one.
    ///
    /// # Errors
    /// `participant_token_invalid`, when one was presented that is not good.
    pub fn caller(&self) -> Result<Option<Caller>> {
        match &self.presented {
            PresentedParticipant::Nothing => Ok(None),
            PresentedParticipant::Unknown => Err(token_invalid()),
            PresentedParticipant::Participant(participant) => Ok(Some(self.caller_of(participant))),
        }
    }

    /// The caller that a participant is.
    #[must_use]
    pub fn caller_of(&self, participant: &Participant) -> Caller {
        let id = participant.id;
        match participant.came_by {
            CameBy::Human { human, share } => {
                Caller::Human { human, share, network: Some(self.network) }
            }
            CameBy::Grant(grant) => Caller::Grant { participant: id, grant, network: self.network },
            CameBy::Preview(preview) => Caller::Preview { participant: id, preview },
            CameBy::Anonymous | CameBy::Share(_) => self.anonymous(id, participant.came_by.share()),
        }
    }

    const fn anonymous(&self, participant: ParticipantId, share: Option<HashHalf>) -> Caller {
        Caller::Anonymous { participant, network: self.network, share }
    }

    /// Somebody without a token: no row can be theirs.
    #[must_use]
    pub const fn nobody(&self) -> Caller {
        self.anonymous(ParticipantId::from_uuid(Uuid::nil()), None)
    }

    /// What `caller` is in the app, if it is open to them at all.
    ///
    /// # Errors
    /// `participant_token_invalid` for a visit whose link has ended; `unauthorized` for any other
    /// outsider.
    pub async fn admit(&self, caller: &Caller) -> Result<Standing> {
        let standing = self.app.standing(caller).await;
        standing.map_err(|refusal| match (refusal.code, self.participant()) {
            (ErrorCode::Unauthorized, Some(visitor)) if is_by_former_link(&self.app, visitor) => {
                Error::link_ended()
            }
            _ => refusal,
        })
    }

    /// Checks that the app is in a state in which it lets visitors in.
    ///
    /// # Errors
    /// `soft_deleted`, `app_closed`.
    pub fn check_live(&self) -> Result<()> {
        self.app.record().status.check_live()
    }

    /// The same for a request by `method` of somebody of this `tier`: the owner may still read a closed
    /// app.
    fn check_state(&self, tier: Tier, method: &Method) -> Result<()> {
        if tier == Tier::Owner && method.is_safe() {
            return self.app.record().status.check_readable(true, false);
        }
        self.check_live()
    }

    /// The origin that the request came to: the custom domain that serves the app, or its own name.
    #[must_use]
    pub fn origin(&self, state: &AppState) -> String {
        match &self.domain {
            Some(domain) => state.origins.domain_origin(domain),
            None => state.origins.app_origin(&self.app.record().slug),
        }
    }

    /// Refuses a request that changes something unless the app's own page sent it. A browser sends
    /// a cookie by itself, and never a header.
    fn check_csrf(&self, parts: &Parts, state: &AppState) -> Result<()> {
        if !self.by_cookie {
            return Ok(());
        }
        csrf::check(&parts.method, &parts.headers, &self.origin(state))
    }

    async fn of_parts(parts: &Parts, sender: Sender, state: &AppState) -> Result<Self> {
        let context = parts.extensions.get::<RequestContext>();
        let context = context.ok_or_else(Error::internal)?;
        if sender == Sender::Page {
            super::refuse_bearer(&parts.headers, "visitors of an app", state).await?;
        }
        let slug = context.app.as_deref().ok_or_else(Error::app_not_found)?;
        Self::of(slug, context, &parts.headers, sender, state).await
    }
}

/// The app `slug`, which the request counts for from here on.
async fn found(slug: &str, state: &AppState) -> Result<AppHandle> {
    let app = state.rooms.apps().find(slug).await?;
    metering::credit(&app);
    Ok(app)
}

/// What a token that is unknown, malformed or ended is answered.
pub(crate) fn token_invalid() -> Error {
    let message = "the participant token is unknown, malformed or ended";
    Error::new(ErrorCode::ParticipantTokenInvalid, message)
}

impl FromRequestParts<AppState> for Arriving {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let arriving = Self::of_parts(parts, Sender::Page, state).await?;
        let names_origin = parts.headers.contains_key(header::ORIGIN);
        if parts.method == Method::POST && names_origin && !state.origins.is_path_mode() {
            // Without a cookie too: another site must not choose who its visitor is here.
            csrf::require_from(&parts.headers, &arriving.origin(state))?;
        } else {
            arriving.check_csrf(parts, state)?;
        }
        RequestContext::check_stray(parts)?;
        Ok(arriving)
    }
}

impl FromRequestParts<AppState> for Following {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let arriving = Arriving::of_parts(parts, Sender::Browser, state).await?;
        arriving.check_csrf(parts, state)?;
        Ok(Self(arriving))
    }
}

impl FromRequestParts<AppState> for AnyVisitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let arriving = Arriving::of_parts(parts, Sender::Page, state).await?;
        let caller = arriving.caller()?;
        arriving.check_csrf(parts, state)?;
        let caller = caller.unwrap_or_else(|| arriving.nobody());
        let tier = arriving.admit(&caller).await?.tier;
        arriving.check_state(tier, &parts.method)?;
        RequestContext::check_stray(parts)?;
        recheck::note::<Self>(parts);
        let participant = arriving.participant().cloned();
        Ok(Self { by_cookie: arriving.by_cookie, app: arriving.app, caller, participant })
    }
}

impl FromRequestParts<AppState> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let arriving = Arriving::of_parts(parts, Sender::Page, state).await?;
        arriving.caller()?;
        let participant = arriving.participant().cloned().ok_or_else(|| {
            let message = "this needs a participant: POST /s/session makes one";
            Error::new(ErrorCode::Unauthorized, message)
        })?;
        arriving.check_csrf(parts, state)?;
        let caller = arriving.caller_of(&participant);
        let tier = arriving.admit(&caller).await?.tier;
        arriving.check_state(tier, &parts.method)?;
        RequestContext::check_stray(parts)?;
        if !state.rooms.directory.hold_visitor(&participant).await? {
            return Err(token_invalid().into());
        }
        recheck::note::<Self>(parts);
        Ok(Self { app: arriving.app, caller, participant })
    }
}

const CODES: &[ErrorCode] = &[
    ErrorCode::ParticipantTokenInvalid,
    ErrorCode::Unauthorized,
    ErrorCode::Forbidden,
    ErrorCode::CsrfOriginMismatch,
    ErrorCode::AppNotFound,
    ErrorCode::SoftDeleted,
    ErrorCode::AppClosed,
];

impl Permission for Visitor {
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const WHO: &'static str = "A participant of the app, as far as its visibility lets them in.";
    const CODES: &'static [ErrorCode] = CODES;
}

impl Permission for AnyVisitor {
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const OPTIONAL: bool = true;
    const WHO: &'static str =
        "A participant of the app, as far as its visibility lets them in; in a public app anybody.";
    const CODES: &'static [ErrorCode] = CODES;
}

impl Permission for Arriving {
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const OPTIONAL: bool = true;
    const WHO: &'static str = "Anybody; a participant's token changes the answer.";
    const CODES: &'static [ErrorCode] = CODES;
}

/// Whether a visitor whom the app refuses came by its share link: that is another one by now.
pub(crate) fn is_by_former_link(app: &AppHandle, visitor: &Participant) -> bool {
    matches!(visitor.came_by, CameBy::Share(_)) && app.record().visibility == Visibility::Link
}

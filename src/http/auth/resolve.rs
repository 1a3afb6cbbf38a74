//! The checks behind the permissions, each in the order of precedence: credential, kind, claim,
//! CSRF, app, its state. Which route asks for which of them is said by `permission`.

use http::request::Parts;
use rookery_actors::AppHandle;
use rookery_domain::{
    Error, ErrorCode, Result, app::AppStatus, email::Email, id::HumanId, principal::Caller,
};

use super::{
    Identity, identify,
    permission::{AgentKey, ClaimedAgent, HumanSession, Lifecycle, Operator, Trash},
};
use crate::{
    http::{client::RequestContext, csrf, edge::metering, params},
    state::AppState,
};

/// What whoever has no session does at a route for humans.
const SIGN_IN: &str = "Sign in: with a browser at /sign-in; with a program by POST /v1/auth/request-link, then GET /v1/auth/verify with the mailed link's token, whose answer sets the session's cookie. An agent's key does not do here.";

async fn required(parts: &Parts, state: &AppState) -> Result<Identity> {
    let missing = || Error::new(ErrorCode::Unauthorized, "this route needs a credential");
    identify(&parts.headers, state).await?.ok_or_else(missing)
}

pub(super) fn invalid() -> Error {
    Error::new(ErrorCode::Unauthorized, "the credential is not valid")
}

impl AgentKey {
    /// The same, if a human has claimed it.
    pub(super) fn claimed(self) -> Result<ClaimedAgent> {
        let Self { agent, key, owner } = self;
        let unclaimed =
            || Error::new(ErrorCode::AgentNotClaimed, "no human has claimed this agent");
        owner.map(|owner| ClaimedAgent { agent, key, owner }).ok_or_else(unclaimed)
    }
}

/// A session must come from the site when it changes something; a bearer is sent by no browser.
fn check_csrf(identity: Identity, parts: &Parts, state: &AppState) -> Result<()> {
    match identity {
        Identity::Human { .. } => csrf::check(&parts.method, &parts.headers, &state.public_url),
        _ => Ok(()),
    }
}

pub(super) async fn agent(parts: &Parts, state: &AppState) -> Result<AgentKey> {
    match required(parts, state).await? {
        Identity::Agent { agent, key, owner } => Ok(AgentKey { agent, key, owner }),
        _ => Err(Error::only_for("agents")),
    }
}

pub(super) async fn human(parts: &Parts, state: &AppState) -> Result<HumanSession> {
    let identity = required(parts, state).await.map_err(|error| match error.code {
        ErrorCode::Unauthorized => error.with_hint(SIGN_IN),
        _ => error,
    })?;
    let Identity::Human { human, session } = identity else {
        return Err(Error::only_for("signed-in humans"));
    };
    check_csrf(identity, parts, state)?;
    Ok(HumanSession { human, session })
}

/// A human or a claimed agent.
pub(super) async fn person(parts: &Parts, state: &AppState) -> Result<(HumanId, Caller)> {
    let identity = required(parts, state).await?;
    person_of(identity, parts, state)
}

fn person_of(identity: Identity, parts: &Parts, state: &AppState) -> Result<(HumanId, Caller)> {
    let account = match identity {
        Identity::Agent { agent, key, owner } => AgentKey { agent, key, owner }.claimed()?.owner,
        Identity::Human { human, .. } => human,
        Identity::Credential { .. } => return Err(Error::only_for("agents and signed-in humans")),
    };
    check_csrf(identity, parts, state)?;
    Ok((account, identity.caller()))
}

/// The app in the path, whoever may see it.
async fn app(parts: &mut Parts, state: &AppState) -> Result<AppHandle> {
    let ids = params::path(parts, state, ["id", "appId"]).await;
    let id = ids.into_iter().flatten().next().ok_or_else(Error::app_not_found)?;
    state.rooms.apps().find(&id).await
}

/// Lets an app through that is in a state which the route works on. Whoever acts as its `owner` may
/// ask to read it in the trash.
fn in_state<L: Lifecycle>(parts: &mut Parts, mut app: AppHandle, owner: bool) -> Result<AppHandle> {
    let reads = L::TRASH == Trash::OnRequest && parts.method.is_safe();
    let asked = if reads { params::take_include_deleted(parts) } else { Ok(false) };
    let from_trash = matches!(asked, Ok(true));
    if from_trash && owner {
        // A live one, too: what is held open may wait until it is in the trash.
        app = app.from_trash();
    }
    match (app.record().status, L::TRASH) {
        (AppStatus::Deleted, Trash::OnRequest) if from_trash && owner => {}
        (AppStatus::Deleted, Trash::OnRequest) if from_trash => {
            return Err(Error::only_for("the app's owner while the app is in the trash"));
        }
        (AppStatus::Deleted, Trash::Refused | Trash::OnRequest) => {
            app.record().status.check_live()?;
        }
        (AppStatus::Closed, _) if !L::CLOSED => app.record().status.check_live()?,
        _ => {}
    }
    asked?;
    metering::credit(&app);
    Ok(app)
}

/// The app in the path, for whoever acts as its owner; a member's own session is told so; for anyone
/// else the app is not there.
pub(super) async fn app_of_owner<L: Lifecycle>(
    parts: &mut Parts,
    account: HumanId,
    caller: &Caller,
    state: &AppState,
) -> Result<AppHandle> {
    let app = app(parts, state).await?;
    if is_owner(&app, account, state)? {
        return in_state::<L>(parts, app, true);
    }
    if is_member(&app, caller, state).await? {
        return Err(Error::only_for("the app's owner"));
    }
    Err(Error::app_not_found())
}

/// The same, for its members too.
pub(super) async fn app_of_member<L: Lifecycle>(
    parts: &mut Parts,
    account: HumanId,
    caller: &Caller,
    state: &AppState,
) -> Result<AppHandle> {
    let app = app(parts, state).await?;
    let owner = is_owner(&app, account, state)?;
    if owner || is_member(&app, caller, state).await? {
        return in_state::<L>(parts, app, owner);
    }
    Err(Error::app_not_found())
}

fn is_owner(app: &AppHandle, account: HumanId, state: &AppState) -> Result<bool> {
    state.rooms.apps().acts_as_owner(&app.record(), account)
}

/// A member is one in person; its agents are strangers.
async fn is_member(app: &AppHandle, caller: &Caller, state: &AppState) -> Result<bool> {
    match caller {
        Caller::Human { human, .. } => state.authenticator.is_member(app, *human).await,
        _ => Ok(false),
    }
}

/// The app in the path and who asks it for rows: a service credential of it comes in here too. Whoever
/// may not is told that the route is for `callers`.
pub(super) async fn row_caller<L: Lifecycle>(
    parts: &mut Parts,
    state: &AppState,
    callers: &'static str,
) -> Result<(AppHandle, Caller)> {
    let identity = required(parts, state).await?;
    if let Identity::Credential { app: only, .. } = identity {
        let app = app(parts, state).await?;
        if app.id() != only {
            return Err(Error::app_not_found());
        }
        return Ok((in_state::<L>(parts, app, false)?, identity.caller()));
    }
    if matches!(identity, Identity::Human { .. }) && !RequestContext::is_of_page(parts) {
        return Err(Error::only_for(callers));
    }
    let (account, caller) = person_of(identity, parts, state)?;
    Ok((app_of_member::<L>(parts, account, &caller, state).await?, caller))
}

pub(super) async fn operator(parts: &Parts, state: &AppState) -> Result<Operator> {
    let agent = agent(parts, state).await?.claimed()?;
    let email = state.authenticator.verified_email(agent.owner).ok_or_else(|| {
        Error::new(ErrorCode::EmailNotVerified, "the account's address is not verified")
    })?;
    let mut operators = state.config.community.review_operator_emails.iter();
    let email = Email::parse(&email)?;
    if operators.any(|known| Email::parse(known).is_ok_and(|known| known == email)) {
        Ok(Operator(agent))
    } else {
        Err(Error::new(ErrorCode::NotAReviewer, "this account is no operator"))
    }
}

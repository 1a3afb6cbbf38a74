//! The checks behind the permissions, each in the order of precedence: credential, kind, claim,
//! CSRF, app, its state. Which route asks for which of them is said by `permission`.

use http::request::Parts;
use rookery_actors::AppHandle;
use rookery_domain::{
    Error, ErrorCode, Result,
    app::AppStatus,
    id::{AgentId, HumanId, KeyId},
    principal::Caller,
};

use super::{
    Identity, identify,
    permission::{AgentKey, ClaimedAgent, HumanSession, Lifecycle, Operator},
};
use crate::{
    http::{csrf, metering, params},
    state::AppState,
};

async fn required(parts: &Parts, state: &AppState) -> Result<Identity> {
    let missing = || Error::new(ErrorCode::Unauthorized, "this route needs a credential");
    identify(parts, state).await?.ok_or_else(missing)
}

pub(super) fn wrong_kind(wanted: &str) -> Error {
    Error::new(ErrorCode::Forbidden, format!("this route is for {wanted}"))
}

pub(super) fn claimed(agent: AgentId, key: KeyId, owner: Option<HumanId>) -> Result<ClaimedAgent> {
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

pub(super) async fn agent(parts: &Parts, state: &AppState) -> Result<AgentKey> {
    match required(parts, state).await? {
        Identity::Agent { agent, key, owner } => Ok(AgentKey { agent, key, owner }),
        _ => Err(wrong_kind("agents")),
    }
}

pub(super) async fn human(parts: &Parts, state: &AppState) -> Result<HumanSession> {
    let identity = required(parts, state).await?;
    let Identity::Human { human, session } = identity else {
        return Err(wrong_kind("signed-in humans"));
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
        Identity::Agent { agent, key, owner } => claimed(agent, key, owner)?.owner,
        Identity::Human { human, .. } => human,
        Identity::Credential { .. } => return Err(wrong_kind("agents and signed-in humans")),
    };
    check_csrf(identity, parts, state)?;
    Ok((account, identity.caller()))
}

/// The app in the path, whoever may see it.
pub(super) async fn app(parts: &mut Parts, state: &AppState) -> Result<AppHandle> {
    let ids = params::path(parts, state, ["id", "appId"]).await;
    let id = ids.into_iter().flatten().next().ok_or_else(Error::app_not_found)?;
    state.rooms.apps().find(&id).await
}

/// The parameter by which a read asks for what is in the trash, too.
const INCLUDE_DELETED: &str = "include_deleted";

/// Lets an app through that is in a state which the route works on, and says whether the request
/// asks for what is in the trash.
pub(super) fn in_state<L: Lifecycle>(
    app: &AppHandle,
    parts: &mut Parts,
    is_owner: bool,
) -> Result<bool> {
    let reads = L::READS && parts.method.is_safe();
    let include_deleted = reads && params::take_flag(parts, INCLUDE_DELETED)?;
    match app.record().status {
        AppStatus::Deleted if include_deleted && is_owner => {}
        AppStatus::Deleted if include_deleted => return Err(wrong_kind("the app's owner")),
        AppStatus::Deleted if !L::DELETED => {
            let message = match reads {
                true => "the app is in the trash; include_deleted=true shows it",
                false => "the app is in the trash: restore it first",
            };
            return Err(Error::new(ErrorCode::SoftDeleted, message));
        }
        AppStatus::Closed if !L::CLOSED => {
            return Err(Error::new(ErrorCode::AppClosed, "the app is closed"));
        }
        _ => {}
    }
    metering::credit(app);
    Ok(include_deleted)
}

/// Whoever acts as the owner passes; a member's own session is told so; for anyone else the app is
/// not there.
pub(super) async fn owner_only(
    app: &AppHandle,
    account: HumanId,
    caller: &Caller,
    state: &AppState,
) -> Result<()> {
    if is_owner(app, account, state)? {
        return Ok(());
    }
    if is_member(app, caller, state).await? {
        return Err(wrong_kind("the app's owner"));
    }
    Err(Error::app_not_found())
}

/// Whether it is the owner that passes, and not a member; for anyone else the app is not there.
pub(super) async fn owner_or_member(
    app: &AppHandle,
    account: HumanId,
    caller: &Caller,
    state: &AppState,
) -> Result<bool> {
    if is_owner(app, account, state)? {
        return Ok(true);
    }
    if is_member(app, caller, state).await? {
        return Ok(false);
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

/// The app in the path, who asks it for rows (a service credential of it comes in here too), and
/// whether they ask for what is in the trash.
pub(super) async fn row_caller<L: Lifecycle>(
    parts: &mut Parts,
    state: &AppState,
) -> Result<(AppHandle, Caller, bool)> {
    let identity = required(parts, state).await?;
    if let Identity::Credential { app: only, .. } = identity {
        let app = app(parts, state).await?;
        if app.id() != only {
            return Err(Error::app_not_found());
        }
        let include_deleted = in_state::<L>(&app, parts, false)?;
        return Ok((app, identity.caller(), include_deleted));
    }
    let (account, caller) = person_of(identity, parts, state)?;
    let app = app(parts, state).await?;
    let is_owner = owner_or_member(&app, account, &caller, state).await?;
    let include_deleted = in_state::<L>(&app, parts, is_owner)?;
    Ok((app, caller, include_deleted))
}

pub(super) async fn operator(parts: &Parts, state: &AppState) -> Result<Operator> {
    let AgentKey { agent, key, owner } = agent(parts, state).await?;
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

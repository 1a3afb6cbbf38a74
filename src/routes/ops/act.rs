//! `POST /ops/api/apps/:id/...`: what an operator may do to an app, and what was done.

use std::str::FromStr;

use axum::{Json, extract::State};
use rookery_actors::{AppHandle, task::to_the_end};
use rookery_domain::{Error, ErrorCode, Result, operator};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    app::{AppLine, find},
    operator::{ActingOperator, Operator},
};
use crate::{
    error::ApiResult,
    http::{
        body::{BodyBound, RequestBody, StrictJson},
        params::Path,
    },
    ops::audit,
    state::AppState,
};

/// Errors of an action.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::AppNotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];
/// Errors of the list.
pub const LIST_ERRORS: &[ErrorCode] = &[];

/// What an operator may do to an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Bring it up.
    Wake,
    /// Put it to rest, if nothing is pending.
    Hibernate,
    /// Let it finish what is begun, and start it again.
    Restart,
    /// Let it start again after crashes.
    LiftQuarantine,
    /// End its actor at once.
    Kill,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 5] =
        [Self::Wake, Self::Hibernate, Self::Restart, Self::LiftQuarantine, Self::Kill];

    /// Its name, as in the path.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wake => "wake",
            Self::Hibernate => "hibernate",
            Self::Restart => "restart",
            Self::LiftQuarantine => "lift-quarantine",
            Self::Kill => "kill",
        }
    }
}

impl FromStr for Action {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|action| action.as_str() == name);
        known.ok_or_else(|| {
            Error::new(
                ErrorCode::NotFound,
                "no such action: wake, hibernate, restart, lift-quarantine or kill",
            )
        })
    }
}

/// Why.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// Why it is done, 1 to 500 characters; it is written down.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
}

impl RequestBody for Why {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Does it. What was asked is written down with its outcome, also when it failed.
#[utoipa::path(
    post, path = "/ops/api/apps/{id}/actions/{action}", tag = "Operators", request_body = Why,
    params(
        ("action" = String, Path, pattern = "^(wake|hibernate|restart|lift-quarantine|kill)$",
         description = "`wake`, `hibernate`, `restart`, `lift-quarantine` or `kill`"),
    ),
    responses((status = 200, description = "It is done; the app afterwards", body = AppLine)),
)]
pub async fn act(
    _: ActingOperator,
    State(state): State<AppState>,
    Path((id, action)): Path<(String, String)>,
    StrictJson(why): StrictJson<Why>,
) -> ApiResult<Json<AppLine>> {
    run(&state, &id, action.parse()?, &why.reason).await.map(Json)
}

/// Does it to the app of this id or slug, and writes it down.
///
/// # Errors
/// `invalid_request`, `app_not_found`, `conflict`, `unavailable`, `internal`.
pub(super) async fn run(
    state: &AppState,
    id: &str,
    action: Action,
    reason: &str,
) -> ApiResult<AppLine> {
    let reason = operator::reason(reason)?.to_owned();
    let (app, state) = (find(state, id).await?, state.clone());
    let line = to_the_end(async move {
        let done = perform(&app, action).await;
        let (now, name) = (state.clock.now(), action.as_str());
        state.ops.audit.record(audit::Action::ended(now, name, app.id(), reason, &done));
        done.map(|()| AppLine::of(&app))
    })
    .await?;
    Ok(line)
}

async fn perform(app: &AppHandle, action: Action) -> Result<()> {
    match action {
        Action::Wake => app.wake().await.map(drop),
        Action::Hibernate => app.hibernate().await,
        Action::Restart => app.restart().await,
        Action::Kill => app.kill().await,
        Action::LiftQuarantine if app.lift_quarantine() => Ok(()),
        Action::LiftQuarantine => {
            Err(Error::new(ErrorCode::Conflict, "the app is neither quarantined nor waiting"))
        }
    }
}

/// What operators did of late.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Actions {
    /// Whether actions are switched on (`ops.actions`).
    pub enabled: bool,
    /// Newest first, at most 200.
    pub items: Vec<ActionLine>,
}

/// One action.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ActionLine {
    /// When it ended, RFC 3339.
    pub at: String,
    /// What was done.
    pub action: String,
    /// To which app.
    pub app: String,
    /// Why.
    pub reason: String,
    /// `done`, or the code of the error that it ended with.
    pub outcome: String,
}

/// What operators did since the process started, and whether they may. The log has all of it.
#[utoipa::path(
    get, path = "/ops/api/actions", tag = "Operators",
    responses((status = 200, description = "The last actions", body = Actions)),
)]
pub async fn actions(_: Operator, State(state): State<AppState>) -> ApiResult<Json<Actions>> {
    let line = |action: audit::Action| ActionLine {
        at: action.at.to_string(),
        action: action.action.to_owned(),
        app: action.app.to_string(),
        reason: action.reason,
        outcome: action.outcome.to_owned(),
    };
    let items = state.ops.audit.last().into_iter().map(line).collect();
    Ok(Json(Actions { enabled: state.config.ops.actions, items }))
}

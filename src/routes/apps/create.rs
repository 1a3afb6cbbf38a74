//! `POST /v1/apps`: makes an app and deploys its first version.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_actors::control::{
    AppDetail, CreateApp, Created as Made, IdempotentCreate, RenderCreated,
};
use rookery_domain::{
    Error, ErrorCode, Principal, PrincipalKind,
    idempotency::{Idempotent, IdempotentRequest, StoredResponse},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    bundle::{Deploy, DeployBody, DeployForm, DeployQuery, deploy_errors},
    record::{self, AppRecordBody, OwnerBody, WarningBody},
    rehearsal::Rehearsal,
};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::ClaimedAgent,
        idempotency::{IdempotencyKey, replay},
        reply::{Created, to_json},
    },
    openapi::shapes::FileBytes,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = deploy_errors![
    Conflict SlugTaken SlugNotAllowedForLink CollectionNotFound InputSchemaViolation
    UniqueConflict NotFound AppQuotaExceeded AccountQuotaExceeded
];

/// A new app, and what its deploy has to say.
#[derive(Clone, Serialize, ToSchema)]
pub struct CreatedApp {
    /// The app.
    #[serde(flatten)]
    pub app: AppRecordBody,
    /// What was accepted and may not do what was meant: rules that do not run yet, keywords that JSON
    /// Schema does not know, a schema that no row fits, so many origins that proxies may refuse the head.
    pub warnings: Vec<WarningBody>,
}

/// Creates an app and deploys its first version.
///
/// The body is JSON, `multipart/form-data` with the same names as parts and a part `assets` for each
/// file, whose filename is its path, or a zip of a folder with `index.html`, `manifest.json` and
/// assets. The manifest may instead sit in the document, in a script element with
/// `type="application/json"` and `id="x-service-manifest"`; in two places at once it is
/// `invalid_request`. `dry_run=true` runs every check, answers what would happen, and changes
/// nothing.
#[utoipa::path(
    post, path = "/v1/apps", tag = "Apps", params(DeployQuery, IdempotencyKey),
    request_body(content(
        (DeployBody = "application/json"),
        (DeployForm = "multipart/form-data"),
        (inline(FileBytes) = "application/zip"),
    )),
    responses(
        (status = 201, description = "The app", body = CreatedApp),
        (status = 200, description = "With `dry_run`: what would happen", body = Rehearsal),
    ),
)]
pub async fn create(
    caller: ClaimedAgent,
    State(state): State<AppState>,
    key: IdempotencyKey,
    deploy: Deploy,
) -> ApiResult<Response> {
    if deploy.force.is_some() {
        return Err(Error::invalid("`force`: a new app has nothing to be forced over").into());
    }
    let principal = Principal::new(PrincipalKind::Agent, caller.agent.uuid());
    let owner = record::owner(&state, caller.owner)?;
    let dry_run = deploy.dry_run;
    let idempotency = |key: String| IdempotentCreate {
        request: IdempotentRequest::new(principal, &["POST /v1/apps", &key], deploy.hash()),
        render: kept(&state, &owner),
    };
    // A dry run makes nothing, so there is nothing to make only once.
    let idempotency = key.0.filter(|_| !dry_run).map(idempotency);
    let request = CreateApp {
        owner: caller.owner,
        org: deploy.org,
        agent: Some(caller.agent),
        by: principal,
        bundle: deploy.bundle,
        slug: deploy.slug,
        input_data: deploy.input_data.unwrap_or_default(),
        dry_run,
        idempotency,
    };
    let made = match state.rooms.control().create(request).await? {
        Idempotent::Fresh(made) => made,
        Idempotent::Replayed(kept) => return Ok(replay(kept)),
    };
    if dry_run {
        return Ok(Json(Rehearsal::of_create(made)).into_response());
    }
    let location = location(&made);
    let warnings = record::warnings(made.warnings.clone());
    let app = AppRecordBody::new(&state, AppDetail::of_created(&made), owner);
    Ok(Created { location, record: CreatedApp { app, warnings } }.into_response())
}

fn location(made: &Made) -> String {
    format!("/v1/apps/{}", made.record.id)
}

/// The answer as it is kept: the same, without secrets.
fn kept(state: &AppState, owner: &OwnerBody) -> Box<RenderCreated> {
    let (state, owner): (AppState, Arc<OwnerBody>) = (state.clone(), Arc::new(owner.clone()));
    Box::new(move |made| {
        let detail = AppDetail::of_created(made);
        let app = AppRecordBody::without_secrets(&state, detail, OwnerBody::clone(&owner));
        let body = CreatedApp { app, warnings: record::warnings(made.warnings.clone()) };
        StoredResponse { status: 201, location: Some(location(made)), body: to_json(&body) }
    })
}

//! `POST /v1/apps`: makes an app and deploys its first version.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_actors::control::{AppDetail, CreateApp, Created as Made, IdempotentCreate};
use rookery_domain::{Error, ErrorCode, Principal};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    bundle::{Deploy, DeployBody, DeployForm, DeployQuery, deploy_errors},
    record::{self, AppRecordBody, WarningBody},
    rehearsal::Rehearsal,
};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::ClaimedAgent,
        idempotency::{IdempotencyKey, ShownOnce, answer_once},
        reply::Created,
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

impl ShownOnce for CreatedApp {
    fn without_secrets(self) -> Self {
        Self { app: self.app.without_secrets(), ..self }
    }
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
    let principal = Principal::agent(caller.agent);
    let owner = record::owner(&state, caller.owner)?;
    let dry_run = deploy.dry_run;
    let request = key.request_hashed(principal, &["POST /v1/apps"], || deploy.hash());
    let new = CreateApp {
        owner: caller.owner,
        org: deploy.org,
        agent: Some(caller.agent),
        by: principal,
        bundle: deploy.bundle,
        slug: deploy.slug,
        input_data: deploy.input_data.unwrap_or_default(),
        dry_run,
        idempotency: None,
    };
    let control = state.rooms.control().clone();
    if dry_run {
        // It makes nothing, so there is nothing to make only once.
        let made = control.create(new).await?.fresh().ok_or_else(Error::internal)?;
        return Ok(Json(Rehearsal::of_create(made)).into_response());
    }
    let shown = move |made: &Made| Created {
        location: format!("/v1/apps/{}", made.record.id),
        record: CreatedApp {
            app: AppRecordBody::new(&state, AppDetail::of_created(made), owner.clone()),
            warnings: record::warnings(made.warnings.clone()),
        },
    };
    let ask = |render| {
        let idempotency = request.map(|request| IdempotentCreate { request, render });
        control.create(CreateApp { idempotency, ..new })
    };
    answer_once(shown, ask).await
}

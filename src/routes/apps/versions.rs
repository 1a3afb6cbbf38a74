//! `POST /v1/apps/:id/versions`: deploys a new version over an app.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_actors::{
    app::deploy::DeployReport,
    control::{Deployed, Redeploy},
};
use rookery_domain::{Error, ErrorCode, compat::Break};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    bundle::{Deploy, RedeployBody, RedeployForm, RedeployQuery, deploy_errors},
    record::{self, AppRecordBody, WarningBody},
    rehearsal::Rehearsal,
};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::OwnerAgent,
        idempotency::{IdempotencyKey, ShownOnce, answer_once},
        reply::Created,
    },
    openapi::shapes::{BreakRecord, FileBytes},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    deploy_errors![Conflict ManifestIncompatibleRedeploy UniqueBackfillConflict];

/// An app after a redeploy, and what the deploy has to say.
#[derive(Clone, Serialize, ToSchema)]
pub struct DeployedVersion {
    /// The app.
    #[serde(flatten)]
    pub app: AppRecordBody,
    /// What was accepted and may not do what was meant: rules that do not run yet, keywords that JSON
    /// Schema does not know, a schema that no row fits, a visibility that the manifest
    /// changes, files that a new list of assets lacks, rows that stay detached.
    pub warnings: Vec<WarningBody>,
    /// What it broke, having been forced.
    #[schema(value_type = Vec<BreakRecord>)]
    pub breaks: Vec<Break>,
    /// Rows that are not served any more (kept, and counted).
    pub rows_detached: u64,
    /// Rows that are served again.
    pub rows_reattached: u64,
}

impl DeployedVersion {
    fn new(app: AppRecordBody, report: DeployReport) -> Self {
        Self {
            app,
            warnings: record::warnings(report.warnings),
            breaks: report.breaks,
            rows_detached: report.detached,
            rows_reattached: report.reattached,
        }
    }
}

impl ShownOnce for DeployedVersion {
    fn without_secrets(self) -> Self {
        Self { app: self.app.without_secrets(), ..self }
    }
}

/// Deploys a new version.
///
/// A manifest or assets that the body leaves out carry over, and so does the visibility, unless the
/// manifest names one. A list of assets replaces the whole list, and a zip is a whole folder: files that
/// it lacks are gone, and `warnings` says so. What would strand rows or widen disclosure
/// is `manifest_incompatible_redeploy` with `details.breaks`; `force` goes on all the same, and
/// then rows without a place are detached, never deleted. `dry_run=true` runs every check, answers
/// what would happen, and changes nothing.
#[utoipa::path(
    post, path = "/v1/apps/{id}/versions", tag = "Apps",
    params(RedeployQuery, IdempotencyKey),
    request_body(content(
        (RedeployBody = "application/json"),
        (RedeployForm = "multipart/form-data"),
        (inline(FileBytes) = "application/zip"),
    )),
    responses(
        (status = 201, description = "The app after it", body = DeployedVersion),
        (status = 200, description = "With `dry_run`: what would happen", body = Rehearsal),
    ),
)]
pub async fn deploy(
    owner: OwnerAgent,
    State(state): State<AppState>,
    key: IdempotencyKey,
    deploy: Deploy,
) -> ApiResult<Response> {
    for (member, given) in [
        ("slug", deploy.slug.is_some()),
        ("input_data", deploy.input_data.is_some()),
        ("org_id", deploy.org.is_some()),
    ] {
        if given {
            return Err(Error::invalid(format!("`{member}`: only a new app takes it")).into());
        }
    }
    let OwnerAgent { app, caller, .. } = owner;
    let named = record::owner(&state, app.record().owner)?;
    let dry_run = deploy.dry_run;
    let what = ["POST /v1/apps/{id}/versions", &app.id().to_string()];
    let request = key.request_hashed(caller.principal(), &what, || deploy.hash());
    let force = deploy.force.unwrap_or_default();
    let new = Redeploy {
        caller,
        bundle: deploy.bundle,
        expected: None,
        force,
        dry_run,
        idempotency: None,
    };
    let control = state.rooms.control().clone();
    if dry_run {
        // It makes nothing, so there is nothing to make only once.
        let deployed = control.deploy(&app, new).await?.fresh().ok_or_else(Error::internal)?;
        return Ok(Json(Rehearsal::of_version(deployed)).into_response());
    }
    let shown = move |deployed: &Deployed| {
        let location = format!("/v1/apps/{}", deployed.detail.record.id);
        let app = AppRecordBody::new(&state, deployed.detail.clone(), named.clone());
        Created { location, record: DeployedVersion::new(app, deployed.report.clone()) }
    };
    let ask = |kept| {
        let idempotency = request.map(|request| Deployed::once(request, kept));
        control.deploy(&app, Redeploy { idempotency, ..new })
    };
    answer_once(shown, ask).await
}

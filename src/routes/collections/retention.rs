//! `GET` and `PATCH /v1/apps/:id/collections/:name/retention`: how long rows are kept, and how
//! many.

use axum::Json;
use rookery_actors::app::bounds::RetentionState;
use rookery_domain::{
    ErrorCode, Timestamp,
    field_patch::FieldPatch,
    manifest::Retention,
    retention::{MAX_AGE_DAYS_MAX, MAX_ROWS_MAX, RetentionPatch},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::parameters::{CollectionPath, DryRunParams};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        body::{BodyBound, RequestBody, StrictJson, strict::whole},
        params::StrictQuery,
    },
};

/// What these routes themselves may answer.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::CollectionNotFound, ErrorCode::PayloadTooLarge];

/// What changes, per axis: an absent one stays, null clears the owner's override.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionBody {
    /// Rows older than this many days are pruned, 1 to 36500.
    #[serde(default, deserialize_with = "whole::<1, { MAX_AGE_DAYS_MAX as i64 }, _, _>")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 36_500)]
    max_age_days: FieldPatch<u32>,
    /// The oldest rows beyond this number are pruned, 1 to 1000000000.
    #[serde(default, deserialize_with = "whole::<1, { MAX_ROWS_MAX.cast_signed() }, _, _>")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000_u64)]
    max_rows: FieldPatch<u64>,
}

impl From<RetentionBody> for RetentionPatch {
    fn from(RetentionBody { max_age_days, max_rows }: RetentionBody) -> Self {
        Self { max_age_days, max_rows }
    }
}

impl RequestBody for RetentionBody {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Bounds; null where there is none.
#[derive(Debug, Serialize, ToSchema)]
pub struct Bounds {
    /// Rows older than this many days are pruned.
    max_age_days: Option<u32>,
    /// The oldest rows beyond this number are pruned.
    max_rows: Option<u64>,
}

impl From<Retention> for Bounds {
    fn from(Retention { max_age_days, max_rows }: Retention) -> Self {
        Self { max_age_days, max_rows }
    }
}

/// What pruning would take now.
#[derive(Debug, Serialize, ToSchema)]
pub struct Prune {
    /// Rows beyond the bounds.
    rows: u64,
    /// When pruning will next find a row to take; null when it will not, and for an app in the trash.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_run_at: Option<Timestamp>,
}

/// A collection's retention.
#[derive(Debug, Serialize, ToSchema)]
pub struct RetentionRecord {
    /// The collection.
    collection: String,
    /// The manifest's default.
    author: Bounds,
    /// The owner's.
    #[serde(rename = "override")]
    owner: Bounds,
    /// What is in force.
    effective: Bounds,
    /// What pruning by it takes.
    prune: Prune,
}

impl RetentionRecord {
    fn new(collection: String, state: RetentionState) -> Self {
        Self {
            collection,
            author: state.author.into(),
            owner: state.owner.into(),
            effective: state.effective.into(),
            prune: Prune { rows: state.due, next_run_at: state.next_run_at },
        }
    }
}

/// Shows a collection's retention
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/collections/{name}/retention",
    tag = "Rows",
    responses((status = 200, description = "The bounds.", body = RetentionRecord))
)]
pub(crate) async fn get_retention(
    owner: AppOwner<Readable>,
    CollectionPath(collection): CollectionPath,
) -> ApiResult<Json<RetentionRecord>> {
    let unchanged = RetentionPatch::default();
    let state = owner.app.retention(&owner.caller, &collection, unchanged).await?;
    Ok(Json(RetentionRecord::new(collection, state)))
}

/// Changes a collection's retention
///
/// With `dry_run` the answer shows the bounds and the prune impact as they would be, and nothing
/// changes. Pruned rows go to the trash, the oldest first.
#[utoipa::path(
    patch,
    path = "/v1/apps/{id}/collections/{name}/retention",
    tag = "Rows",
    params(
        DryRunParams,
    ),
    request_body = RetentionBody,
    responses((status = 200, description = "The bounds, changed.", body = RetentionRecord))
)]
pub(crate) async fn set_retention(
    owner: AppOwner,
    CollectionPath(collection): CollectionPath,
    StrictQuery(params): StrictQuery<DryRunParams>,
    StrictJson(body): StrictJson<RetentionBody>,
) -> ApiResult<Json<RetentionRecord>> {
    let (app, caller, patch) = (&owner.app, &owner.caller, body.into());
    let state = if params.dry_run.unwrap_or_default() {
        app.retention(caller, &collection, patch).await?
    } else {
        app.set_retention(caller, &collection, patch).await?
    };
    Ok(Json(RetentionRecord::new(collection, state)))
}

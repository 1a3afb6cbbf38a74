//! `PATCH /v1/orgs/:id`: renames an organization.

use axum::{Json, extract::State};
use rookery_domain::{ErrorCode, orgs::OrgName};

use super::record::{OrgBody, OrgNameBody};
use crate::{
    error::ApiResult,
    http::{auth::org::OrgAdmin, body::StrictJson},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Renames an organization.
#[utoipa::path(
    patch, path = "/v1/orgs/{id}", tag = "Organizations", request_body = OrgNameBody,
    responses((status = 200, description = "The organization", body = OrgBody)),
)]
pub async fn update(
    caller: OrgAdmin,
    State(state): State<AppState>,
    StrictJson(body): StrictJson<OrgNameBody>,
) -> ApiResult<Json<OrgBody>> {
    let name = OrgName::parse(&body.name)?;
    let org = state.rooms.directory.rename_org(caller.org, caller.account, name).await?;
    Ok(Json(OrgBody::of(&org)))
}

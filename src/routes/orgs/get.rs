//! `GET /v1/orgs/:id`: one organization.

use axum::Json;
use rookery_domain::ErrorCode;

use super::record::OrgBody;
use crate::{error::ApiResult, http::auth::org::OrgInsider};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Shows an organization that the caller belongs to.
#[utoipa::path(
    get, path = "/v1/orgs/{id}", tag = "Organizations",
    responses((status = 200, description = "The organization", body = OrgBody)),
)]
pub async fn get(caller: OrgInsider) -> ApiResult<Json<OrgBody>> {
    Ok(Json(OrgBody::of(&caller.org)))
}

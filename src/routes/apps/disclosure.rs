//! `GET /v1/apps/:id/disclosure`: what the current manifest declares, as a page.

use axum::{
    extract::State,
    response::{Html, IntoResponse as _, Response},
};
use rookery_domain::ErrorCode;

use crate::{
    error::ApiResult,
    http::auth::permission::{AppOwner, Readable},
    pages::{
        disclosure::DisclosurePage,
        shell::{self, Shell},
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Shows what the current manifest declares, for humans.
#[utoipa::path(
    get, path = "/v1/apps/{id}/disclosure", tag = "Sharing",
    responses((status = 200, description = "The page", body = String, content_type = "text/html")),
)]
pub async fn disclosure(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
) -> ApiResult<Response> {
    let manifest = state.rooms.control().manifest(&owner.app).await?;
    let shell = Shell::new(&state.origins.site_origin(), None);
    let record = owner.app.record();
    let org = record.org.map(|org| state.rooms.directory.org_name(org)).transpose()?.flatten();
    let page = DisclosurePage::new(shell, &record, &manifest).in_org(org);
    let headers = shell::page_headers(&[]);
    Ok((headers, Html(shell::render(&page)?)).into_response())
}

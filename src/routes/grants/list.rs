//! `GET /v1/apps/:id/grants`: the grant links of an app.

use axum::extract::State;
use rookery_domain::{ErrorCode, grants::Grant, id::GrantId};

use super::record::GrantBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::{AppOwner, Readable},
        paging::Paging,
        params::StrictQuery,
        reply::Page,
    },
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Lists the grant links that are not revoked, newest first; never their tokens.
#[utoipa::path(
    get, path = "/v1/apps/{id}/grants", tag = "Sharing",
    params(Paging),
    responses((status = 200, description = "A page of links", body = Page<GrantBody>)),
)]
pub async fn list(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<GrantBody>> {
    let app = owner.app;
    let page = query.of("/v1/apps/{id}/grants", app.id().uuid(), &state)?;
    let after = page.after(GrantId::from_uuid);
    let grants = state.rooms.control().grants(&app, after, page.wanted()).await?;
    let manifest = state.rooms.control().manifest(&app).await?;
    let now = state.clock.now();
    let shown = |one: &Grant| GrantBody::of(one, manifest.declares_role(&one.role), now);
    Ok(page.show(grants, |one| (one.created_at, one.id.uuid()), shown))
}

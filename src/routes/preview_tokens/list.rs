//! `GET /v1/apps/:id/preview-tokens`: the preview tokens of an app.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::PreviewId};

use super::record::PreviewBody;
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

/// Lists the preview tokens that open the app now, newest first; never the tokens themselves.
#[utoipa::path(
    get, path = "/v1/apps/{id}/preview-tokens", tag = "Sharing",
    params(Paging),
    responses((status = 200, description = "A page of tokens", body = Page<PreviewBody>)),
)]
pub async fn list(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<PreviewBody>> {
    let app = owner.app;
    let page = query.of("/v1/apps/{id}/preview-tokens", app.id().uuid(), &state)?;
    let after = page.after(PreviewId::from_uuid);
    let previews = state.rooms.control().previews(&app, after, page.wanted()).await?;
    Ok(page.show(previews, |one| (one.created_at, one.id.uuid()), PreviewBody::of))
}

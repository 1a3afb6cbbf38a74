//! `GET /v1/apps/:id/domain`: the custom domains of an app, as they are now.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;

use super::{Enabled, none_bound, record::DomainsBody};
use crate::{
    error::ApiResult,
    http::auth::permission::{AppOwner, Readable},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::CustomDomainsNotEnabled, ErrorCode::DomainNotFound];

/// Shows the custom domains of an app
///
/// The DNS is asked about what is not proven yet, and the edge provider about the rest, each time. A
/// domain of which nobody answers is shown as it was stored last, with `refreshed: false`. A proven
/// domain is the app's address from the answer on that says `active`, until one says otherwise.
#[utoipa::path(
    get, path = "/v1/apps/{id}/domain", tag = "Domains", operation_id = "read_domain",
    responses((status = 200, description = "The domains", body = DomainsBody)),
)]
pub async fn read(
    owner: AppOwner<Readable>,
    Enabled(custom): Enabled,
    State(state): State<AppState>,
) -> ApiResult<Json<DomainsBody>> {
    let domains = state.rooms.domains();
    let found = custom.refreshed(domains, owner.app.id()).await?;
    if found.is_empty() {
        return Err(none_bound().into());
    }
    let (serving, aliases) = domains.addresses(owner.app.id());
    Ok(Json(DomainsBody::new(&custom, serving, aliases, found)))
}

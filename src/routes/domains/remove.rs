//! `DELETE /v1/apps/:id/domain`: removes one custom domain of an app, or all of them.

use axum::extract::State;
use http::StatusCode;
use rookery_actors::task::to_the_end;
use rookery_domain::{Error, ErrorCode};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Enabled, none_bound};
use crate::{
    error::ApiResult,
    http::{auth::permission::AppOwner, body::Nothing, params::StrictQuery},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::CustomDomainsNotEnabled,
    ErrorCode::DomainInvalid,
    ErrorCode::DomainNotFound,
    ErrorCode::PayloadTooLarge,
];

/// Which domain.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct WhichDomain {
    /// The one to remove; all of the app's without it.
    domain: Option<String>,
}

/// Removes a custom domain, or all of them
///
/// From then on the name leads to no app, and may be bound by anybody who proves control over it.
/// When the serving one goes, the next oldest that is proven serves the app. An app without
/// domains, or without this one, is `domain_not_found`.
#[utoipa::path(
    delete, path = "/v1/apps/{id}/domain", tag = "Domains", operation_id = "remove_domain",
    params(WhichDomain),
    responses((status = 204, description = "Removed")),
)]
pub async fn remove(
    owner: AppOwner,
    Enabled(custom): Enabled,
    State(state): State<AppState>,
    StrictQuery(which): StrictQuery<WhichDomain>,
    _: Nothing,
) -> ApiResult<StatusCode> {
    let AppOwner { app, caller, .. } = owner;
    let domains = state.rooms.domains();
    let name = which.domain.as_deref().map(|name| custom.parse(name)).transpose()?;
    let mut found = domains.list(app.id()).await?;
    if found.is_empty() {
        return Err(none_bound().into());
    }
    if let Some(name) = name {
        found.retain(|domain| domain.name == name);
    }
    if found.is_empty() {
        let message = "this app has no such custom domain";
        return Err(Error::new(ErrorCode::DomainNotFound, message).into());
    }
    let domains = domains.clone();
    to_the_end(async move {
        // The serving one last: meanwhile the others lead to what still works.
        for (removed, domain) in found.iter().rev().enumerate() {
            let failed = |error: Error| if removed > 0 { error.after_change() } else { error };
            custom.remove(&domains, &app, caller.account(), domain).await.map_err(failed)?;
        }
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

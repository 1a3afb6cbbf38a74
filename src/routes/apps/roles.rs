//! `GET /v1/apps/:id/roles`: the custom roles that the manifest declares.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::State;
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

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

/// A custom role.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RoleBody {
    /// Its name in permission lists.
    #[schema(value_type = String)]
    name: Arc<str>,
    /// What humans are shown instead of the name.
    title: Option<String>,
    /// Members that hold it.
    member_count: u64,
    /// Collections that name it in a permission list, in whatever form.
    collection_count: u64,
}

/// Lists the custom roles of the current manifest, by name.
#[utoipa::path(
    get, path = "/v1/apps/{id}/roles", tag = "Sharing",
    params(Paging),
    responses((status = 200, description = "The roles", body = Page<RoleBody>)),
)]
pub async fn roles(
    owner: AppOwner<Readable>,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<RoleBody>> {
    let page = query.by_name("/v1/apps/{id}/roles", owner.app.id().uuid(), &state)?;
    let manifest = state.rooms.control().manifest(&owner.app).await?;
    let holders: BTreeMap<String, u64> =
        state.rooms.control().role_counts(&owner.app).await?.into_iter().collect();
    let roles = manifest.roles.iter().map(|(name, role)| (&**name, role));
    Ok(page.show(roles, |(name, role)| RoleBody {
        name: name.into(),
        title: role.title.clone(),
        member_count: holders.get(name).copied().unwrap_or(0),
        collection_count: {
            let collections = manifest.collections.values();
            collections.filter(|one| one.permissions.names_role(name)).count() as u64
        },
    }))
}

//! The record of a grant link.

use std::sync::Arc;

use rookery_domain::{
    Principal, Timestamp,
    grants::{Grant, GrantState},
    id::GrantId,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce,
    openapi::{ids, shapes::PrincipalRecord, words},
};

/// A grant link.
#[derive(Clone, Serialize, ToSchema)]
pub struct GrantBody {
    /// Its id.
    #[schema(value_type = ids::GrantId)]
    id: GrantId,
    /// The custom role of whoever opens it.
    #[schema(value_type = String)]
    role: Arc<str>,
    /// What it does now; `undeclared` while the manifest does not declare its role: it opens nothing
    /// then.
    #[schema(value_type = words::GrantState)]
    state: GrantState,
    /// Visitors that it may make; null for any number.
    max_uses: Option<u32>,
    /// Visitors that it has made.
    uses: u32,
    /// When it ends, for those too who came by it; null for never.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Who made it.
    #[schema(value_type = PrincipalRecord)]
    created_by: Principal,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The link, in the one answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl GrantBody {
    /// The record, without the link; `declared` says whether the manifest declares its role.
    #[must_use]
    pub fn of(grant: &Grant, declared: bool, now: Timestamp) -> Self {
        Self {
            id: grant.id,
            role: grant.role.clone(),
            state: grant.state_under(declared, now),
            max_uses: grant.max_uses,
            uses: grant.uses,
            expires_at: grant.expires_at,
            created_by: grant.created_by,
            created_at: grant.created_at,
            url: None,
        }
    }

    /// The record with its link.
    #[must_use]
    pub fn with_url(self, url: String) -> Self {
        Self { url: Some(url), ..self }
    }
}

impl ShownOnce for GrantBody {
    fn without_secrets(self) -> Self {
        Self { url: None, ..self }
    }
}

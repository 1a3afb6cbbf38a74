//! The record of somebody in an organization.

use rookery_actors::directory::OrgMemberRecord;
use rookery_domain::{Timestamp, id::HumanId, orgs::OrgRole};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce,
    openapi::{ids, words},
};

/// Somebody in an organization.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OrgMemberBody {
    /// The member.
    #[schema(value_type = ids::HumanId)]
    human_id: HumanId,
    /// Its address.
    #[schema(format = Email)]
    email: Option<String>,
    /// Its name, as others are shown it.
    name: Option<String>,
    /// What it is in the organization.
    #[schema(value_type = words::OrgRoleBody)]
    role: OrgRole,
    /// When it was added.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl OrgMemberBody {
    /// The record for the other members.
    #[must_use]
    pub fn of(seen: &OrgMemberRecord) -> Self {
        Self {
            human_id: seen.member.human,
            email: seen.email.clone(),
            name: seen.name.clone(),
            role: seen.member.role,
            created_at: seen.member.created_at,
        }
    }
}

impl ShownOnce for OrgMemberBody {
    fn without_secrets(self) -> Self {
        self
    }
}

//! The record of an organization, as every route about it answers.

use rookery_actors::directory::OrgRecord;
use rookery_domain::{
    Timestamp,
    id::{HumanId, OrgId},
    orgs::OrgRole,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{
        body::{BodyBound, RequestBody},
        idempotency::ShownOnce,
    },
    openapi::{ids, words},
};

/// An organization, as one of its members sees it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OrgBody {
    /// Its id.
    #[schema(value_type = ids::OrgId)]
    id: OrgId,
    /// Its name.
    name: String,
    /// What the caller is there.
    #[schema(value_type = words::OrgRoleBody)]
    role: OrgRole,
    /// How many are in it, the caller included.
    member_count: usize,
    /// The account that is billed for it; always one of its members.
    billing_account: BillingAccount,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When its record changed last; members do not count.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

/// The account that is billed for an organization.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BillingAccount {
    /// The human.
    #[schema(value_type = ids::HumanId)]
    id: HumanId,
    /// Its name, as others are shown it.
    name: Option<String>,
}

/// The name of an organization.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrgNameBody {
    /// 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
}

impl RequestBody for OrgNameBody {
    const BOUND: BodyBound = BodyBound::Small;
}

impl OrgBody {
    /// The record for one of the members.
    #[must_use]
    pub fn of(seen: &OrgRecord) -> Self {
        let org = &seen.org;
        Self {
            id: org.id,
            name: org.name.clone(),
            role: seen.role,
            member_count: seen.members,
            billing_account: BillingAccount { id: org.billing, name: seen.billing_name.clone() },
            created_at: org.created_at,
            updated_at: org.updated_at,
        }
    }
}

impl ShownOnce for OrgBody {
    fn without_secrets(self) -> Self {
        self
    }
}

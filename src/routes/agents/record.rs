//! The record of an agent in answers to the agent itself.

use rookery_actors::directory::AgentRecord;
use rookery_domain::{
    Timestamp,
    id::{AgentId, HumanId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::ids;

/// An agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AgentView {
    /// Its id.
    #[schema(value_type = ids::AgentId)]
    pub id: AgentId,
    /// Its name.
    pub name: String,
    /// Whether a human has claimed it.
    pub claimed: bool,
    /// When it registered.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The human it acts for, once it is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerView>,
}

/// The human that an agent acts for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OwnerView {
    /// Its id.
    #[schema(value_type = ids::HumanId)]
    pub id: HumanId,
    /// Its name as others are shown it.
    pub name: String,
}

impl AgentView {
    /// The record of `agent`.
    #[must_use]
    pub fn of(record: &AgentRecord) -> Self {
        let agent = &record.agent;
        let name = record.owner_name.clone().unwrap_or_default();
        Self {
            id: agent.id,
            name: agent.name.clone(),
            claimed: agent.owner.is_some(),
            created_at: agent.created_at,
            owner: agent.owner.map(|id| OwnerView { id, name }),
        }
    }
}

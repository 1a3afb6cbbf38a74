//! The record of an agent in answers to its human.

use rookery_actors::directory::{AgentRecord, KeyState};
use rookery_domain::{Timestamp, id::AgentId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    openapi::{ids, words},
    routes::keys::record::KeyView,
};

/// An agent of the human.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OwnAgent {
    /// Its id.
    #[schema(value_type = ids::AgentId)]
    id: AgentId,
    /// Its name.
    name: String,
    /// What its keys can do: `active` with any active key, else `paused` with any paused one.
    #[schema(value_type = words::StateView)]
    state: KeyState,
    /// When it registered.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When the human claimed it.
    #[schema(value_type = Option<String>, format = DateTime)]
    claimed_at: Option<Timestamp>,
    /// Its keys, oldest first, without secrets.
    keys: Vec<KeyView>,
}

impl OwnAgent {
    /// The record of an agent.
    #[must_use]
    pub fn of(record: &AgentRecord) -> Self {
        let agent = &record.agent;
        Self {
            id: agent.id,
            name: agent.name.clone(),
            state: record.state(),
            created_at: agent.created_at,
            claimed_at: agent.claimed_at,
            keys: record.keys.iter().map(KeyView::of).collect(),
        }
    }
}

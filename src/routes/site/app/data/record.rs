//! A row as the pages read it, and who wrote it.

use std::collections::BTreeMap;

use rookery_actors::directory::AgentRecord;
use rookery_domain::{
    Principal, PrincipalKind, Result,
    id::{AgentId, HumanId},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::text::indent;
use crate::{
    error::ApiResult,
    pages::visible::visible,
    routes::{
        apps::record::owner,
        site::{
            page_context::PageContext,
            records::{Agent, List},
            words::At,
        },
    },
};

/// Agents whose names pages know.
const AGENTS_MAX: usize = 200;

/// A row.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// Its key.
    pub key: String,
    /// Its content, as it is written.
    pub data: Box<RawValue>,
    /// Rises with every write.
    pub version: u32,
    /// Who created it.
    pub creator: Who,
    /// Who wrote it last.
    pub editor: Who,
    /// When it was created.
    pub created_at: At,
    /// When it was written last.
    pub updated_at: At,
    /// When it went to the trash.
    pub deleted_at: Option<At>,
}

impl Row {
    /// Its key, as a page shows it.
    #[must_use]
    pub fn shown_key(&self) -> String {
        visible(&self.key)
    }

    /// Its content, to be read and edited.
    #[must_use]
    pub fn text(&self) -> String {
        indent(self.data.get())
    }

    /// Its members.
    #[must_use]
    pub fn members(&self) -> Members {
        members(self.data.get())
    }
}

/// The members of a row, as they are written.
pub type Members = BTreeMap<String, Box<RawValue>>;

/// The members of a row's content; what is no object has none.
#[must_use]
pub fn members(content: &str) -> Members {
    serde_json::from_str(content).unwrap_or_default()
}

/// Who did something.
#[derive(Debug, Clone, Deserialize)]
pub struct Who {
    kind: PrincipalKind,
    id: String,
}

impl From<Principal> for Who {
    fn from(principal: Principal) -> Self {
        Self { kind: principal.kind, id: principal.id_text() }
    }
}

/// The names of those whom the human knows.
pub struct Names {
    me: String,
    agents: BTreeMap<String, String>,
}

impl Names {
    /// The human and its agents.
    ///
    /// # Errors
    /// Those of the API.
    pub async fn load(context: &PageContext) -> ApiResult<Self> {
        let path = format!("/v1/self/agents?limit={AGENTS_MAX}");
        let agents: List<Agent> = context.api.get(&path).await?;
        let named = |agent: Agent| (AgentId::to_string(&agent.id), agent.name);
        let agents = agents.items.into_iter().map(named).collect();
        Ok(Self { me: context.human.to_string(), agents })
    }

    /// Somebody who acts as an app's owner, or did: of others it says who they are.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub fn of_owner(&self, context: &PageContext, who: &Who) -> Result<String> {
        // Not the address: who made something for a former owner need not be known to the next.
        let human = |id: HumanId| -> Result<String> {
            let name = owner(&context.state, id)?.name;
            Ok(name.as_deref().unwrap_or("somebody without an account").to_owned())
        };
        let known = who.id == self.me || self.agents.contains_key(&who.id);
        if let (false, Ok(id)) = (known, who.id.parse()) {
            return human(id);
        }
        if let (false, Ok(id)) = (known, who.id.parse())
            && let Ok(AgentRecord { agent, .. }) = context.state.rooms.directory.agent(id)
            && let Some(by) = agent.owner
        {
            return Ok(match by == context.human {
                true => format!("your agent “{}”", agent.name),
                false => format!("the agent “{}” of {}", agent.name, human(by)?),
            });
        }
        Ok(self.of(who))
    }

    /// Somebody in words.
    #[must_use]
    pub fn of(&self, who: &Who) -> String {
        let kind = match who.kind {
            PrincipalKind::Agent => match self.agents.get(&who.id) {
                Some(name) => return format!("your agent “{name}”"),
                None => "an agent",
            },
            PrincipalKind::Human if who.id == self.me => "you",
            PrincipalKind::Human => "somebody signed in",
            PrincipalKind::Anonymous => "an anonymous visitor",
            PrincipalKind::Grant => "a visitor by a grant link",
            PrincipalKind::Credential => "a service credential",
            PrincipalKind::Ingest => "a hook",
            PrincipalKind::System => "the service",
        };
        kind.to_owned()
    }
}

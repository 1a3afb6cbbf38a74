//! Agents: registering, and what their human does to them.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    agent_name::AgentName,
    id::{AgentId, HumanId},
};
use rookery_storage::{
    agents::{
        self, Agent,
        keys::{self, Key, KeyState, KeysOutcome},
    },
    idempotency::KeepResponse,
};
use tokio::time::timeout;

use super::{
    Directory,
    core::Core,
    keys::MintedKey,
    memory::{AgentEntry, Memory},
    mutation::Failure,
};

/// A place in the list of a human's agents.
pub type AgentPosition = (Timestamp, AgentId);

/// An agent as its human and it itself see it.
#[derive(Debug, Clone)]
pub struct AgentRecord {
    /// The agent.
    pub agent: Arc<Agent>,
    /// The name of its human, as others are shown it.
    pub owner_name: Option<String>,
    /// Its keys, oldest first, the revoked ones too.
    pub keys: Vec<Key>,
}

impl AgentRecord {
    pub(super) fn read(memory: &Memory, entry: &AgentEntry) -> Self {
        let owner = entry.agent.owner.and_then(|owner| memory.human(owner));
        Self {
            agent: Arc::clone(&entry.agent),
            owner_name: owner.map(|owner| Directory::display_name(owner)),
            keys: entry.keys.iter().map(|key| key.record()).collect(),
        }
    }

    /// What the agent can do: active with any active key, else paused with any paused one.
    #[must_use]
    pub fn state(&self) -> KeyState {
        let any = |state| self.keys.iter().any(|key| key.state == state);
        if any(KeyState::Active) {
            KeyState::Active
        } else if any(KeyState::Paused) {
            KeyState::Paused
        } else {
            KeyState::Revoked
        }
    }
}

fn no_such_agent() -> Error {
    Error::new(ErrorCode::NotFound, "no such agent")
}

impl Directory {
    /// Registers an agent that nobody has claimed, with its first key.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn register(&self, name: AgentName) -> Result<(AgentRecord, MintedKey)> {
        let turn = Arc::clone(&self.core.registrations).acquire_owned();
        let turn = timeout(self.core.options.call_timeout, turn).await.ok().and_then(Result::ok);
        let turn =
            turn.ok_or_else(|| Error::unavailable("too many agents are being registered"))?;
        self.mutate(async move |core: Arc<Core>| {
            // Until it is done, whether or not whoever asked has left.
            let _turn = turn;
            let (secret, new) = super::keys::draw();
            let name = name.as_str().to_owned();
            let (agent, key) =
                agents::register(&core.db, AgentId::new(), name, new, core.now()).await?;
            Ok((core.add_agent(agent, key.clone()), MintedKey { key, secret }))
        })
        .await
    }

    /// The agent with this id.
    ///
    /// # Errors
    /// `unavailable`; `not_found`.
    pub fn agent(&self, id: AgentId) -> Result<AgentRecord> {
        self.core.agent_record(id)
    }

    /// At most `limit` agents of a human, newest first, behind the position `after`.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn agents_of(
        &self,
        human: HumanId,
        after: Option<AgentPosition>,
        limit: usize,
    ) -> Result<Vec<AgentRecord>> {
        self.core.read(|memory| {
            let entries = memory.agents_of(human, after).take(limit);
            entries.map(|entry| AgentRecord::read(memory, entry)).collect()
        })
    }

    /// Renames a human's agent.
    ///
    /// # Errors
    /// `not_found`, when the human has no such agent; `unavailable`, `internal`.
    pub async fn rename_agent(
        &self,
        human: HumanId,
        id: AgentId,
        name: AgentName,
    ) -> Result<AgentRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let renamed = agents::rename(&core.db, id, human, name.as_str()).await?;
            let agent = renamed.ok_or_else(no_such_agent)?;
            core.write(|memory| memory.put_agent(agent));
            Ok(core.agent_record(id)?)
        })
        .await
    }

    /// Refuses every key of a human's agent until it is resumed.
    ///
    /// # Errors
    /// `not_found`; `conflict`, when every key is revoked; `unavailable`, `internal`.
    pub async fn pause_agent(&self, human: HumanId, id: AgentId) -> Result<AgentRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let outcome = keys::pause_all(&core.db, id, human).await?;
            core.apply(id, outcome)
        })
        .await
    }

    /// Takes a pause back.
    ///
    /// # Errors
    /// As [`Self::pause_agent`].
    pub async fn resume_agent(&self, human: HumanId, id: AgentId) -> Result<AgentRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let outcome = keys::resume_all(&core.db, id, human).await?;
            core.apply(id, outcome)
        })
        .await
    }

    /// Revokes every key of a human's agent, for ever. A second time changes nothing.
    ///
    /// # Errors
    /// `not_found`, `unavailable`, `internal`.
    pub async fn revoke_agent(&self, human: HumanId, id: AgentId) -> Result<AgentRecord> {
        self.mutate(async move |core: Arc<Core>| {
            let outcome = keys::revoke_all(&core.db, id, human).await?;
            core.apply(id, outcome)
        })
        .await
    }

    /// Replaces every key of a human's agent by a new one. A paused agent stays paused.
    ///
    /// # Errors
    /// `not_found`; `conflict`, when every key is revoked; `unavailable`, `internal`.
    pub async fn rotate_agent(
        &self,
        human: HumanId,
        id: AgentId,
        keep: KeepResponse<MintedKey>,
    ) -> Result<MintedKey> {
        self.mutate(async move |core: Arc<Core>| {
            let (secret, new) = super::keys::draw();
            let (fresh, keep) = (new.id, MintedKey::kept(keep, &secret));
            let outcome = keys::rotate_all(&core.db, id, human, new, core.now(), keep).await?;
            let record = core.apply(id, outcome)?;
            let key = record.keys.into_iter().find(|key| key.id == fresh);
            let key = key.ok_or_else(Error::internal)?;
            Ok(MintedKey { key, secret })
        })
        .await
    }
}

impl Core {
    /// Takes a committed agent and its first key into memory.
    pub(super) fn add_agent(&self, agent: Agent, key: Key) -> AgentRecord {
        let record = AgentRecord {
            agent: Arc::new(agent.clone()),
            owner_name: None,
            keys: vec![key.clone()],
        };
        self.write(|memory| {
            let id = agent.id;
            memory.put_agent(agent);
            memory.add_key(key);
            memory.agent(id).map(|entry| AgentRecord::read(memory, entry))
        })
        .unwrap_or(record)
    }

    pub(super) fn agent_record(&self, id: AgentId) -> Result<AgentRecord> {
        self.read(|memory| memory.agent(id).map(|entry| AgentRecord::read(memory, entry)))?
            .ok_or_else(no_such_agent)
    }

    /// Takes what an order over all keys has committed into memory.
    fn apply(&self, id: AgentId, outcome: KeysOutcome) -> Result<AgentRecord, Failure> {
        match outcome {
            KeysOutcome::Done(keys) => {
                self.write(|memory| memory.put_keys(id, keys));
                Ok(self.agent_record(id)?)
            }
            KeysOutcome::Revoked => {
                let message = "every key of this agent is revoked, and nothing brings one back";
                Err(Error::new(ErrorCode::Conflict, message).into())
            }
            KeysOutcome::NoSuchAgent => Err(no_such_agent().into()),
        }
    }
}

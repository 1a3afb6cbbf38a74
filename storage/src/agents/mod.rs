//! Agents and who owns them. Their keys are in [`keys`].

pub mod keys;

use rookery_domain::{
    Timestamp,
    id::{AgentId, HumanId},
};

use crate::{
    columns::record,
    db::{Db, Tx, args},
    directory::FORGET_CHUNK,
    error::Result,
};
use keys::{Key, KeyState, NewKey};

/// A programmatic agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The human that claimed it.
    pub owner: Option<HumanId>,
    /// Its name.
    pub name: String,
    /// When it registered.
    pub created_at: Timestamp,
    /// When it was claimed.
    pub claimed_at: Option<Timestamp>,
}

record!(Agent: id, owner, name, created_at, claimed_at);

/// Registers an unclaimed agent with its first key.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn register(
    db: &Db,
    id: AgentId,
    name: String,
    key: NewKey,
    now: Timestamp,
) -> Result<(Agent, Key)> {
    db.transaction((id, name, key, now), |tx, (id, name, key, now)| {
        Box::pin(async move {
            let agent = Agent {
                id: *id,
                owner: None,
                name: name.clone(),
                created_at: *now,
                claimed_at: None,
            };
            let key = insert(tx, &agent, key).await?;
            Ok((agent, key))
        })
    })
    .await
}

/// Writes an agent and its first key.
pub(crate) async fn insert(tx: &mut Tx, agent: &Agent, key: &NewKey) -> Result<Key> {
    tx.execute(
        "insert into agents (id, owner, name, created_at, claimed_at)
         values ($1, $2, $3, $4, $5)",
        args![agent.id, agent.owner, &agent.name, agent.created_at, agent.claimed_at],
    )
    .await?;
    keys::insert(tx, agent.id, key, KeyState::Active, agent.created_at).await
}

/// Takes the agent's row lock, which whatever changes its owner or its keys takes first; the
/// agent, if there is one.
pub(crate) async fn lock(tx: &mut Tx, id: AgentId) -> Result<Option<Agent>> {
    // `for update` is not in the portable subset; an update that changes nothing locks as well.
    tx.optional(
        "update agents set name = name where id = $1
         returning id, owner, name, created_at, claimed_at",
        args![id],
    )
    .await
}

/// Agents of a human, and devices that it has approved and that will be some. The parameter is the human.
const COUNT: &str = "select (select count(*) from agents where owner = $1)
     + (select count(*) from devices where human = $1 and state = 1)";

/// How many agents a human has or has promised to devices.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn count(db: &Db, human: HumanId) -> Result<u64> {
    Ok(db.value(COUNT, args![human]).await?.unwrap_or_default())
}

/// The same within a change. Two at once may both find room for one.
pub(crate) async fn count_in(tx: &mut Tx, human: HumanId) -> Result<u64> {
    Ok(tx.value(COUNT, args![human]).await?.unwrap_or_default())
}

/// Agents that nobody has claimed, that registered before `unused_since`, and of whose keys none
/// was made or used since: the oldest, [`FORGET_CHUNK`] at most.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn unclaimed(db: &Db, unused_since: Timestamp) -> Result<Vec<AgentId>> {
    db.column(
        "select id from agents where owner is null and created_at < $1
           and not exists (select 1 from agent_keys where agent = agents.id
             and (agent_keys.created_at >= $1 or agent_keys.last_used_at >= $1))
         order by created_at, id limit $2",
        args![unused_since, FORGET_CHUNK],
    )
    .await
}

/// Forgets those of these agents that nobody has claimed, with their keys; which.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget_unclaimed(db: &Db, agents: Vec<AgentId>) -> Result<Vec<AgentId>> {
    db.transaction(agents, |tx, agents| {
        Box::pin(async move {
            let mut gone = Vec::with_capacity(agents.len());
            for id in agents {
                if lock(tx, *id).await?.is_some_and(|agent| agent.owner.is_none()) {
                    tx.execute("delete from agent_keys where agent = $1", args![*id]).await?;
                    tx.execute("delete from agents where id = $1", args![*id]).await?;
                    gone.push(*id);
                }
            }
            Ok(gone)
        })
    })
    .await
}

/// Renames a human's agent; `None` when the human has no such agent.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn rename(db: &Db, id: AgentId, owner: HumanId, name: &str) -> Result<Option<Agent>> {
    db.returning(
        "update agents set name = $3 where id = $1 and owner = $2
         returning id, owner, name, created_at, claimed_at",
        args![id, owner, name],
    )
    .await
}

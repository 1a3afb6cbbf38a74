//! API keys of agents. An agent may hold several; its human pauses, resumes, revokes and rotates
//! all of them at once. Whatever changes keys locks the agent first, so that a key minted at the
//! same moment cannot slip through a revocation.

use rookery_domain::{
    Timestamp,
    id::{AgentId, HumanId, KeyId},
    secret::SecretHash,
    time::STEP_BACK_S,
};
use serde::{Deserialize, Serialize};

use crate::{
    REVOKED_KEPT_MAX,
    columns::record,
    db::{Db, Tx, args},
    error::Result,
    idempotency::KeepResponse,
    values::codes,
};

/// Most keys whose last use one [`touch`] records.
pub const TOUCH_MAX: usize = 500;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Authenticates.
    Active,
    /// Refused until resumed.
    Paused,
    /// Refused for ever.
    Revoked,
}

impl KeyState {
    /// Every one of them.
    pub const ALL: &'static [Self] = &[Self::Active, Self::Paused, Self::Revoked];

    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Revoked => "revoked",
        }
    }
}

codes!(KeyState: Active = 0, Paused = 1, Revoked = 2);

/// A key as it is stored: never its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: KeyId,
    /// Whose it is.
    pub agent: AgentId,
    /// SHA-256 of the secret.
    pub hash: SecretHash,
    /// The listable beginning of the secret.
    pub prefix: String,
    /// Active, paused or revoked.
    pub state: KeyState,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it authenticated last; recorded in batches, so a little late.
    pub last_used_at: Option<Timestamp>,
}

rookery_domain::shown!(Key: id, agent, prefix, state, created_at, last_used_at);

/// A key to be made.
#[derive(Clone)]
pub struct NewKey {
    /// Its id.
    pub id: KeyId,
    /// SHA-256 of the secret.
    pub hash: SecretHash,
    /// The listable beginning of the secret.
    pub prefix: String,
}

rookery_domain::shown!(NewKey: id, prefix);

/// What became of an order over all keys of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeysOutcome {
    /// Done, or so already: the keys as they are now.
    Done(Vec<Key>),
    /// Every key is revoked, and nothing brings them back.
    Revoked,
    /// The human has no such agent.
    NoSuchAgent,
}

/// An order over all keys of an agent.
#[derive(Debug, Clone)]
enum Order {
    Pause,
    Resume,
    Revoke,
    /// To the key, from this time on.
    Rotate(NewKey, Timestamp, KeepResponse<Key>),
}

/// The keys of an agent, the oldest first.
const OF_AGENT: &str = "select id, agent, hash, prefix, state, created_at, last_used_at
     from agent_keys where agent = $1 order by created_at, id";

record!(Key: id, agent, hash, prefix, state, created_at, last_used_at);

/// Adds a key to its agent, for which the oldest of too many revoked ones are forgotten.
pub(crate) async fn insert(
    tx: &mut Tx,
    agent: AgentId,
    key: &NewKey,
    state: KeyState,
    now: Timestamp,
) -> Result<Key> {
    tx.execute(
        "insert into agent_keys (id, agent, hash, prefix, state, created_at)
         values ($1, $2, $3, $4, $5, $6)",
        args![key.id, agent, key.hash, &key.prefix, state, now],
    )
    .await?;
    tx.execute(
        "delete from agent_keys where agent = $1 and state = 2 and id not in
             (select id from agent_keys where agent = $1 and state = 2
              order by created_at desc, id desc limit $2)",
        args![agent, REVOKED_KEPT_MAX],
    )
    .await?;
    Ok(Key {
        id: key.id,
        agent,
        hash: key.hash,
        prefix: key.prefix.clone(),
        state,
        created_at: now,
        last_used_at: None,
    })
}

/// The keys of an agent, oldest first. For tests: the product asks its directory.
///
/// # Errors
/// Any [`crate::StorageError`].
#[cfg(feature = "faults")]
pub async fn list(db: &Db, agent: AgentId) -> Result<Vec<Key>> {
    db.all(OF_AGENT, args![agent]).await
}

/// Makes another key for the agent, asked for with its key `by`; returns all its keys as they are
/// then, oldest first. `None` when that one is no longer active.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn mint(
    db: &Db,
    agent: AgentId,
    by: KeyId,
    key: NewKey,
    now: Timestamp,
    keep: KeepResponse<Key>,
) -> Result<Option<Vec<Key>>> {
    db.transaction((agent, by, key, now, keep), |tx, (agent, by, key, now, keep)| {
        Box::pin(async move {
            if super::lock(tx, *agent).await?.is_none() {
                return Ok(None);
            }
            let keys = in_tx(tx, *agent).await?;
            if !keys.iter().any(|key| key.id == *by && key.state == KeyState::Active) {
                return Ok(None);
            }
            let key = insert(tx, *agent, key, KeyState::Active, *now).await?;
            keep.put(tx, &key).await?;
            in_tx(tx, *agent).await.map(Some)
        })
    })
    .await
}

/// Revokes one key; `false` when the agent has no such key. A revoked one stays so.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn revoke(db: &Db, agent: AgentId, key: KeyId) -> Result<bool> {
    let changed = db
        .execute("update agent_keys set state = 2 where id = $1 and agent = $2", args![key, agent])
        .await?;
    Ok(changed > 0)
}

/// Pauses every active key of a human's agent.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn pause_all(db: &Db, agent: AgentId, owner: HumanId) -> Result<KeysOutcome> {
    order(db, agent, owner, Order::Pause).await
}

/// Makes every paused key of a human's agent active again.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn resume_all(db: &Db, agent: AgentId, owner: HumanId) -> Result<KeysOutcome> {
    order(db, agent, owner, Order::Resume).await
}

/// Revokes every key of a human's agent; a second time is `Done` too.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn revoke_all(db: &Db, agent: AgentId, owner: HumanId) -> Result<KeysOutcome> {
    order(db, agent, owner, Order::Revoke).await
}

/// Replaces every key of a human's agent by `key`. A paused agent stays paused: rotating a leaked
/// key must not put the agent back to work.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn rotate_all(
    db: &Db,
    agent: AgentId,
    owner: HumanId,
    key: NewKey,
    now: Timestamp,
    keep: KeepResponse<Key>,
) -> Result<KeysOutcome> {
    order(db, agent, owner, Order::Rotate(key, now, keep)).await
}

async fn order(db: &Db, agent: AgentId, owner: HumanId, order: Order) -> Result<KeysOutcome> {
    db.transaction((agent, owner, order), |tx, (agent, owner, order)| {
        Box::pin(async move {
            match super::lock(tx, *agent).await? {
                Some(found) if found.owner == Some(*owner) => {}
                _ => return Ok(KeysOutcome::NoSuchAgent),
            }
            let before = in_tx(tx, *agent).await?;
            let revoked = before.iter().all(|key| key.state == KeyState::Revoked);
            if revoked && !matches!(order, Order::Revoke) {
                return Ok(KeysOutcome::Revoked);
            }
            apply(tx, *agent, order, &before).await?;
            in_tx(tx, *agent).await.map(KeysOutcome::Done)
        })
    })
    .await
}

async fn apply(tx: &mut Tx, agent: AgentId, order: &Order, before: &[Key]) -> Result<()> {
    let change = match order {
        Order::Pause => "update agent_keys set state = 1 where agent = $1 and state = 0",
        Order::Resume => "update agent_keys set state = 0 where agent = $1 and state = 1",
        Order::Revoke | Order::Rotate(..) => {
            "update agent_keys set state = 2 where agent = $1 and state <> 2"
        }
    };
    tx.execute(change, args![agent]).await?;
    if let Order::Rotate(key, now, keep) = order {
        let active = before.iter().any(|key| key.state == KeyState::Active);
        let state = if active { KeyState::Active } else { KeyState::Paused };
        let key = insert(tx, agent, key, state, *now).await?;
        keep.put(tx, &key).await?;
    }
    Ok(())
}

async fn in_tx(tx: &mut Tx, agent: AgentId) -> Result<Vec<Key>> {
    tx.all(OF_AGENT, args![agent]).await
}

/// Records when keys were used last: at most [`TOUCH_MAX`] of them, the rest is dropped (their
/// next use records it). An older time never replaces a newer one, but for one that is in the future
/// `now`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn touch(db: &Db, mut uses: Vec<(KeyId, Timestamp)>, now: Timestamp) -> Result<()> {
    uses.truncate(TOUCH_MAX);
    // One order for everybody, so that two nodes cannot deadlock.
    uses.sort_unstable();
    db.transaction((uses, now.plus_seconds(STEP_BACK_S)), |tx, (uses, ahead)| {
        Box::pin(async move {
            for (key, at) in uses {
                tx.execute(
                    "update agent_keys set last_used_at = $2
                     where id = $1
                       and (last_used_at is null or last_used_at < $2 or last_used_at > $3)",
                    args![*key, *at, *ahead],
                )
                .await?;
            }
            Ok(())
        })
    })
    .await
}

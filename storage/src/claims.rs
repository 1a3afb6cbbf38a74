//! Claim codes: a human mints one, one agent redeems it.

use rookery_domain::{
    Timestamp,
    id::{AgentId, HumanId},
    secret::SecretHash,
};

use crate::{
    agents::{self, Agent},
    db::{Db, args},
    error::Result,
    idempotency::KeepResponse,
};

/// How a redemption ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The agent belongs to the code's human now.
    Claimed(Agent),
    /// The agent had an owner already; the code is not spent.
    AlreadyClaimed,
    /// The code's human has as many agents as an account may have; the code is not spent.
    TooMany,
    /// Unknown, spent and expired alike.
    NoSuchCode,
}

/// Stores a code by its SHA-256; `false` when that code exists, and another must be drawn.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn mint(
    db: &Db,
    hash: SecretHash,
    human: HumanId,
    expires_at: Timestamp,
    now: Timestamp,
    keep: KeepResponse<()>,
) -> Result<bool> {
    let sql = "insert into claims (hash, human, created_at, expires_at) values ($1, $2, $3, $4)
         on conflict (hash) do nothing";
    keep.insert(db, sql, args![hash, human, now, expires_at]).await
}

/// Spends a code and binds the agent to its human, both or neither, unless that one has `agents_max`
/// already. Of any number of agents that redeem one code at once, one wins.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn redeem(
    db: &Db,
    hash: SecretHash,
    agent: AgentId,
    agents_max: u64,
    now: Timestamp,
) -> Result<ClaimOutcome> {
    db.transaction((hash, agent, agents_max, now), |tx, (hash, agent, agents_max, now)| {
        Box::pin(async move {
            // The key that asks belongs to an agent, so there is one.
            let Some(mut agent) = agents::lock(tx, *agent).await? else {
                return Ok(ClaimOutcome::NoSuchCode);
            };
            if agent.owner.is_some() {
                return Ok(ClaimOutcome::AlreadyClaimed);
            }
            let spent: Option<HumanId> = tx
                .value(
                    "update claims set redeemed_by = $2
                     where hash = $1 and redeemed_by is null and expires_at > $3
                     returning human",
                    args![*hash, agent.id, *now],
                )
                .await?;
            let Some(human) = spent else { return Ok(ClaimOutcome::NoSuchCode) };
            if agents::count_in(tx, human).await? >= *agents_max {
                tx.abandon();
                return Ok(ClaimOutcome::TooMany);
            }
            tx.execute(
                "update agents set owner = $2, claimed_at = $3 where id = $1",
                args![agent.id, human, *now],
            )
            .await?;
            agent.owner = Some(human);
            agent.claimed_at = Some(*now);
            Ok(ClaimOutcome::Claimed(agent))
        })
    })
    .await
}

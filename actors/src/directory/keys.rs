//! API keys: whom one belongs to, and what an agent does to its own.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    id::{AgentId, HumanId, KeyId},
    secret::{Secret, SecretKind},
};
use rookery_storage::{
    agents::keys::{self, Key, KeyState, NewKey},
    idempotency::KeepResponse,
};

use super::{Directory, core::Core, touches::TOUCH_EVERY_S};

/// Keys of one agent that are not revoked.
const KEYS_PER_AGENT_MAX: usize = 100;

/// Whom an active key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHolder {
    /// The key.
    pub key: KeyId,
    /// Its agent.
    pub agent: AgentId,
    /// The human that claimed the agent.
    pub owner: Option<HumanId>,
}

/// A new key, and the only time its secret is seen.
#[derive(Debug, Clone)]
pub struct MintedKey {
    /// The key.
    pub key: Key,
    /// Its secret.
    pub secret: Secret,
}

impl MintedKey {
    /// What storage keeps of the answer that shows this secret.
    pub(super) fn kept(keep: KeepResponse<Self>, secret: &Secret) -> KeepResponse<Key> {
        let secret = secret.clone();
        keep.of(move |key: &Key| Self { key: key.clone(), secret: secret.clone() })
    }
}

/// A new key's secret, and what storage gets of it.
pub(super) fn draw() -> (Secret, NewKey) {
    let secret = Secret::generate(SecretKind::Agent, &mut rand::rng());
    let new = NewKey { id: KeyId::new(), hash: secret.hash(), prefix: secret.prefix() };
    (secret, new)
}

impl Directory {
    /// Whom this bearer belongs to, now: `None` for a paused, revoked or unknown key. Notes the
    /// use.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn key(&self, bearer: &str) -> Result<Option<KeyHolder>> {
        // The checksum turns most nonsense away before anything is looked up.
        let Some(secret) = Secret::parse(SecretKind::Agent, bearer) else { return Ok(None) };
        let hash = secret.hash();
        self.core.read(|memory| {
            let entry = memory.key(hash)?;
            let key = entry.key();
            if key.state != KeyState::Active {
                return None;
            }
            let now = self.core.now();
            if entry.touch(now, TOUCH_EVERY_S) {
                self.core.touches.key(key.id, now);
            }
            let owner = memory.agent(key.agent)?.agent.owner;
            Some(KeyHolder { key: key.id, agent: key.agent, owner })
        })
    }

    /// Makes another key for an agent, on the word of its key `by`.
    ///
    /// # Errors
    /// `unauthorized`, when `by` is no longer active; `conflict`, when the agent has as many keys
    /// as it may; `unavailable`, `internal`.
    pub async fn mint_key(
        &self,
        agent: AgentId,
        by: KeyId,
        keep: KeepResponse<MintedKey>,
    ) -> Result<MintedKey> {
        self.mutate(async move |core: Arc<Core>| {
            let held = core.agent_record(agent)?.keys;
            let usable = held.iter().filter(|key| key.state != KeyState::Revoked).count();
            if usable >= KEYS_PER_AGENT_MAX {
                let message = format!("an agent has at most {KEYS_PER_AGENT_MAX} keys: revoke one");
                return Err(Error::new(ErrorCode::Conflict, message).into());
            }
            let (secret, new) = draw();
            let (fresh, keep) = (new.id, MintedKey::kept(keep, &secret));
            let minted = keys::mint(&core.db, agent, by, new, core.now(), keep).await?;
            let gone = || Error::new(ErrorCode::Unauthorized, "the credential is not valid");
            let keys = minted.ok_or_else(gone)?;
            let key = keys.iter().find(|key| key.id == fresh).cloned();
            core.write(|memory| memory.put_keys(agent, keys));
            Ok(MintedKey { key: key.ok_or_else(Error::unknown_outcome)?, secret })
        })
        .await
    }

    /// Revokes one key of an agent, for ever. Its siblings go on working.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn revoke_key(&self, agent: AgentId, key: KeyId) -> Result<()> {
        self.mutate(async move |core: Arc<Core>| {
            keys::revoke(&core.db, agent, key).await?;
            let mut held = core.agent_record(agent)?.keys;
            for held in held.iter_mut().filter(|held| held.id == key) {
                held.state = KeyState::Revoked;
            }
            core.write(|memory| memory.put_keys(agent, held));
            Ok(())
        })
        .await
    }
}

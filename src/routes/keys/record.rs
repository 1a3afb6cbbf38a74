//! The records of a key: as it is listed, and as it is shown once.

use rookery_actors::directory::{Key, KeyState, MintedKey};
use rookery_domain::{Timestamp, id::KeyId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::{idempotency::ShownOnce, reply::Created},
    openapi::{ids, words},
};

/// A key without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct KeyView {
    /// Its id.
    #[schema(value_type = ids::KeyId)]
    pub id: KeyId,
    /// The beginning of its secret, to tell it by.
    pub prefix: String,
    /// What it can do.
    #[schema(value_type = words::StateView)]
    pub state: KeyState,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was used last, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
}

impl KeyView {
    /// The record of `key`.
    #[must_use]
    pub fn of(key: &Key) -> Self {
        Self {
            id: key.id,
            prefix: key.prefix.clone(),
            state: key.state,
            created_at: key.created_at,
            last_used_at: key.last_used_at,
        }
    }
}

/// A key as it is issued, with its secret.
#[derive(Clone, Serialize, ToSchema)]
pub struct IssuedKey {
    /// Its id.
    #[schema(value_type = ids::KeyId)]
    id: KeyId,
    /// The beginning of its secret, to tell it by.
    prefix: String,
    /// What it can do.
    #[schema(value_type = words::StateView)]
    state: KeyState,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// What to send as `Authorization: Bearer`. It is shown this once; a replay leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl IssuedKey {
    /// The record of `minted`, secret included.
    #[must_use]
    pub fn of(minted: &MintedKey) -> Self {
        let KeyView { id, prefix, state, created_at, .. } = KeyView::of(&minted.key);
        Self { id, prefix, state, created_at, secret: Some(minted.secret.expose().to_owned()) }
    }

    /// The answer to the request that minted it.
    #[must_use]
    pub fn created(minted: &MintedKey) -> Created<Self> {
        Created { location: format!("/v1/keys/{}", minted.key.id), record: Self::of(minted) }
    }
}

impl std::fmt::Debug for IssuedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ShownOnce for IssuedKey {
    fn without_secrets(self) -> Self {
        Self { secret: None, ..self }
    }
}

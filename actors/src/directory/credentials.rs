//! Which app a service credential's token belongs to. That never changes, so it is remembered for
//! as long as there is room; whether the token works is the app's actor to say, on every request.

use rookery_domain::{
    Result,
    id::{AppId, CredentialId},
    secret::{HashHalf, Secret, SecretHash, SecretKind},
};
use rookery_storage::credentials;

use super::Directory;

/// Tokens that are remembered.
const REMEMBERED_MAX: u64 = 100_000;

/// What a token names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CredentialHolder {
    /// The credential.
    pub credential: CredentialId,
    /// Its app.
    pub app: AppId,
    /// The first half of the token's hash: the app tells a credential's tokens apart by it.
    pub token: HashHalf,
}

/// Tokens that were looked up.
pub(super) struct Known(moka::sync::Cache<SecretHash, CredentialHolder>);

impl Default for Known {
    fn default() -> Self {
        Self(moka::sync::Cache::new(REMEMBERED_MAX))
    }
}

impl Directory {
    /// What this bearer names, whether it works or not; `None` for what is no credential's token.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn credential(&self, bearer: &str) -> Result<Option<CredentialHolder>> {
        // The checksum turns most nonsense away before anything is looked up.
        let Some(secret) = Secret::parse(SecretKind::Credential, bearer) else { return Ok(None) };
        let hash = secret.hash();
        if let Some(holder) = self.core.credentials.0.get(&hash) {
            return Ok(Some(holder));
        }
        let found = credentials::by_token(&self.core.db, hash).await?;
        let Some((app, credential)) = found else { return Ok(None) };
        let holder = CredentialHolder { credential, app, token: hash.half() };
        self.core.credentials.0.insert(hash, holder);
        Ok(Some(holder))
    }
}

//! Tells requests that are held open when their key or session ends: they must not outlive what let
//! them in.

use std::sync::OnceLock;

use rookery_domain::{
    Result,
    secret::{Secret, SecretHash, SecretKind},
};
use rookery_storage::agents::keys::KeyState;
use tokio_util::sync::CancellationToken;

use super::{
    Directory,
    core::Core,
    memory::{KeyEntry, Memory},
};

/// Is kept with a credential in memory, and tells whoever watches when that goes: with a pause, a
/// revocation, a sign-out, its time, and when memory is loaded anew.
#[derive(Default)]
pub(super) struct Ending(OnceLock<CancellationToken>);

impl Ending {
    fn token(&self) -> CancellationToken {
        self.0.get_or_init(CancellationToken::new).clone()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(watched) = self.0.get() {
            watched.cancel();
        }
    }
}

impl Directory {
    /// Cancelled when an agent's key or a session may have ended, and must be looked at again.
    /// `None` when it has ended already. A secret of another kind never ends here.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn watch(&self, secret: &Secret) -> Result<Option<CancellationToken>> {
        let (hash, now) = (secret.hash(), self.core.now());
        self.core.read(|memory| match secret.kind() {
            SecretKind::Agent => ending_of_key(memory, hash),
            SecretKind::Session => {
                let open = memory.session(hash).filter(|session| session.is_open(now));
                open.map(|session| session.ending.token())
            }
            _ => Some(CancellationToken::new()),
        })
    }
}

impl Core {
    /// Whether a visit is still vouched for: always, unless an agent's key let it in that is paused
    /// or revoked.
    pub(super) fn vouched(&self, minted_by: Option<SecretHash>) -> Result<bool> {
        let Some(key) = minted_by else { return Ok(true) };
        self.read(|memory| active_key(memory, key).is_some())
    }

    /// Cancelled when the answer of [`Self::vouched`] may have changed. `None` when it is no longer
    /// vouched for, or nothing ends it.
    pub(super) fn voucher(
        &self,
        minted_by: Option<SecretHash>,
    ) -> Result<Option<CancellationToken>> {
        let Some(key) = minted_by else { return Ok(None) };
        self.read(|memory| ending_of_key(memory, key))
    }
}

fn active_key(memory: &Memory, hash: SecretHash) -> Option<&KeyEntry> {
    memory.key(hash).filter(|key| key.key().state == KeyState::Active).map(|key| &**key)
}

fn ending_of_key(memory: &Memory, hash: SecretHash) -> Option<CancellationToken> {
    active_key(memory, hash).map(|key| key.ending.token())
}

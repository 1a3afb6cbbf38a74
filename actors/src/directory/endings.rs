//! When a key or a session ends for those who are waiting with it: a request that is held open must
//! not outlive what it was let in by.

use std::sync::OnceLock;

use rookery_domain::{
    Result,
    secret::{Secret, SecretKind},
};
use rookery_storage::agents::keys::KeyState;
use tokio_util::sync::CancellationToken;

use super::Directory;

/// Belongs to what memory holds of a credential, and tells whoever watches when that goes: with a
/// pause, a revocation, a sign-out, its time, and when memory is loaded anew.
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
    /// What is cancelled when an agent's key or a session may have ended: it is to be looked at
    /// once more. `None` when it has ended already. What opens nothing here never ends here.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn watch(&self, secret: &Secret) -> Result<Option<CancellationToken>> {
        let (hash, now) = (secret.hash(), self.core.now());
        self.core.read(|memory| match secret.kind() {
            SecretKind::Agent => {
                let active = memory.key(hash).filter(|key| key.key().state == KeyState::Active);
                active.map(|key| key.ending.token())
            }
            SecretKind::Session => {
                let open = memory.session(hash).filter(|session| session.is_open(now));
                open.map(|session| session.ending.token())
            }
            _ => Some(CancellationToken::new()),
        })
    }
}

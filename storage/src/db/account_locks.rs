//! Locks of accounts, taken before a connection is. Transactions that lock the same account wait for
//! each other here, where waiting costs nobody else a connection; what an account may have is not
//! known here.

use std::time::Duration;

use rookery_domain::id::HumanId;
use tokio::time::timeout;

use crate::{
    error::{Result, StorageError},
    keyed_locks::{Held, KeyedLocks},
};

/// How long a transaction waits for those of the same account.
const PATIENCE: Duration = Duration::from_secs(30);

/// The lock of an account; dropping it lets the next one in.
pub(super) type AccountGuard = Held<HumanId>;

/// The accounts with which somebody is at work.
#[derive(Debug, Default)]
pub(super) struct AccountLocks(KeyedLocks<HumanId>);

impl AccountLocks {
    /// Waits, first come first served, until nobody else is at work with this account.
    ///
    /// # Errors
    /// [`StorageError::Aborted`] after [`PATIENCE`].
    pub(super) async fn with(&self, account: HumanId) -> Result<AccountGuard> {
        let guard = timeout(PATIENCE, self.0.hold(account)).await;
        guard.map_err(|_| StorageError::Aborted("others are at work with the account".into()))
    }
}

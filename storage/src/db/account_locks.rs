//! Locks of accounts, taken before a connection is. Transactions that lock the same account wait for
//! each other here, where waiting costs nobody else a connection; what an account may have is not
//! known here.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use rookery_domain::id::HumanId;
use tokio::{sync::OwnedMutexGuard, time::timeout};

use crate::error::{Result, StorageError};

/// How long a transaction waits for those of the same account.
const PATIENCE: Duration = Duration::from_secs(30);

/// Accounts above which those that nobody waits for are forgotten.
const SWEEP_FROM: usize = 1_024;

/// The lock of an account; dropping it lets the next one in.
pub(super) type AccountGuard = OwnedMutexGuard<()>;

/// The accounts with which somebody is at work.
#[derive(Debug, Default)]
pub(super) struct AccountLocks(Mutex<HashMap<HumanId, Weak<tokio::sync::Mutex<()>>>>);

impl AccountLocks {
    /// Waits, first come first served, until nobody else is at work with this account.
    ///
    /// # Errors
    /// [`StorageError::Aborted`] after [`PATIENCE`].
    pub(super) async fn with(&self, account: HumanId) -> Result<AccountGuard> {
        let guard = timeout(PATIENCE, self.queue(account).lock_owned()).await;
        guard.map_err(|_| StorageError::Aborted("others are at work with the account".into()))
    }

    /// Those who wait for this account.
    fn queue(&self, account: HumanId) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.0.lock();
        if let Some(queue) = queues.get(&account).and_then(Weak::upgrade) {
            return queue;
        }
        if queues.len() >= SWEEP_FROM {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::default();
        queues.insert(account, Arc::downgrade(&queue));
        queue
    }
}

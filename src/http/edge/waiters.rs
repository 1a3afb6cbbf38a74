//! Open polls per client network: each holds a connection and a little memory while it waits, so
//! one address may have only so many.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, network::Network};

use crate::error::ApiError;

/// The open polls of a server.
#[derive(Debug)]
pub struct Waiters {
    max: usize,
    /// Only networks that have one; at most one entry for each open connection.
    open: Mutex<HashMap<Network, usize>>,
}

impl Waiters {
    /// Lets every client network have `max` open polls.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, open: Mutex::default() })
    }

    /// Counts a poll of `address` for as long as the returned guard lives.
    ///
    /// # Errors
    /// `rate_limited`, when it has too many already.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Waiting, ApiError> {
        let network = Network::from(address);
        let mut open = self.open.lock();
        let count = open.entry(network).or_default();
        if *count >= self.max {
            let message = format!("this address has {} open feed requests already", self.max);
            return Err(Error::new(ErrorCode::RateLimited, message).into());
        }
        *count += 1;
        Ok(Waiting { waiters: Arc::clone(self), network })
    }

    /// All open polls now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.lock().values().sum()
    }
}

/// One open poll.
#[derive(Debug)]
pub struct Waiting {
    waiters: Arc<Waiters>,
    network: Network,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut open = self.waiters.open.lock();
        if let Some(count) = open.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.network);
            }
        }
    }
}
